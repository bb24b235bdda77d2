// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "application.hpp"
#include "zoltan_lists.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

namespace clients {

/// A list for Zoltan_Migrate, owned by the application.
struct List {
  std::vector<ZOLTAN_ID_TYPE> gids, lids;
  std::vector<int> procs, parts;
  [[nodiscard]] int count() const { return static_cast<int>(procs.size()); }
};

/// What Zoltan_LB_Partition returned.
struct Partition {
  List imports, exports;
};

/// How the objects of a list stand by their ranks; the stock order of unpacking depends on it.
enum class Blocks { as_they_are, ascending, descending };

inline void arrange(List& list, const Forms& forms, Blocks blocks) {
  if (blocks == Blocks::as_they_are) return;
  std::vector<std::size_t> order(list.procs.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return blocks == Blocks::ascending ? list.procs[a] < list.procs[b]
                                       : list.procs[a] > list.procs[b];
  });
  const auto permute = [&](auto& values, int entries) {
    if (values.empty()) return;
    const auto old = values;
    for (std::size_t k = 0; k < order.size(); ++k)
      for (int e = 0; e < entries; ++e)
        values[k * static_cast<std::size_t>(entries) + static_cast<std::size_t>(e)] =
            old[order[k] * static_cast<std::size_t>(entries) + static_cast<std::size_t>(e)];
  };
  permute(list.gids, forms.gid_entries);
  permute(list.lids, forms.lid_entries);
  permute(list.procs, 1);
  permute(list.parts, 1);
}

enum class Given { both, exports, imports };

/// Runs LB_METHOD `method` into `parts` parts (0: one for each rank); ids need not stay, so objects
/// that do not change their rank are left out unless `with_staying`. Collective.
inline Partition partition(Zoltan_Struct* zoltan, const Forms& forms, int rank,
                           const std::string& method, int parts, bool with_staying) {
  Zoltan_Set_Param(zoltan, "LB_METHOD", method == "PHG" ? "HYPERGRAPH" : method.c_str());
  Zoltan_Set_Param(zoltan, "NUM_GLOBAL_PARTS",
                   parts == 0 ? "DEFAULT" : std::to_string(parts).c_str());
  const valet::test::ZoltanLists lists(zoltan);
  const auto keep = [&](const valet::test::ZoltanLists::Arrays& raw) {
    List list;
    for (int k = 0; k < raw.count; ++k) {
      if (raw.procs[k] == rank && !with_staying) continue;
      list.gids.insert(list.gids.end(), raw.gids + k * forms.gid_entries,
                       raw.gids + (k + 1) * forms.gid_entries);
      if (forms.lid_entries > 0)
        list.lids.insert(list.lids.end(), raw.lids + k * forms.lid_entries,
                         raw.lids + (k + 1) * forms.lid_entries);
      list.procs.push_back(raw.procs[k]);
      list.parts.push_back(raw.parts[k]);
    }
    return list;
  };
  return {keep(lists.imports()), keep(lists.exports())};
}

inline int migrate(Zoltan_Struct* zoltan, Partition& lists, Given given, bool with_parts) {
  const auto parts = [&](List& list) { return with_parts ? list.parts.data() : nullptr; };
  const bool in = given != Given::exports;
  const bool out = given != Given::imports;
  List& i = lists.imports;
  List& e = lists.exports;
  return Zoltan_Migrate(zoltan, in ? i.count() : -1, in ? i.gids.data() : nullptr,
                        in ? i.lids.data() : nullptr, in ? i.procs.data() : nullptr,
                        in ? parts(i) : nullptr, out ? e.count() : -1,
                        out ? e.gids.data() : nullptr, out ? e.lids.data() : nullptr,
                        out ? e.procs.data() : nullptr, out ? parts(e) : nullptr);
}

}  // namespace clients
