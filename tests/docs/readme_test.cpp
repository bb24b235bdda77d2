// SPDX-License-Identifier: BSD-3-Clause

// The snippets of the README and of the guide, word for word, with what they need around them:
// docs_snippets sees that all of them are here. On 7 ranks, because the grids of one of them need
// so many.

#include "test_comm.hpp"

#include <map>
#include <numeric>
#include <string_view>

namespace {

using valet::test::rank;
using valet::test::size;

TEST(Guide, MovesNodeArrays) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  const std::uint64_t slots = 10;
  std::uint64_t count = slots;
  const std::vector<int> ranks(count, 0);

  auto position = valet::node_array<double>(comm, 3 * slots);
  auto id = valet::node_array<std::int64_t>(comm, slots);
  valet::BlockStorage particles{valet::growing(position, 3), valet::growing(id, 1)};

  std::iota(id.begin(), id.end(), 10 * rank());
  for (std::uint64_t k = 0; k < slots; ++k) position[3 * k + 2] = static_cast<double>(id[k]);

  // Arrays that must grow do it where they are: addresses stay.
  count = valet::migrate(comm, particles, count, ranks).blocks_after;

  EXPECT_EQ(count, rank() == 0 ? slots * static_cast<std::uint64_t>(size()) : 0);
  for (std::uint64_t k = 0; k < count; ++k)
    EXPECT_EQ(position[3 * k + 2], static_cast<double>(id[k]));
  std::sort(id.begin(), id.begin() + count);
  for (std::uint64_t k = 0; k < count; ++k) EXPECT_EQ(id[k], static_cast<std::int64_t>(k));
}

TEST(Readme, ShowsWhatHappens) {
  std::uint64_t shown = 0;
  std::vector<std::string> logged;
  const auto show = [&](std::uint64_t done, std::uint64_t) { shown = done; };
  const auto my_log = [&](valet::LogLevel, std::string_view text) { logged.emplace_back(text); };

  valet::Options options;
  options.trace = "trace.json";  // for ui.perfetto.dev or chrome://tracing
  options.transfers = "t.mtx";   // for valet-plan
  options.progress = [&](const valet::Progress& p) { show(p.bytes_done, p.bytes_total); };
  valet::set_log_callback(
      [&](valet::LogLevel level, std::string_view text) { my_log(level, text); });

  options.trace = testing::TempDir() + "valet_readme_trace.json";
  options.transfers = testing::TempDir() + "valet_readme.mtx";
  std::vector<std::uint64_t> blocks(100);
  const std::vector<int> ranks(90, (rank() + 1) % size());
  const valet::BlockStorage storage{valet::field(blocks.data(), blocks.size())};
  static_cast<void>(valet::migrate(MPI_COMM_WORLD, storage, ranks.size(), ranks, options));
  valet::set_log_callback({});
  EXPECT_EQ(shown, size() > 1 ? 2 * 90 * 8U : 0);
  EXPECT_FALSE(logged.empty());
  if (rank() == 0) {
    EXPECT_EQ(std::remove(options.trace.c_str()), 0);
    EXPECT_EQ(std::remove(options.transfers.c_str()), 0);
  }
}

// The numbers of the section on memory, which a run must agree with.
TEST(Readme, PromisesTheMemoryOfItsExample) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  const std::uint64_t slots = 1000;
  struct Particle {
    double x[3], v[3], work;
  };
  std::vector<Particle> particles(slots);
  std::vector<int> ranks(slots, valet::test::rank());
  // In no order that is a layout.
  for (std::size_t k = 0; k < slots / 4; ++k)
    ranks[k * k * k % slots] = (valet::test::rank() + 1) % size();
  const valet::BlockStorage storage{valet::field(particles.data(), slots)};
  const valet::Report report =
      valet::migrate(comm, storage, slots, ranks, {.method = valet::Method::stream});

  std::string text;
  const int rank = valet::test::rank();
  if (rank == 0) testing::internal::CaptureStdout();
  const valet::Report total = valet::summed_over_ranks(report, comm);
  if (rank == 0) std::cout << total.to_string() << '\n' << total.to_json() << '\n';

  if (rank == 0) text = testing::internal::GetCapturedStdout();
  EXPECT_EQ(report.block_bytes, 56);
  EXPECT_EQ(report.neighbours, size() == 1 ? 0 : size() == 2 ? 1 : 2);
  EXPECT_EQ(report.extra_bytes_bound, 4194304 + 65536 + 256 * report.neighbours + 8 * slots);
  EXPECT_LE(report.peak_extra_bytes, report.extra_bytes_bound);
  if (rank == 0) {
    EXPECT_NE(text.find("blocks left their rank"), std::string::npos) << text;
    EXPECT_NE(text.find("promised at most"), std::string::npos) << text;
    EXPECT_NE(text.find("\"extra_bytes_bound\":"), std::string::npos) << text;
  }
}

