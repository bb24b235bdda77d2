// SPDX-License-Identifier: BSD-3-Clause

// The promise holds where neighbours are many: a rank that exchanges data with thousands of others
// takes at most 256 bytes for each of them, as the ledger counts and as operator new sees.

#include "circulant_mpi.hpp"
#include "counted_new.hpp"
#include "pages/page_sizes.hpp"
#include "promise.hpp"
#include "test_comm.hpp"

namespace valet::test {
namespace {

constexpr std::array rank_counts{2, 100, 5000};

/// What the ledger does not count, as in memory_test.cpp.
constexpr std::ptrdiff_t uncounted_bytes = 8 << 10;

/// Calls run(communicator) in a job of so many ranks and compares what it took with the promise, of
/// which `slot_bytes` is the part for slots. Bytes of ranks are where `has_table` or a layout was
/// found.
template <class Run>
void expect_promise(int ranks, std::size_t budget, std::uint64_t slot_bytes, bool has_table,
                    Run&& run) {
  SCOPED_TRACE(std::to_string(ranks) + " ranks");
  const CirculantRanks job(ranks);
  const OwnComm communicator;
  run(communicator);  // what belongs to the communicator is made once
  restart_peak();
  const std::ptrdiff_t before = new_counters().live_bytes;
  const Report report = run(communicator);
  const std::ptrdiff_t peak = new_counters().peak_bytes - before;
  const auto neighbours = static_cast<std::uint64_t>(ranks - 1);
  const bool counts_ranks = has_table || report.plan_from_layout;
  const std::uint64_t promised =
      slot_bytes +
      promised_bytes(budget, neighbours, counts_ranks ? static_cast<std::uint64_t>(ranks) : 0);
  EXPECT_EQ(report.neighbours, neighbours);
  EXPECT_EQ(report.extra_bytes_bound, promised);
  EXPECT_LE(report.peak_extra_bytes, promised);
  EXPECT_LE(peak, static_cast<std::ptrdiff_t>(report.peak_extra_bytes) + uncounted_bytes);
  EXPECT_GE(CirculantRanks::messages(), 2 * neighbours);
  EXPECT_EQ(CirculantRanks::unmatched(), 0U);
}

class ManyNeighbours : public testing::TestWithParam<Method> {
 protected:
  /// One block for each rank, the last rank first.
  static std::vector<int> reversed(int ranks) {
    std::vector<int> destinations;
    while (ranks > 0) destinations.push_back(--ranks);
    return destinations;
  }
  /// Little, so that the neighbours are most of what is promised.
  static std::size_t budget(int ranks) {
    const auto blocks = static_cast<std::size_t>(ranks);
    return GetParam() == Method::direct ? 2 * blocks * sizeof(double) : 1000;
  }
  static Options options(int ranks) {
    Options options{.budget_bytes = budget(ranks), .method = GetParam()};
    options.share_memory = options.keep_memory = false;
    return options;
  }
};

TEST_P(ManyNeighbours, TakeWhatIsPromisedByRank) {
  for (const int ranks : rank_counts) {
    std::vector<double> data(static_cast<std::size_t>(ranks), 1.0);
    const std::vector<int> destinations = reversed(ranks);
    const BlockStorage storage{field(data.data(), data.size())};
    const std::uint64_t slot_bytes = GetParam() == Method::phased ? 16 : 8;
    expect_promise(
        ranks, budget(ranks), slot_bytes * data.size(), false, [&](MPI_Comm communicator) {
          Plan plan =
              plan_to_ranks(communicator, storage, data.size(), destinations, options(ranks));
          return execute(plan, storage);
        });
  }
}

TEST_P(ManyNeighbours, TakeWhatIsPromisedBySlot) {
  for (const int ranks : rank_counts) {
    std::vector<double> data(static_cast<std::size_t>(ranks), 1.0);
    std::vector<Address> addresses;
    for (const int rank : reversed(ranks)) addresses.push_back({rank, addresses.size()});
    const BlockStorage storage{field(data.data(), data.size())};
    expect_promise(ranks, budget(ranks), 16 * data.size(), false, [&](MPI_Comm communicator) {
      Plan plan = plan_to_slots(communicator, storage, data.size(), addresses, options(ranks));
      return execute(plan, storage);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(All, ManyNeighbours,
                         testing::Values(Method::stream, Method::direct, Method::phased),
                         ParameterName());

TEST(ManyNeighboursOfAlltoall, TakeWhatIsPromised) {
  for (const AlltoallMethod method : {AlltoallMethod::direct, AlltoallMethod::stream})
    for (const int ranks : rank_counts) {
      SCOPED_TRACE(to_string(method));
      constexpr std::int64_t count = 3;
      const auto elements = static_cast<std::size_t>(count * ranks);
      std::vector<double> data(elements, 1.0);
      const std::size_t budget = 1000 + 4 * elements * sizeof(double);
      const std::vector<std::int64_t> counts(static_cast<std::size_t>(ranks), count);
      expect_promise(ranks, budget, 0, true, [&](MPI_Comm communicator) {
        return alltoallv_in_place(communicator, {data.data(), elements * sizeof(double), 8}, counts,
                                  counts,
                                  {.budget_bytes = budget,
                                   .share_memory = false,
                                   .keep_memory = false,
                                   .method = method});
      });
    }
}

/// From one block on each rank to elements dealt out one by one: each gets one of every other.
TEST(ManyNeighboursOfLayouts, TakeWhatIsPromised) {
  for (const bool in_place : {false, true})
    for (const int ranks : rank_counts) {
      SCOPED_TRACE(in_place ? "in place" : "into a second array");
      const std::int64_t extent = std::int64_t{ranks} * ranks;
      const GridLayout from{BlockCyclic({extent}, {ranks}, {ranks})};
      const GridLayout to{BlockCyclic({extent}, {1}, {ranks})};
      std::vector<double> source(static_cast<std::size_t>(ranks), 1.0), target(source.size());
      const std::size_t bytes = source.size() * sizeof(double);
      constexpr std::size_t budget = 2'500'000;  // tables of coordinates are in it
      const LayoutOptions options{
          .budget_bytes = budget, .share_memory = false, .keep_memory = false};
      expect_promise(ranks, budget, 0, true, [&](MPI_Comm communicator) {
        return in_place ? redistribute_in_place(communicator, from, to, sizeof(double),
                                                {.data = target.data(), .bytes = bytes}, options)
                        : redistribute(communicator, from, to, sizeof(double),
                                       {.data = source.data(), .bytes = bytes},
                                       {.data = target.data(), .bytes = bytes}, options);
      });
    }
}

/// A block for each rank, with nothing but the scratch that two pages for each and lists of them
/// take.
TEST(ManyNeighboursOfRaggedBlocks, TakeWhatIsPromised) {
  for (const std::uint64_t length : {40, 3001})
    for (const int ranks : rank_counts) {
      const auto blocks = static_cast<std::size_t>(ranks);
      std::vector<std::byte> arena(blocks * length);
      std::vector<std::uint64_t> lengths(blocks, length);
      std::vector<int> destinations;
      for (int rank = ranks; rank > 0;) destinations.push_back(--rank);
      const RaggedStorage storage{ragged_field(std::span(arena), std::span(lengths))};
      constexpr std::size_t page = 512;
      const std::size_t budget = (2 * blocks + 2) * page + pages::ragged_list_bytes(2 * blocks, 2);
      Options options{.budget_bytes = budget, .method = Method::stream};
      options.share_memory = options.keep_memory = false;
      const std::uint64_t pages = arena.size() / page + 1 + blocks * 8 / page + 1;
      expect_promise(ranks, budget, 20 * pages, false, [&](MPI_Comm communicator) {
        return migrate(communicator, storage, blocks, destinations, options);
      });
    }
}

}  // namespace
}  // namespace valet::test
