// SPDX-License-Identifier: BSD-3-Clause

// The further snippets of the groups of the API reference, word for word, with what they need
// around them.

#include "test_comm.hpp"
#include <valet/scalapack.hpp>

#include <string_view>

namespace {

using valet::test::rank;
using valet::test::size;

int next() { return (rank() + 1) % size(); }
int previous() { return (rank() + size() - 1) % size(); }

TEST(Reference, TellsMessages) {
  std::vector<std::string> messages;

  // Messages go where those of the application go.
  valet::set_log_callback([&](valet::LogLevel level, std::string_view message) {
    if (level == valet::LogLevel::warning) messages.emplace_back(message);
  });

  valet::set_log_callback({});
  EXPECT_TRUE(messages.empty());
}

TEST(Reference, ReadsNamesAndLogsReports) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  const int rank = valet::test::rank();
  const std::uint64_t count = 10;
  std::vector<int> values(count, rank);
  const valet::BlockStorage particles{valet::field(values)};
  const std::vector<int> ranks(count, next());
  valet::Options options;
  std::string method_name = "stream", heuristics;
  std::vector<std::string> messages;
  valet::set_log_callback(
      [&](valet::LogLevel, std::string_view message) { messages.emplace_back(message); });

  // Names, as users write them: of one that there is not, the error lists those that there are.
  options.method = valet::parse_method(method_name);
  options.order = valet::parse_order("fill");
  options.phased.heuristic = valet::parse_heuristic("max_first");
  options.phased.scheduler = valet::parse_scheduler("distributed");
  options.cyclic.edge_order = valet::parse_edge_order("rotated");
  const valet::AlltoallMethod alltoall = valet::parse_alltoall_method("swaps");
  for (const valet::Heuristic heuristic : valet::all_heuristics())
    heuristics += std::string(" ") + to_string(heuristic);

  // What a plan holds, and a line for the log where anyone reads it.
  valet::Plan plan = valet::plan_to_ranks(comm, particles, count, ranks, options);
  const std::uint64_t blocks = plan.blocks_before(), extra_bytes = plan.extra_bytes();
  const valet::Report report = valet::execute(plan, particles);
  const double speed = static_cast<double>(report.bytes_sent) / report.seconds();
  if (valet::is_logged(valet::LogLevel::info, rank))
    valet::log(valet::LogLevel::info, rank, report.to_line());

  // For a bug report: how the library was built, and its MPI.
  std::cout << valet::version() << '\n' << valet::configuration().to_string() << '\n';

  valet::set_log_callback({});
  EXPECT_EQ(heuristics, " first_fit max_first random fortune_wheel min_max continuous");
  EXPECT_EQ(options.method, valet::Method::stream);
  EXPECT_EQ(alltoall, valet::AlltoallMethod::swaps);
  EXPECT_EQ(blocks, count);
  EXPECT_LE(extra_bytes, report.extra_bytes_bound);
  EXPECT_GT(speed, 0);
  ASSERT_FALSE(messages.empty());
  EXPECT_EQ(messages.back(), report.to_line());
  method_name = "steam";
  EXPECT_THROW(valet::parse_method(method_name), valet::Error);
}

TEST(Reference, MovesBlocksByFunctionsOfTheApplication) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  const std::uint64_t slots = 12, count = 12;
  const std::size_t block_bytes = 40;
  std::vector<std::byte> memory(slots * block_bytes, static_cast<std::byte>(rank()));
  std::byte* const array = memory.data();
  const std::vector<int> ranks(count, next());

  // An array that only functions of the application reach: on a device memcpy is cudaMemcpyAsync,
  // and the functions wait for their stream at the end.
  valet::CustomFunctions functions;
  functions.pack = [=](valet::SlotSpan list, std::byte* packed) {
    valet::for_each_run(list, [=](std::uint64_t slot, std::size_t first, std::size_t blocks) {
      std::memcpy(packed + first * block_bytes, array + slot * block_bytes, blocks * block_bytes);
    });
  };
  functions.unpack = [=](const std::byte* packed, valet::SlotSpan list) {
    valet::for_each_run(list, [=](std::uint64_t slot, std::size_t first, std::size_t blocks) {
      std::memcpy(array + slot * block_bytes, packed + first * block_bytes, blocks * block_bytes);
    });
  };
  valet::migrate(comm, valet::custom_storage(slots, block_bytes, functions), count, ranks);

  EXPECT_EQ(memory, std::vector<std::byte>(memory.size(), static_cast<std::byte>(previous())));
}

TEST(Reference, ExecutesInLentMemory) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  const std::uint64_t cell_count = 9;
  std::vector<int> values(cell_count, rank());
  const valet::BlockStorage cells{valet::field(values)};
  const int partner = (rank() ^ 1) < size() ? rank() ^ 1 : rank();
  const std::vector<int> partners(cell_count, partner);

  // A plan that is executed in every step, in memory that another part of the program does not use
  // then.
  valet::Plan swap = valet::plan_to_ranks(comm, cells, cell_count, partners);
  std::vector<std::max_align_t> lent(swap.workspace_bytes() / sizeof(std::max_align_t) + 1);
  for (int step = 0; step < 2; ++step)
    valet::execute(swap, cells, std::as_writable_bytes(std::span(lent)));

  EXPECT_EQ(values, std::vector<int>(cell_count, rank())) << "there and back";
}

TEST(Reference, FindsElements) {
  const std::int64_t i = 70, j = 41;
  const int context = 0;
  const std::vector<int> descriptor = {1, context, 100, 90, 16, 8, 0, 0, 60};

  // Who has which element of a matrix that ScaLAPACK describes, and where.
  const valet::BlockCyclic layout = valet::layout::from_scalapack(descriptor, 2, 3);
  const int owner = layout.owner({i, j});
  const valet::BlockCyclic::Extents local = layout.local_indices({i, j});
  const valet::BlockCyclic::Extents global = layout.global_indices(owner, local);  // i and j again
  const std::int64_t elements = layout.local_elements(owner);
  const auto leading_dimension = static_cast<int>(layout.local_extents(owner)[0]);
  const valet::layout::ScalapackDescriptor described =
      valet::layout::to_scalapack(layout, context, leading_dimension);

  // A layout by its numbers, and the first row of each block that row 1 of the grid has.
  const valet::BlockCyclic same(layout.extents(), {16, 8}, {2, 3}, layout.rank_order());
  const valet::layout::Dimension& rows = layout.dimension(0);
  std::vector<std::int64_t> first_rows;
  for (std::int64_t k = 0; k < rows.local_extent(1); k += rows.block_size())
    first_rows.push_back(rows.global_index(1, k));

  EXPECT_EQ(same, layout);
  EXPECT_EQ(first_rows, (std::vector<std::int64_t>{16, 48, 80}));
  // Block 4 of the rows is on row 0 of the grid, block 5 of the columns on column 2.
  EXPECT_EQ(owner, 2);
  EXPECT_EQ(local, (valet::BlockCyclic::Extents{38, 9}));
  EXPECT_EQ(global, (valet::BlockCyclic::Extents{i, j}));
  EXPECT_EQ(leading_dimension, 52);
  EXPECT_EQ(elements, 52 * 26);
  EXPECT_EQ(described[4], 16);
}

}  // namespace