TEST(Readme, DealsObjects) {
  if (size() < 4) GTEST_SKIP() << "needs 4 ranks";
  const MPI_Comm comm = MPI_COMM_WORLD;
  const std::uint64_t count = 500;
  const std::uint64_t all = count * static_cast<std::uint64_t>(size());
  std::vector<std::uint64_t> numbers(all);
  for (std::uint64_t k = 0; k < count; ++k)
    numbers[k] = count * static_cast<std::uint64_t>(rank()) + k;
  const valet::BlockStorage storage{valet::field(numbers.data(), numbers.size())};

  using valet::ObjectLayout;
  const auto dealt = ObjectLayout::cyclic(64);      // in blocks of 64 to all ranks in turn
  const auto gathered = ObjectLayout::balanced(4);  // one block on each of the first 4
  valet::Report report = valet::migrate_to_layout(comm, storage, count, dealt);
  report = valet::migrate_to_layout(comm, storage, report.blocks_after, dealt, gathered);

  long long wrong = report.blocks_after == (rank() < 4 ? all / 4 : 0) ? 0 : 1;
  for (std::uint64_t k = 0; k < report.blocks_after; ++k)
    wrong += numbers[k] != all / 4 * static_cast<std::uint64_t>(rank()) + k;
  EXPECT_EQ(valet::test::sum_over_ranks(wrong), 0);
}

TEST(Readme, DealsTiles) {
  if (size() < 6) GTEST_SKIP() << "needs 6 ranks";
  const MPI_Comm comm = MPI_COMM_WORLD;
  const std::uint64_t count = rank() < 6 ? 16 : 0;
  std::vector<int> numbers(96);
  std::iota(numbers.begin(), numbers.begin() + 16, 16 * rank());
  const valet::BlockStorage storage{valet::field(numbers.data(), numbers.size())};
  using valet::ObjectLayout;
  valet::Report report;

  using valet::BlockCyclic;
  const auto tiles =
      ObjectLayout::tiles(BlockCyclic({12, 8}, {2, 3}, {3, 2}));  // 2 x 3 cells, 3 x 2 ranks
  const auto strips =
      ObjectLayout::tiles(BlockCyclic::block({12, 8}, {1, 4}));  // 12 x 2 cells for each of 4 ranks
  report = valet::migrate_to_layout(comm, storage, count, tiles);
  report = valet::migrate_to_layout(comm, storage, report.blocks_after, tiles, strips);

  long long wrong = report.blocks_after == (rank() < 4 ? 24 : 0) ? 0 : 1;
  for (int k = 0; k < static_cast<int>(report.blocks_after); ++k)
    wrong += numbers[static_cast<std::size_t>(k)] != k / 2 * 8 + 2 * rank() + k % 2;
  EXPECT_EQ(valet::test::sum_over_ranks(wrong), 0);
}

