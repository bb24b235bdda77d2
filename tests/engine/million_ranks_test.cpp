// SPDX-License-Identifier: BSD-3-Clause

// What a rank takes, and how many messages it sends, is a matter of its neighbours and blocks and
// not of how many other ranks there are: the real code in jobs of up to a million ranks, of which
// this process is one.

#include "circulant_mpi.hpp"
#include "circulant_neighbours.hpp"
#include "counted_new.hpp"
#include "test_comm.hpp"

namespace valet::test {
namespace {

struct Measured {
  Report report;
  std::ptrdiff_t process_peak = 0;  ///< of operator new, above what was live before
};

struct Case {
  const char* name;
  int neighbours;
  std::size_t blocks;
  std::size_t block_bytes;
  std::size_t budget_bytes;
  Order order = Order::any;
};

Measured measure(int ranks, const Case& c) {
  const CirculantRanks job(ranks);
  const OwnComm communicator;
  std::vector<std::byte> data(c.blocks * c.block_bytes);
  const std::vector<int> map = map_to_neighbours(0, ranks, c.neighbours, c.blocks);
  const BlockStorage storage{field(data.data(), c.blocks, c.block_bytes)};
  Options options{.budget_bytes = c.budget_bytes, .method = Method::stream, .order = c.order};
  options.share_memory = options.keep_memory = false;
  migrate(communicator, storage, c.blocks, map, options);  // makes the channel
  Measured measured;
  restart_peak();
  const std::ptrdiff_t before = new_counters().live_bytes;
  measured.report = migrate(communicator, storage, c.blocks, map, options);
  measured.process_peak = new_counters().peak_bytes - before;
  EXPECT_EQ(CirculantRanks::unmatched(), 0U);
  return measured;
}

class MillionRanks : public testing::TestWithParam<Case> {};

TEST_P(MillionRanks, TakeWhatAsManyNeighboursTakeInASmallJob) {
  const Case& c = GetParam();
  const Measured few = measure(c.neighbours + 4, c);
  EXPECT_EQ(few.report.neighbours, static_cast<std::uint64_t>(c.neighbours));
  EXPECT_LE(few.report.peak_extra_bytes, few.report.extra_bytes_bound);
  for (const int ranks : {1024, 100'000, 1'000'000}) {
    SCOPED_TRACE(std::to_string(ranks) + " ranks");
    const Measured many = measure(ranks, c);
    EXPECT_EQ(many.report.neighbours, few.report.neighbours);
    EXPECT_EQ(many.report.peak_extra_bytes, few.report.peak_extra_bytes);
    EXPECT_EQ(many.report.extra_bytes_bound, few.report.extra_bytes_bound);
    EXPECT_EQ(many.report.messages, few.report.messages);
    EXPECT_EQ(many.process_peak, few.process_peak) << "not counted by the ledger";
  }
}

constexpr std::array cases{
    Case{"FewParticles", 4, 2'000, 64, std::size_t{4} << 20},
    Case{"ManyParticles", 4, 80'000, 64, std::size_t{4} << 20},
    Case{"ParticlesForAHundred", 100, 80'000, 64, std::size_t{4} << 20},
    Case{"PatchesInLittleScratch", 4, 400, 16'384, std::size_t{1} << 20},
    Case{"PatchesForAHundred", 100, 1'000, 16'384, std::size_t{1} << 20},
    Case{"ParticlesInTheirOrder", 100, 20'000, 64, std::size_t{1} << 20, Order::fill},
};
INSTANTIATE_TEST_SUITE_P(All, MillionRanks, testing::ValuesIn(cases), ParameterName());

}  // namespace
}  // namespace valet::test
