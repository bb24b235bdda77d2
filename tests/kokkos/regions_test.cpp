// SPDX-License-Identifier: BSD-3-Clause

// The stages of a migration as a profiling tool of Kokkos sees them.

#include "outcome.hpp"
#include "test_comm.hpp"
#include <valet/kokkos/blocks.hpp>
#include <valet/kokkos/layouts.hpp>
#include <valet/valet.hpp>

#include <Kokkos_Core.hpp>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

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

using Views = std::vector<std::string>;
const Views all_stages{"valet::plan",  "end", "valet::verify", "end", "valet::exchange", "end",
                       "valet::local", "end", "valet::verify", "end"};

TEST(ProfilingRegions, AreTheStagesOfAMigrationOfViews) {
  constexpr std::uint64_t slots = 40;
  const Kokkos::View<double* [3]> view("values", slots);
  const std::vector<int> ranks(slots, (rank() + 1) % size());
  Options options;
  options.verify = true;
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
  EXPECT_TRUE(all_ranks(seen == Views{"valet::plan", "end"})) << testing::PrintToString(seen);
}

/// Host memory that fails while the blocks are on their way.
class FailingBlocks final : public BlockMover {
 public:
  explicit FailingBlocks(std::shared_ptr<const void> memory, BlockMover& inner)
      : memory_(std::move(memory)), inner_(inner) {}
  [[nodiscard]] std::uint64_t slots() const override { return inner_.slots(); }
  [[nodiscard]] std::size_t block_bytes() const override { return inner_.block_bytes(); }
  void begin_stage(const char* name) override { inner_.begin_stage(name); }
  void end_stage() override { inner_.end_stage(); }
  void gather(SlotList, std::byte*) override { throw std::runtime_error("gather failed"); }
  void scatter(const std::byte*, SlotList) override { throw std::runtime_error("scatter failed"); }
  void copy(SlotList from, SlotList to, std::span<std::byte> scratch) override {
    inner_.copy(from, to, scratch);
  }
  [[nodiscard]] bool reachable_by_mpi() const override { return false; }
  void pieces(std::uint64_t, Vector<MemoryPiece>&) const override {}

 private:
  std::shared_ptr<const void> memory_;
  BlockMover& inner_;
};

TEST(ProfilingRegions, EndWhenTheMemoryFailsInTheMiddle) {
  // On this rank alone: the others would wait for its blocks.
  const Kokkos::View<double*> view("values", 40);
  const BlockStorage inner = kokkos::blocks(view);
  const BlockStorage storage(std::make_shared<FailingBlocks>(nullptr, inner.mover()));
  Options options;
  options.verify = true;
  const std::vector<int> ranks(40, 0);
  const Tool tool;
  EXPECT_THROW(migrate(MPI_COMM_SELF, storage, 40, ranks, options), std::runtime_error);
  EXPECT_EQ(seen, (Views{"valet::plan", "end", "valet::verify", "end"}));
}

TEST(ProfilingRegions, SurroundARedistribution) {
  const std::int64_t n = 100;
  const GridLayout blocks{BlockCyclic({n}, {7}, {size()})};
  const GridLayout dealt{BlockCyclic({n}, {1}, {size()})};
  const Kokkos::View<int*> from("from", n), to("to", n);
  const Tool tool;
  kokkos::redistribute(MPI_COMM_WORLD, blocks, dealt, from, to);
  kokkos::redistribute_in_place(MPI_COMM_WORLD, blocks, dealt, from, IndexOrder::row_major);
  EXPECT_TRUE(
      all_ranks(seen == Views{"valet::redistribute", "end", "valet::redistribute_in_place", "end"}))
      << testing::PrintToString(seen);
}

}  // namespace
}  // namespace valet::test