TEST(Readme, HandsAMatrixToOtherRanks) {
  if (size() < 7) GTEST_SKIP() << "needs 7 ranks";
  const MPI_Comm comm = MPI_COMM_WORLD;
  const std::int64_t n = 300;
  std::vector<double> made_memory(static_cast<std::size_t>(n * n));
  std::vector<double> used_memory(static_cast<std::size_t>(n * n), -1);
  double* const a = made_memory.data();
  double* const b = used_memory.data();
  const std::size_t a_bytes = made_memory.size() * sizeof(double);
  const std::size_t b_bytes = a_bytes;
  const valet::BlockCyclic cyclic({n, n}, {64, 64}, {2, 2});
  if (rank() < 4) {
    const auto extents = cyclic.local_extents(rank());
    for (std::int64_t i = 0; i < extents[0]; ++i)
      for (std::int64_t j = 0; j < extents[1]; ++j) {
        const auto global = cyclic.global_indices(rank(), {i, j});
        a[i * extents[1] + j] = static_cast<double>(global[0] * n + global[1]);
      }
  }

  using valet::BlockCyclic, valet::GridLayout;
  const GridLayout made{BlockCyclic({n, n}, {64, 64}, {2, 2}), {0, 1, 2, 3}};  // on ranks 0 to 3
  const GridLayout used{BlockCyclic({n, n}, {100, 80}, {1, 3}), {4, 5, 6}};
  valet::redistribute(comm, made, used, sizeof(double), {.data = a, .bytes = a_bytes},
                      {.data = b, .bytes = b_bytes});

  long long wrong = 0;
  if (const int me = rank(); me < 4) {
    const std::int64_t row_length = made.layout.local_extents(me)[1];
    std::map<int, std::vector<double>> packed;
    // What this rank has for each rank of the other layout, in the order in which that rank finds
    // it.
    const valet::layout::Intersection shared = valet::intersect(made.layout, me, used.layout);
    for (int p = shared.next_peer(0); p < used.layout.ranks(); p = shared.next_peer(p + 1))
      shared.for_each_run(p, valet::IndexOrder::row_major,
                          [&](const auto&, const auto& local, std::int64_t length) {
                            const double* const run = a + local[0] * row_length + local[1];
                            packed[p].insert(packed[p].end(), run, run + length);
                          });
    for (int p = 0; p < used.layout.ranks(); ++p) {
      std::size_t next = 0;
      valet::intersect(used.layout, p, made.layout, {.peer = me})
          .for_each_run(me, valet::IndexOrder::row_major,
                        [&](const auto& global, const auto&, std::int64_t length) {
                          for (std::int64_t k = 0; k < length; ++k)
                            wrong += packed[p].at(next++) !=
                                     static_cast<double>(global[0] * n + global[1] + k);
                        });
      wrong += next != packed[p].size();
    }
  }
  if (rank() >= 4) {
    const auto extents = used.layout.local_extents(rank() - 4);
    for (std::int64_t i = 0; i < extents[0]; ++i)
      for (std::int64_t j = 0; j < extents[1]; ++j) {
        const auto global = used.layout.global_indices(rank() - 4, {i, j});
        wrong += b[i * extents[1] + j] != static_cast<double>(global[0] * n + global[1]);
      }
  }

  std::vector<std::vector<double>> own_cells;
  const std::array<int, 6> owners{6, 4, 4, 5, 6, 6};
  const std::array<std::int64_t, 3> rows{0, 100, n};
  const std::array<std::int64_t, 4> columns{0, 50, 250, n};
  const auto for_own_cells = [&](auto&& action) {
    for (std::size_t g = 0; g < 6; ++g)
      if (owners[g] == rank())
        action(rows[g / 3], rows[g / 3 + 1], columns[g % 3], columns[g % 3 + 1]);
  };
  for_own_cells([&](auto top, auto bottom, auto left, auto right) {
    own_cells.emplace_back(static_cast<std::size_t>((bottom - top) * (right - left)));
  });
  // 2 x 3 cells, numbered row by row: rank 6 has cells 0, 4 and 5, rank 4 has 1 and 2, rank 5 has
  // 3.
  const GridLayout cells{BlockCyclic::cut_at({{0, 100, n}, {0, 50, 250, n}}), {6, 4, 4, 5, 6, 6}};
  valet::TargetArray target;
  for (std::vector<double>& cell : own_cells)  // an array for each cell of this rank
    target.cells.push_back({.data = cell.data(), .bytes = cell.size() * sizeof(double)});
  valet::redistribute(comm, used, cells, sizeof(double), {.data = b, .bytes = b_bytes}, target);

  std::size_t own = 0;
  for_own_cells([&](auto top, auto bottom, auto left, auto right) {
    std::size_t next = 0;
    for (std::int64_t i = top; i < bottom; ++i)
      for (std::int64_t j = left; j < right; ++j)
        wrong += own_cells[own][next++] != static_cast<double>(i * n + j);
    ++own;
  });
  EXPECT_EQ(valet::test::sum_over_ranks(wrong), 0);
}

}  // namespace
