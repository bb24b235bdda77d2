// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Objects attached to a Zoltan_Struct, whose values are their numbers.

#include "counted_mpi.hpp"
#include "oracle.hpp"
#include "random_maps.hpp"
#include "seed.hpp"
#include "test_comm.hpp"
#include <valet/zoltan/attached.hpp>
#include <valet/zoltan/valet_zoltan.h>

#include <zoltan.h>

#include <numeric>
#include <string>
#include <vector>

namespace valet::test {

/// The numbers that this rank has in a layout.
inline std::vector<std::uint64_t> numbers_here(const ObjectLayout& layout, std::uint64_t objects) {
  const Numbers all = numbers_of(layout, objects, size());
  return row_of(all, rank());
}

/// Objects whose values are their numbers, numbered through by rank and slot in the beginning.
struct Numbered {
  explicit Numbered(const std::vector<std::uint64_t>& counts, const char* lists = "NONE")
      : zoltan(Zoltan_Create(MPI_COMM_WORLD)),
        all(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0})),
        number(all + 1),
        weight(all + 1, 1.0),
        cells(zoltan, row_of(counts, rank()), valet::ref(number), valet::ref(weight)) {
    const auto first = std::accumulate(counts.begin(), counts.begin() + rank(), std::uint64_t{0});
    std::iota(number.begin(), number.begin() + static_cast<std::ptrdiff_t>(cells.count()), first);
    set("DEBUG_LEVEL", "0");
    set("AUTO_MIGRATE", "TRUE");
    set("RETURN_LISTS", lists);
  }
  Numbered(const Numbered&) = delete;
  Numbered& operator=(const Numbered&) = delete;
  ~Numbered() { Zoltan_Destroy(&zoltan); }

  void set(const char* name, const std::string& value) {
    EXPECT_EQ(Zoltan_Set_Param(zoltan, name, value.c_str()), ZOLTAN_OK) << name;
  }
  void choose(const ObjectLayout& layout) {
    if (layout.tiling) return choose_tiles(*layout.tiling);
    set("LB_GRID", "DEFAULT");
    set("LB_METHOD", layout.block_size == 0   ? "BLOCK"
                     : layout.block_size == 1 ? "CYCLIC"
                                              : "block_cyclic");
    if (layout.block_size > 1) set("LB_BLOCK_SIZE", std::to_string(layout.block_size));
  }
  void choose_tiles(const BlockCyclic& tiles) {
    set("LB_METHOD", "BLOCK_CYCLIC");
    set("LB_EXTENTS", text_of(tiles, &layout::Dimension::extent));
    set("LB_BLOCK_SIZE", text_of(tiles, &layout::Dimension::block_size));
    set("LB_GRID", text_of(tiles, &layout::Dimension::ranks));
  }
  template <class Value>
  [[nodiscard]] static std::string text_of(const BlockCyclic& tiles,
                                           Value (layout::Dimension::*value)() const) {
    std::string text;
    for (std::size_t d = 0; d < tiles.dimensions(); ++d)
      text += (d == 0 ? "" : "x") + std::to_string((tiles.dimension(d).*value)());
    return text;
  }
  [[nodiscard]] std::vector<std::uint64_t> here() const {
    return {number.begin(), number.begin() + static_cast<std::ptrdiff_t>(cells.count())};
  }
  void expect_in(const ObjectLayout& layout) const {
    EXPECT_EQ(here(), numbers_here(layout, all));
    EXPECT_EQ(cells.layout(), layout);
  }

  Zoltan_Struct* zoltan;
  std::uint64_t all;
  std::vector<std::uint64_t> number;
  std::vector<double> weight;
  zoltan::Attached cells;
};

/// Since `communication` was cleared objects were planned from a layout, and nothing was sent but
/// blocks and their credits: no counts, which are announced by MPI_Issend, and no slots.
inline void expect_only_blocks_sent(const Report& report) {
  const Communication spent = communication;
  EXPECT_TRUE(size() == 1 || report.plan_from_layout);
  EXPECT_LE(spent.all_calls() - spent.collective_calls(),
            static_cast<long long>(report.messages + report.credits));
  EXPECT_EQ(spent.calls.count("Issend"), 0U) << "counts are announced by it";
  EXPECT_EQ(spent.calls.count("Allgather"), 0U) << "counts of all ranks";
}

inline std::vector<std::uint64_t> even_counts(std::uint64_t each) {
  return std::vector<std::uint64_t>(static_cast<std::size_t>(size()), each);
}

}  // namespace valet::test
