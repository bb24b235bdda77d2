// SPDX-License-Identifier: BSD-3-Clause

// The snippets on blocks of different sizes, word for word, that need no other library: see
// readme_test.cpp.

#include "test_comm.hpp"

namespace {

using valet::test::rank;
using valet::test::size;

TEST(Readme, MovesBlocksOfDifferentSizes) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  const std::uint64_t most = 20, capacity = 400;
  std::uint64_t count = 20;
  std::vector<int> ranks(count, (rank() + 1) % size());

  std::vector<std::byte> bytes(capacity);              // blocks, packed from the front
  std::vector<std::uint64_t> lengths(most), id(most);  // bytes of each block, and a row for each
  const auto storage = [&] {
    return valet::RaggedStorage({valet::ragged_field(std::span(bytes), std::span(lengths))},
                                {valet::field(id)});
  };

  // Block k of rank r has k bytes 50 * r + k.
  const auto wrong_block = [&](std::uint64_t k, std::uint64_t from, std::uint64_t number,
                               const std::byte*& next) {
    bool is_right = lengths[k] == number && id[k] == 50 * from + number;
    for (std::uint64_t b = 0; b < number; ++b)
      is_right = is_right && *next++ == static_cast<std::byte>(50 * from + number);
    return is_right ? 0 : 1;
  };
  auto* fill = bytes.data();
  for (std::uint64_t k = 0; k < count; ++k) {
    lengths[k] = k;
    id[k] = 50 * static_cast<std::uint64_t>(rank()) + k;
    fill = std::fill_n(fill, k, static_cast<std::byte>(id[k]));
  }

  count = valet::migrate(comm, storage(), count, ranks).blocks_after;

  long long wrong = count == 20 ? 0 : 1;
  const auto before = static_cast<std::uint64_t>((rank() + size() - 1) % size());
  const std::byte* next = bytes.data();
  for (std::uint64_t k = 0; k < count; ++k) wrong += wrong_block(k, before, k, next);
  EXPECT_EQ(valet::test::sum_over_ranks(wrong), 0);

  std::ranges::fill(ranks, 0);
  valet::RaggedPlan plan = valet::plan_to_ranks(comm, storage(), count, ranks);
  bytes.resize(std::max<std::uint64_t>(bytes.size(), plan.required_bytes()));
  lengths.resize(std::max<std::uint64_t>(lengths.size(), plan.blocks_after()));
  id.resize(lengths.size());
  count = valet::execute(plan, storage(), ranks).blocks_after;

  // Those that rank 0 had are first: they are those of the last rank.
  wrong = count == (rank() == 0 ? 20 * static_cast<std::uint64_t>(size()) : 0) ? 0 : 1;
  next = bytes.data();
  for (std::uint64_t k = 0; k < count; ++k)
    wrong += wrong_block(
        k, (k / 20 + static_cast<std::uint64_t>(size()) - 1) % static_cast<std::uint64_t>(size()),
        k % 20, next);
  EXPECT_EQ(valet::test::sum_over_ranks(wrong), 0);
}

}  // namespace
