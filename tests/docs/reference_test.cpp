// SPDX-License-Identifier: BSD-3-Clause

// The snippets of the groups of the API reference, word for word, with what they need around them.

#include "test_comm.hpp"

namespace {

using valet::test::size;
using valet::test::sum_over_ranks;

struct Cell {
  double pressure = 0;
  int id = 0;
};

// Numbers that no two ranks share.
std::vector<int> numbers(std::uint64_t slots) {
  std::vector<int> result(slots);
  for (std::uint64_t k = 0; k < slots; ++k)
    result[k] = 1000 * valet::test::rank() + static_cast<int>(k);
  return result;
}

long long sum_of(const std::vector<int>& values, std::uint64_t count) {
  long long sum = 0;
  for (std::uint64_t k = 0; k < count; ++k) sum += values[k];
  return sum;
}

TEST(Reference, StartsWithOptionsReportsAndErrors) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  const int rank = valet::test::rank();
  std::uint64_t count = 20;
  std::vector<double> position(3 * count, rank);
  std::vector<int> id = numbers(count);
  const std::vector<int> ranks(count, (rank + 1) % size());
  std::string text;
  if (rank == 0) testing::internal::CaptureStdout();

  valet::Options options;
  options.budget_bytes = valet::parse_bytes("1M");  // scratch of this rank
  options.method = valet::parse_method("stream");   // or leave it to Valet
  options.order = valet::Order::stable;             // which slots the blocks get
  options.verify = true;                            // checksums of all blocks, end to end

  valet::BlockStorage particles{valet::field(position, 3), valet::field(id)};
  try {
    const valet::Report report = valet::migrate(comm, particles, count, ranks, options);
    count = report.blocks_after;
    const valet::Report total = valet::summed_over_ranks(report, comm);
    if (rank == 0) std::cout << total.to_string() << '\n';
  } catch (const valet::Error& error) {  // the same on all ranks, and nothing has moved
    if (rank == 0) std::cerr << to_string(error.code()) << ": " << error.message() << '\n';
  }

  if (rank == 0) {
    text = testing::internal::GetCapturedStdout();
    EXPECT_NE(text.find("verified: every block arrived"), std::string::npos) << text;
  }
  const int from = (rank + size() - 1) % size();
  EXPECT_EQ(count, 20);
  EXPECT_EQ(id[0], 1000 * from);
  EXPECT_EQ(position[59], from);
}

TEST(Reference, MakesStorages) {
  std::vector<double> position(30);
  std::vector<int> id(10), owner(5);
  std::vector<Cell> cells(7);
  std::vector<std::byte> bytes(100);
  std::vector<std::uint64_t> lengths(5);

  // A structure of arrays: a block is its row in each of them.
  valet::BlockStorage particles{valet::field(position, 3, "position"), valet::field(id)};

  // The same for arrays that grow between the calls: made once, looked at in each call.
  valet::BlockStorage resized{valet::field(valet::ref(position), 3, "position"),
                              valet::field(valet::ref(id))};

  // For arrays that Valet enlarges where a rank gets more blocks than they have rows.
  valet::BlockStorage enlarged{valet::growing(position, 3, "position"), valet::growing(id, 1)};

  // An array of structures, and one member of it.
  valet::BlockStorage whole{valet::field(cells.data(), cells.size())};
  valet::BlockStorage pressures{
      valet::strided_field(&cells[0].pressure, cells.size(), sizeof(double), sizeof(Cell))};

  // Blocks of different sizes, packed in one arena, and an array beside them.
  valet::RaggedStorage lists{{valet::ragged_field(std::span(bytes), std::span(lengths))},
                             {valet::field(owner)}};

  EXPECT_EQ(particles.block_bytes(), 3 * sizeof(double) + sizeof(int));
  EXPECT_EQ(resized.slots(), 10);
  position.resize(60);
  id.resize(20);
  EXPECT_EQ(resized.slots(), 20);
  EXPECT_TRUE(enlarged.grows());
  EXPECT_EQ(whole.block_bytes(), sizeof(Cell));
  EXPECT_EQ(pressures.block_bytes(), sizeof(double));
  EXPECT_EQ(pressures.slots(), 7);
  EXPECT_EQ(lists.fields().size(), 1);
  // Only the member moves: the rest of each structure stays as it is.
  for (Cell& cell : cells) cell = {static_cast<double>(valet::test::rank()), valet::test::rank()};
  valet::migrate(MPI_COMM_WORLD, pressures, 7,
                 std::vector<int>(7, (valet::test::rank() + 1) % size()));
  EXPECT_EQ(cells[6].pressure, (valet::test::rank() + size() - 1) % size());
  EXPECT_EQ(cells[6].id, valet::test::rank());
}

