// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Objects in a plain array with lists of imports and of exports, for whoever bends them.

#include "test_comm.hpp"
#include <valet/zoltan/lists.hpp>

namespace valet::test {

/// A list that is written by hand.
struct OwnList {
  std::vector<ZOLTAN_ID_TYPE> gids, lids;
  std::vector<int> procs, parts;

  void add(ZOLTAN_ID_TYPE gid, ZOLTAN_ID_TYPE lid, int proc, int part) {
    gids.push_back(gid);
    lids.push_back(lid);
    procs.push_back(proc);
    parts.push_back(part);
  }
  [[nodiscard]] zoltan::PartitionList list() const {
    return {static_cast<int>(procs.size()), gids.data(), lids.data(), procs.data(), parts.data()};
  }
};

/// The object in slot s of each rank goes to rank (rank + s) mod P, of which it is part s mod 2. It
/// has the number numbers_of_rank * rank + s, and its value is its number.
class ListObjects {
 public:
  static constexpr ZOLTAN_ID_TYPE numbers_of_rank = 100'000;

  explicit ListObjects(std::uint64_t each = 8, std::uint64_t slots = 16)
      : count(each), values(slots), parts(slots), gids(slots) {
    fill();
    for (std::uint64_t s = 0; s < count; ++s)
      for (int from = 0; from < size(); ++from) {
        const int to = rank_after(from, s);
        if (from == rank() && to != from) exports.add(number(from, s), lid(s), to, part_after(s));
        if (to == rank() && to != from) imports.add(number(from, s), lid(s), from, part_after(s));
      }
  }

  static ZOLTAN_ID_TYPE number(int from, std::uint64_t slot) {
    return numbers_of_rank * static_cast<ZOLTAN_ID_TYPE>(from) + static_cast<ZOLTAN_ID_TYPE>(slot);
  }
  static int rank_after(int from, std::uint64_t slot) {
    return (from + static_cast<int>(slot % static_cast<unsigned>(size()))) % size();
  }
  static int part_after(std::uint64_t slot) { return static_cast<int>(slot % 2); }

  void fill() {
    std::ranges::fill(values, 0U);
    std::ranges::fill(parts, -1);
    std::ranges::fill(gids, 0U);
    for (std::uint64_t s = 0; s < count; ++s) {
      values[s] = number(rank(), s);
      gids[s] = number(rank(), s);
    }
  }
  [[nodiscard]] BlockStorage storage() { return {field(values, 1, "values")}; }
  [[nodiscard]] zoltan::PartitionLists lists(bool with_imports, bool with_exports) const {
    zoltan::PartitionLists result;
    if (with_imports) result.imports = imports.list();
    if (with_exports) result.exports = exports.list();
    return result;
  }
  [[nodiscard]] zoltan::ListOptions options() { return {.parts = parts, .global_ids = gids}; }

  /// Whether nothing has moved.
  [[nodiscard]] bool is_unchanged() const {
    for (std::uint64_t s = 0; s < count; ++s)
      if (values[s] != number(rank(), s)) return false;
    return std::ranges::all_of(parts, [](int part) { return part == -1; });
  }
  /// Whether the first `now` slots have objects that belong here.
  [[nodiscard]] bool has_moved(std::uint64_t now, bool with_arrays) const {
    for (std::uint64_t s = 0; s < now; ++s) {
      const int from = static_cast<int>(values[s] / numbers_of_rank);
      const std::uint64_t slot = values[s] % numbers_of_rank;
      if (slot >= count || rank_after(from, slot) != rank()) return false;
      const bool listed = from != rank();
      if (with_arrays && (gids[s] != values[s] || parts[s] != (listed ? part_after(slot) : -1)))
        return false;
    }
    return true;
  }

  std::uint64_t count;
  std::vector<std::uint32_t> values;
  std::vector<int> parts;
  std::vector<ZOLTAN_ID_TYPE> gids;
  OwnList imports, exports;

 private:
  static ZOLTAN_ID_TYPE lid(std::uint64_t slot) { return static_cast<ZOLTAN_ID_TYPE>(slot); }
};

}  // namespace valet::test
