// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Ids of objects as Zoltan has them, and lists of objects that leave or arrive.

#include "base/memory_reserve.hpp"
#include <valet/error.hpp>

#include <zoltan_types.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace valet::zoltan {

/// Runs what may find no memory; the answer is agreed upon with the other ranks later.
template <class Action>
std::optional<Diagnostic> within_memory(const char* what, Action&& action) {
  return valet::detail::unless_out_of_memory(std::forward<Action>(action), "no memory for ", what);
}

/// NUM_GID_ENTRIES and NUM_LID_ENTRIES.
struct EntryCounts {
  int gid = 1;
  int lid = 1;
  [[nodiscard]] std::size_t bytes() const {
    return sizeof(ZOLTAN_ID_TYPE) * static_cast<std::size_t>(gid + lid);
  }
};

/// Global and local ids of objects consecutive; a view.
struct ObjectIds {
  ZOLTAN_ID_PTR gids = nullptr;
  ZOLTAN_ID_PTR lids = nullptr;  ///< may be null where there are no local ids

  [[nodiscard]] ZOLTAN_ID_PTR gid(const EntryCounts& entries, std::uint64_t k) const {
    return gids + k * static_cast<std::uint64_t>(entries.gid);
  }
  [[nodiscard]] ZOLTAN_ID_PTR lid(const EntryCounts& entries, std::uint64_t k) const {
    return entries.lid == 0 || lids == nullptr ? nullptr
                                               : lids + k * static_cast<std::uint64_t>(entries.lid);
  }
  /// Copies the ids of object k to object `at` of others; local ids where those have some.
  void copy(const EntryCounts& entries, std::uint64_t k, const ObjectIds& to,
            std::uint64_t at) const {
    std::copy_n(gid(entries, k), entries.gid, to.gid(entries, at));
    if (ZOLTAN_ID_PTR const ids = to.lid(entries, at))
      std::copy_n(lid(entries, k), entries.lid, ids);
  }
  /// "the export with global id 17".
  [[nodiscard]] std::string named(const std::string& what, const EntryCounts& entries,
                                  std::uint64_t k) const {
    std::string text = what + " with global id";
    for (int e = 0; e < entries.gid; ++e)
      text.append(" ").append(std::to_string(gid(entries, k)[e]));
    return text;
  }
  [[nodiscard]] ObjectIds from(const EntryCounts& entries, std::uint64_t k) const {
    return {gid(entries, k), lid(entries, k)};
  }
};

/// One of the lists that pre, mid and post get.
struct MigrationList {
  int count = -1;
  ObjectIds ids;
  int* procs = nullptr;
  int* parts = nullptr;
};

}  // namespace valet::zoltan
