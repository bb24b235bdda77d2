// SPDX-License-Identifier: BSD-3-Clause

// The snippets on blocks of different sizes, word for word, that need no other library: see
// readme_test.cpp.

#include "test_comm.hpp"

#include <cstring>
#include <unordered_map>

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

TEST(Readme, MovesObjectsBehindFunctions) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  std::unordered_map<std::uint64_t, std::vector<double>> cells;  // by name
  std::vector<std::uint64_t> name;                               // cell k of the call
  std::vector<int> ranks;                                        // and where it goes

  // Cell k of rank r has k numbers r and goes to the next rank.
  for (std::uint64_t k = 0; k < 50; ++k) {
    name.push_back(100 * static_cast<std::uint64_t>(rank()) + k);
    cells[name[k]].assign(k, rank());
    ranks.push_back((rank() + 1) % size());
  }

  valet::ObjectFunctions functions;
  functions.size = [&](std::uint64_t k) { return 8 + 8 * cells.at(name[k]).size(); };
  functions.pack = [&](std::uint64_t k, std::span<std::byte> packed) {
    std::memcpy(packed.data(), &name[k], 8);
    std::ranges::copy(std::as_bytes(std::span(cells.at(name[k]))), packed.begin() + 8);
  };
  functions.unpack = [&](int, std::span<const std::byte> packed) {
    std::uint64_t arrived = 0;
    std::memcpy(&arrived, packed.data(), 8);
    std::vector<double>& cell = cells[arrived];
    cell.resize(packed.size() / 8 - 1);
    std::ranges::copy(packed.subspan(8), std::as_writable_bytes(std::span(cell)).begin());
  };
  functions.left = [&](std::uint64_t k) { cells.erase(name[k]); };

  valet::migrate_objects(comm, name.size(), ranks, functions);

  const int source = (rank() + size() - 1) % size();
  long long wrong = cells.size() == 50 ? 0 : 1;
  for (std::uint64_t k = 0; k < 50; ++k)
    if (cells[100 * static_cast<std::uint64_t>(source) + k] != std::vector<double>(k, source))
      ++wrong;
  EXPECT_EQ(valet::test::sum_over_ranks(wrong), 0);
}

}  // namespace
