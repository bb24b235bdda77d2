// SPDX-License-Identifier: BSD-3-Clause

// The memory promise of both functions on the process itself: what is allocated stays within
// budget + 64 KiB + 64*P, for an array many times as large, and the ledger knows of it.

#include "counted_new.hpp"
#include "moved_arrays.hpp"
#include "promise.hpp"

namespace valet::test {
namespace {

class LayoutMemory : public ::testing::TestWithParam<bool> {};

TEST_P(LayoutMemory, IsWithinThePromiseAndKnownToTheLedger) {
  const bool in_place = GetParam();
  // MPI allocates in its own way; what it does inside of operator new is a few kilobytes.
  constexpr std::ptrdiff_t uncounted_bytes = 8 << 10;
  const GridLayout from{BlockCyclic({1000, 800}, {64, 64}, {size(), 1})};
  const GridLayout to{BlockCyclic({1000, 800}, {30, 50}, {1, size()})};
  const auto elements = [](const GridLayout& grid) {
    return static_cast<std::size_t>(grid.layout.local_elements(rank()));
  };
  for (const bool share_memory : {false, true})
    for (const std::size_t budget : {std::size_t{256} << 10, std::size_t{1} << 20}) {
      std::vector<double> source(elements(from)), target(std::max(elements(from), elements(to)));
      const LayoutOptions options{.budget_bytes = budget, .share_memory = share_memory};
      // A new one, which keeps nothing yet.
      const OwnComm communicator;
      for (int repeat = 0; repeat < 2; ++repeat) {  // once to fill caches of MPI
        const std::ptrdiff_t before = new_counters().live_bytes;
        restart_peak();
        const Report report =
            in_place
                ? redistribute_in_place(
                      communicator, from, to, sizeof(double),
                      {.data = target.data(), .bytes = target.size() * sizeof(double)}, options)
                : redistribute(communicator, from, to, sizeof(double),
                               {.data = source.data(), .bytes = source.size() * sizeof(double)},
                               {.data = target.data(), .bytes = target.size() * sizeof(double)},
                               options);
        const long long used = new_counters().peak_bytes - before;
        const long long shared = static_cast<long long>(report.shared_bytes);
        const auto promised = static_cast<long long>(report.extra_bytes_bound);
        EXPECT_LE(max_over_ranks(used + shared - promised), uncounted_bytes);
        expect_within_bound(report);
        if (repeat == 0) continue;
        const auto known = static_cast<long long>(report.peak_extra_bytes);
        EXPECT_LE(max_over_ranks(used + shared - known), uncounted_bytes)
            << used << " and " << shared << " used, " << known << " known";
      }
    }
}

// From the system, shared memory included, from the first call of a communicator on.
TEST_P(LayoutMemory, IsAskedForWithinThePromise) {
  const GridLayout from{BlockCyclic({500, 400}, {64, 64}, {size(), 1}), {}};
  const GridLayout to{BlockCyclic({500, 400}, {30, 50}, {1, size()}), {}};
  const std::uint64_t neighbours = neighbours_of_rank(from, to);
  std::vector<double> source(static_cast<std::size_t>(from.layout.local_elements(rank())));
  std::vector<double> target(
      std::max(source.size(), static_cast<std::size_t>(to.layout.local_elements(rank()))));
  const TargetArray array{.data = target.data(), .bytes = target.size() * sizeof(double)};
  for (const Method method :
       {Method::automatic, Method::stream, Method::direct, Method::phased, Method::cyclic})
    for (const std::size_t budget : {std::size_t{192} << 10, std::size_t{8} << 20}) {
      if (method == Method::direct && budget < 1'000'000) continue;  // is refused
      const LayoutOptions options{.budget_bytes = budget, .method = method};
      const OwnComm communicator;
      const AskedBytes asked;
      const Report report =
          GetParam()
              ? redistribute_in_place(communicator, from, to, sizeof(double), array, options)
              : redistribute(communicator, from, to, sizeof(double),
                             {.data = source.data(), .bytes = source.size() * sizeof(double)},
                             array, options);
      const std::uint64_t most_asked = asked.most();
      const std::uint64_t promised =
          promised_bytes(budget, neighbours, static_cast<std::uint64_t>(size()));
      EXPECT_TRUE(all_ranks(most_asked <= promised))
          << report.method << ": " << most_asked << " of " << promised;
      EXPECT_TRUE(all_ranks(report.extra_bytes_bound == promised)) << report.extra_bytes_bound;
    }
}

// Buffers stay with the communicator, until a call does not want that or has less of a budget.
TEST_P(LayoutMemory, OfBuffersIsKeptForTheNextCall) {
  const GridLayout from{BlockCyclic({400, 300}, {64, 64}, {size(), 1})};
  const GridLayout to{BlockCyclic({400, 300}, {30, 50}, {1, size()})};
  std::vector<double> source(static_cast<std::size_t>(from.layout.local_elements(rank())));
  std::vector<double> target(
      std::max(source.size(), static_cast<std::size_t>(to.layout.local_elements(rank()))));
  const OwnComm communicator;
  /// Bytes that a call leaves behind, and those that it takes for a time.
  const auto used_by = [&](bool keep, std::size_t budget) {
    const LayoutOptions options{.budget_bytes = budget, .keep_memory = keep};
    const std::ptrdiff_t before = new_counters().live_bytes;
    restart_peak();
    const TargetArray array{.data = target.data(), .bytes = target.size() * sizeof(double)};
    if (GetParam())
      redistribute_in_place(communicator, from, to, sizeof(double), array, options);
    else
      redistribute(communicator, from, to, sizeof(double),
                   {.data = source.data(), .bytes = source.size() * sizeof(double)}, array,
                   options);
    return std::pair(new_counters().live_bytes - before, new_counters().peak_bytes - before);
  };
  constexpr std::size_t all = 4 << 20;
  static_cast<void>(used_by(false, all));  // what is made once, by MPI too
  const auto bytes =
      static_cast<std::ptrdiff_t>(sizeof(double) * (source.size() + target.size()) / 2);
  const auto [kept, most] = used_by(true, all);
  EXPECT_GT(kept, bytes / 2);
  const auto [kept_again, most_again] = used_by(true, all);
  EXPECT_EQ(kept_again, 0);
  EXPECT_LT(most_again, bytes / 2) << "the same buffers";
  EXPECT_LE(used_by(false, all).first, -kept);
  EXPECT_GE(used_by(true, all).first, kept);
  EXPECT_LT(used_by(true, 128 << 10).first, 0) << "what is kept has to fit a smaller budget";
}

INSTANTIATE_TEST_SUITE_P(OutOfPlaceAndInPlace, LayoutMemory, ::testing::Bool(),
                         [](const ::testing::TestParamInfo<bool>& tested) -> std::string {
                           return tested.param ? "in_place" : "out_of_place";
                         });

}  // namespace
}  // namespace valet::test
