// SPDX-License-Identifier: BSD-3-Clause

// The stages of a migration as a profiling tool of Kokkos sees them.

#include "test_comm.hpp"
#include <valet/kokkos/blocks.hpp>
#include <valet/kokkos/layouts.hpp>

#include <Kokkos_Core.hpp>

namespace valet::test {
namespace {

std::vector<std::string> seen;  // names as they begin, "end" as they end

/// A tool that notes regions until the end of a scope.
class Tool {
 public:
  Tool() {
    seen.clear();
    Kokkos::Tools::Experimental::set_push_region_callback(
        [](const char* name) { seen.emplace_back(name); });
    Kokkos::Tools::Experimental::set_pop_region_callback([] { seen.emplace_back("end"); });
  }
  Tool(const Tool&) = delete;
  Tool& operator=(const Tool&) = delete;
  ~Tool() {
    Kokkos::Tools::Experimental::set_push_region_callback(nullptr);
    Kokkos::Tools::Experimental::set_pop_region_callback(nullptr);
  }
};

using Regions = std::vector<std::string>;
const Regions all_stages{"valet::plan",  "end", "valet::verify", "end", "valet::exchange", "end",
                         "valet::local", "end", "valet::verify", "end"};

TEST(ProfilingRegions, AreTheStagesOfAMigrationOfViews) {
  constexpr std::uint64_t slots = 40;
  const Kokkos::View<double* [3]> view("values", slots);
  const std::vector<int> ranks(slots, (rank() + 1) % size());
  const Options options{.verify = true};
  for (const BlockStorage& storage :
       {kokkos::blocks(view), kokkos::staged_blocks(Kokkos::DefaultExecutionSpace(), view)}) {
    const Tool tool;
    migrate(MPI_COMM_WORLD, storage, slots, ranks, options);
    EXPECT_TRUE(all_ranks(seen == all_stages)) << testing::PrintToString(seen);
  }
}

TEST(ProfilingRegions, EndWhenTheMigrationFails) {
  constexpr std::uint64_t slots = 40;
  const Kokkos::View<double*> view("values", slots);
  std::vector<int> ranks(slots, 0);
  if (rank() == size() - 1) ranks[3] = -5;
  const Tool tool;
  const Outcome refused =
      outcome_of([&] { migrate(MPI_COMM_WORLD, kokkos::blocks(view), slots, ranks, {}); });
  EXPECT_EQ(refused.code, ErrorCode::rank_out_of_range);
  EXPECT_TRUE(all_ranks(seen == Regions{"valet::plan", "end"})) << testing::PrintToString(seen);
}

/// Kernels of this rank that throw, until the end of a scope, as those of a failing device do.
class FailingKernels {
 public:
  explicit FailingKernels(bool fail) {
    if (!fail) return;
    const auto begins = [](const char*, std::uint32_t, std::uint64_t*) {
      throw std::runtime_error("no device");
    };
    Kokkos::Tools::Experimental::set_begin_parallel_for_callback(begins);
    Kokkos::Tools::Experimental::set_begin_parallel_reduce_callback(begins);
  }
  FailingKernels(const FailingKernels&) = delete;
  FailingKernels& operator=(const FailingKernels&) = delete;
  ~FailingKernels() {
    Kokkos::Tools::Experimental::set_begin_parallel_for_callback(nullptr);
    Kokkos::Tools::Experimental::set_begin_parallel_reduce_callback(nullptr);
  }
};

TEST(ProfilingRegions, EndOnAllRanksWhenAKernelFailsOnOne) {
  const Kokkos::View<double*> view("values", 40);
  const BlockStorage storage = kokkos::staged_blocks(view);
  const std::vector<int> ranks(40, (rank() + 1) % size());
  for (const bool verify : {true, false}) {
    if (size() == 1 && !verify) continue;  // there is nothing to move
    const Options options{.verify = verify};
    Outcome outcome;
    const Tool tool;
    {
      const FailingKernels kernels(rank() == size() - 1);
      outcome = outcome_of([&] { migrate(MPI_COMM_WORLD, storage, 40, ranks, options); });
    }
    expect_error(outcome, ErrorCode::callback_failed, {});
    const std::string begin = "valet: rank " + std::to_string(size() - 1) +
                              (verify ? ": hashing blocks (hash_sum) failed: no device; "
                                      : ": packing blocks (gather) failed: no device; ");
    EXPECT_EQ(outcome.text.find(begin), 0U) << outcome.text;
    expect_words(outcome.text, {verify ? "nothing has moved" : "unspecified"});
    const Regions stages =
        verify ? Regions{"valet::plan", "end", "valet::verify", "end"}
               : Regions{"valet::plan", "end", "valet::exchange", "end", "valet::local", "end"};
    EXPECT_TRUE(all_ranks(seen == stages)) << testing::PrintToString(seen);
  }
}

TEST(ProfilingRegions, SurroundARedistribution) {
  const std::int64_t n = 100;
  const GridLayout blocks{BlockCyclic({n}, {7}, {size()})};
  const GridLayout cyclic{BlockCyclic({n}, {1}, {size()})};
  const Kokkos::View<int*, Kokkos::HostSpace> from("from", n), to("to", n);
  const Tool tool;
  kokkos::redistribute(MPI_COMM_WORLD, blocks, cyclic, from, to);
  kokkos::redistribute_in_place(MPI_COMM_WORLD, blocks, cyclic, from, IndexOrder::row_major);
  EXPECT_TRUE(all_ranks(
      seen == Regions{"valet::redistribute", "end", "valet::redistribute_in_place", "end"}))
      << testing::PrintToString(seen);
}

}  // namespace
}  // namespace valet::test
