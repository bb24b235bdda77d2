// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The lists of a partition, which Zoltan allocates.

#include "base/diagnose.hpp"
#include "handle/object_ids.hpp"
#include "handle/structure.hpp"

#include <zoltan.h>

#include <cstdint>
#include <optional>
#include <span>

namespace valet::zoltan {

/// One of them.
struct StockList {
  int count = -1;
  ZOLTAN_ID_PTR gids = nullptr;
  ZOLTAN_ID_PTR lids = nullptr;
  int* procs = nullptr;
  int* parts = nullptr;

  StockList() = default;
  StockList(const StockList&) = delete;
  StockList& operator=(const StockList&) = delete;
  ~StockList() { free(); }
  void free() {
    Zoltan_LB_Free_Part(&gids, &lids, &procs, &parts);
    count = -1;
  }
  /// As Zoltan counts where nobody wants the list.
  void leave_out(bool changes) {
    free();
    count = changes ? -1 : 0;
  }
  [[nodiscard]] MigrationList as_list() const { return {count, {gids, lids}, procs, parts}; }
};

/// Freed at the end.
struct StockLists {
  StockList imports, exports;
  EntryCounts entries;

  /// Zoltan's own partition, whoever stands in front of it.
  int partition(Zoltan_Struct* zoltan) {
    int changes = 0;
    return stock_partition()(zoltan, &changes, &entries.gid, &entries.lid, &imports.count,
                             &imports.gids, &imports.lids, &imports.procs, &imports.parts,
                             &exports.count, &exports.gids, &exports.lids, &exports.procs,
                             &exports.parts);
  }

  /// Writes what the exports say to the entries of their slots: ranks, and parts where wanted.
  /// @return What is wrong with the slots, if anything.
  [[nodiscard]] std::optional<Diagnostic> write(std::span<int> ranks, std::span<int> parts) const {
    if (exports.count > 0 && entries.lid == 0)
      return invalid(
          "objects without local ids; their first word is the slot, so set "
          "NUM_LID_ENTRIES to 1 or more");
    const ObjectIds ids = exports.as_list().ids;
    for (int k = 0; k < exports.count; ++k) {
      const ZOLTAN_ID_TYPE slot = *ids.lid(entries, static_cast<std::uint64_t>(k));
      if (slot >= ranks.size())
        return diagnose(ErrorCode::slot_out_of_range,
                        ids.named("the object", entries, static_cast<std::uint64_t>(k)),
                        " has the local id ", slot, ", but there are ", ranks.size(),
                        " objects in slots from 0; local ids are slots");
      ranks[slot] = exports.procs[k];
      if (!parts.empty()) parts[slot] = exports.parts[k];
    }
    return std::nullopt;
  }
};

}  // namespace valet::zoltan