TEST(Reference, PlansAndExecutes) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  const int rank = valet::test::rank();
  std::uint64_t count = 10;
  const std::uint64_t cell_count = 10;
  std::vector<int> id = numbers(count), cell_ids = numbers(cell_count), sparse_ids = numbers(4);
  valet::BlockStorage particles{valet::growing(id, 1)};
  const valet::BlockStorage cells{valet::field(cell_ids)}, sparse{valet::field(sparse_ids)};
  const std::vector<int> ranks(count, 0);
  const std::vector<std::uint8_t> mask = {0, 0, 1, 1};
  const std::vector<int> slot_ranks(4, (rank + 1) % size());
  std::vector<valet::Address> addresses(cell_count);  // backwards, on the next rank
  for (std::uint64_t k = 0; k < cell_count; ++k)
    addresses[k] = {(rank + 1) % size(), cell_count - 1 - k};

  // A rank for each block; the slots are Valet's choice.
  valet::Plan plan = valet::plan_to_ranks(comm, particles, count, ranks);
  count = valet::execute(plan, particles).blocks_after;

  EXPECT_EQ(count, rank == 0 ? 10 * static_cast<std::uint64_t>(size()) : 0);
  const long long all = sum_over_ranks(sum_of(numbers(10), 10));
  EXPECT_EQ(sum_over_ranks(sum_of(id, count)), all);
  const std::vector<int> some_leave(count, rank);

  // Blocks of rank -1 are deleted.
  valet::migrate(comm, particles, count, some_leave, {.negative_rank = valet::NegativeRank::drop});

  std::vector<int> wishes(count, 0);

  // A rank for each slot, where a mask says which of them hold a block.
  const auto occupied = valet::Occupied::masked(mask);
  valet::migrate(comm, sparse, occupied, slot_ranks);

  EXPECT_EQ(sparse_ids[0] + sparse_ids[1], 2000 * ((rank + size() - 1) % size()) + 5);

  // A rank and a slot for each block.
  valet::Plan exact = valet::plan_to_slots(comm, cells, cell_count, addresses);
  valet::execute(exact, cells);

  EXPECT_EQ(cell_ids[0], 1000 * ((rank + size() - 1) % size()) + 9);
  if (rank == 0) particles = valet::BlockStorage{valet::field(id.data(), 10)};

  // A map that asks ranks for more slots than they have, corrected by the fewest changes.
  const valet::RepairResult repaired = valet::repair(comm, count, wishes, particles.slots());

  EXPECT_EQ(repaired.changed_in_all, 10 * static_cast<std::uint64_t>(size() - 1));
}

TEST(Reference, MovesArraysBetweenLayouts) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  const int rank = valet::test::rank(), ranks = size();
  std::vector<double> values(static_cast<std::size_t>(ranks), rank);
  const std::vector<std::int64_t> send_counts(static_cast<std::size_t>(ranks), 1);
  const std::int64_t n = 50;
  std::vector<double> entries(static_cast<std::size_t>(n * n), -1);
  std::uint64_t object_count = 8;
  std::vector<int> object_ids = numbers(8);
  const valet::BlockStorage objects{valet::field(object_ids)};
  const auto number_of = [&](const valet::BlockCyclic& layout, const auto& action) {
    const auto extents = layout.local_extents(rank);
    for (std::int64_t i = 0; i < extents[0]; ++i)
      for (std::int64_t j = 0; j < extents[1]; ++j) {
        const auto global = layout.global_indices(rank, {i, j});
        action(entries[static_cast<std::size_t>(i * extents[1] + j)],
               static_cast<double>(global[0] * n + global[1]));
      }
  };
  number_of(valet::BlockCyclic({n, n}, {n, 1}, {1, ranks}),
            [](double& entry, double number) { entry = number; });

  // MPI_Alltoallv without a second buffer.
  const valet::AlltoallBuffer buffer{values.data(), values.size() * sizeof(double), sizeof(double)};
  valet::alltoallv_in_place(comm, buffer, send_counts);

  // A matrix from columns to blocks of 16 x 16 on all ranks, inside its own memory.
  const valet::GridLayout columns{valet::BlockCyclic({n, n}, {n, 1}, {1, ranks})};
  const valet::GridLayout blocks{valet::BlockCyclic({n, n}, {16, 16}, {1, ranks})};
  const valet::TargetArray matrix{.data = entries.data(), .bytes = entries.size() * sizeof(double)};
  valet::redistribute_in_place(comm, columns, blocks, sizeof(double), matrix);

  // Objects, numbered through over the ranks, dealt to them in turn.
  valet::Plan deal =
      valet::plan_to_layout(comm, objects, object_count, valet::ObjectLayout::cyclic(1));
  object_count = valet::execute(deal, objects).blocks_after;

  long long wrong = 0;
  for (int from = 0; from < ranks; ++from) wrong += values[static_cast<std::size_t>(from)] != from;
  number_of(blocks.layout, [&](double entry, double number) { wrong += entry != number; });
  for (std::uint64_t k = 0; k < object_count; ++k) {
    const int number = static_cast<int>(k) * ranks + rank;
    wrong += object_ids[k] != 1000 * (number / 8) + number % 8;
  }
  EXPECT_EQ(object_count, 8);
  EXPECT_EQ(sum_over_ranks(wrong), 0);
}

}  // namespace
