// SPDX-License-Identifier: BSD-3-Clause

// What moves in pages moves in arrays that ranks of a node share as it does elsewhere, but without
// messages: a page is taken straight from the memory of its rank.

#include "moved_arrays.hpp"
#include "ragged_case.hpp"

namespace valet::test {
namespace {

/// Pages are taken where there are other ranks, and reported; all memory is as promised. An array
/// is only taken from when it is used again.
void expect_taken(const Report& report) {
  EXPECT_EQ(sum_over_ranks(static_cast<long long>(report.blocks_pulled)) > 0, size() > 1)
      << report.to_string();
  EXPECT_TRUE(all_ranks(report.blocks_pulled <= report.blocks_received)) << report.to_string();
  expect_within_bound(report);
}

/// Element k of those from one rank to another: the bits in the order of what arrives.
std::uint64_t element(int from, int to, std::int64_t k) {
  return (static_cast<std::uint64_t>(from) * 100 + static_cast<std::uint64_t>(to)) * 1'000'000 +
         static_cast<std::uint64_t>(k);
}
/// Odd numbers, so that segments begin and end within pages.
std::int64_t elements_between(int from, int to) { return 300'001 + 7 * from + 1001 * to; }

TEST(NodeStorage, IsExchangedByAllToAlls) {
  NodeArray<std::uint64_t> array;
  for (const bool any_order : {true, false, true}) {
    std::vector<std::int64_t> send, receive;
    std::vector<std::uint64_t> before, after;
    for (int r = 0; r < size(); ++r) {
      send.push_back(elements_between(rank(), r));
      receive.push_back(elements_between(r, rank()));
      for (std::int64_t k = 0; k < send.back(); ++k) before.push_back(element(rank(), r, k));
      for (std::int64_t k = 0; k < receive.back(); ++k) after.push_back(element(r, rank(), k));
    }
    const bool is_new = array.size() == 0;
    if (is_new)
      array = node_array<std::uint64_t>(MPI_COMM_WORLD, std::max(before.size(), after.size()));
    std::ranges::copy(before, array.begin());
    const AlltoallBuffer buffer{array.data(), 8 * array.size(), 8};
    const Report report =
        alltoallv_in_place(MPI_COMM_WORLD, buffer, send, receive,
                           {.any_order = any_order, .method = AlltoallMethod::stream});
    const std::span<std::uint64_t> arrived = std::span(array).first(after.size());
    if (any_order) std::ranges::sort(arrived);
    EXPECT_TRUE(all_ranks(std::ranges::equal(arrived, after))) << any_order;
    if (!is_new) expect_taken(report);
  }
}

TEST(NodeStorage, HoldsBlocksOfDifferentSizes) {
  RaggedCase all{.before = {}, .alignment = 8};
  for (int r = 0; r < size(); ++r) {
    all.before.emplace_back();
    for (std::uint64_t k = 0; k < 500; ++k)
      all.before.back().push_back({3000 + k * 977 % 20'000, r, k,
                                   static_cast<int>((static_cast<std::uint64_t>(r) + k * k / 7) %
                                                    static_cast<std::uint64_t>(size()))});
  }
  const OwnBlocks own(all);
  auto arena = node_array<std::byte>(MPI_COMM_WORLD, own.bytes);
  auto lengths = node_array<std::uint64_t>(MPI_COMM_WORLD, own.count);
  RaggedField field = ragged_field(valet::ref(arena), valet::ref(lengths));
  field.alignment_bytes = own.alignment;
  Report report;
  std::byte* next = nullptr;
  for (int k = 0; k < 2; ++k) {
    std::vector<int> ranks;
    next = arena.data();
    for (const RaggedBlock& block : own.before) {
      block.write(next);
      next += padded(block.length, own.alignment);
      lengths[ranks.size()] = block.length;
      ranks.push_back(block.to);
    }
    report = migrate(MPI_COMM_WORLD, RaggedStorage{field}, ranks.size(), ranks,
                     {.method = Method::stream});
  }
  long long wrong = report.blocks_after == own.after.size() ? 0 : 1;
  next = arena.data();
  for (std::size_t k = 0; k < own.after.size(); ++k) {
    wrong += lengths[k] == own.after[k].length && own.after[k].is_at(next) ? 0 : 1;
    next += padded(own.after[k].length, own.alignment);
  }
  EXPECT_EQ(sum_over_ranks(wrong), 0);
  expect_taken(report);
}

TEST(NodeStorage, IsRedistributedInPlace) {
  const GridLayout from{BlockCyclic({2900, 700}, {64, 700}, {size(), 1})};
  const GridLayout to{BlockCyclic({2900, 700}, {2900, 50}, {1, size()})};
  Part before(from, 8, IndexOrder::row_major), after(to, 8, IndexOrder::row_major);
  before.fill();
  auto array =
      node_array<std::byte>(MPI_COMM_WORLD, std::max(before.bytes().size(), after.bytes().size()));
  Report report;
  for (int k = 0; k < 2; ++k) {
    std::ranges::copy(before.bytes(), array.begin());
    report = redistribute_in_place(MPI_COMM_WORLD, from, to, 8,
                                   {.data = array.data(), .bytes = array.size()},
                                   {.method = Method::stream});
  }
  std::copy_n(array.begin(), after.bytes().size(), after.bytes().begin());
  EXPECT_EQ(sum_over_ranks(after.wrong_bytes()), 0);
  expect_taken(report);
}

}  // namespace
}  // namespace valet::test
