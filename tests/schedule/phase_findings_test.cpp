// SPDX-License-Identifier: BSD-3-Clause

// What Pinar and Hendrickson found in their experiments, on phases counted over many instances.

#include "instances.hpp"
#include "testing.hpp"
#include "tools/schedules.hpp"

namespace valet::schedule {
namespace {

constexpr int instances = 40;
constexpr std::uint32_t side = 6;
constexpr std::uint64_t most_blocks = 1000;

struct Averages {
  double phases = 0;
  double messages = 0;
  double volume = 0;  ///< over the blocks to move
};

Averages averages(Heuristic heuristic, int parking, std::uint64_t free) {
  Averages result;
  for (std::uint64_t seed = 0; seed < instances; ++seed) {
    std::mt19937_64 random(seed);
    const test::Instance instance = test::neighbourhood(random, side, most_blocks, free);
    const PhaseCounts counts = count_phases(
        instance.matrix, instance.free, {.heuristic = heuristic, .parking = parking, .seed = seed});
    EXPECT_TRUE(counts.complete) << to_string(heuristic) << ", seed " << seed;
    result.phases += static_cast<double>(counts.phases) / instances;
    result.messages += static_cast<double>(counts.messages) /
                       static_cast<double>(instance.matrix.transfers().size()) / instances;
    result.volume += static_cast<double>(counts.volume) /
                     static_cast<double>(instance.matrix.volume()) / instances;
  }
  return result;
}

TEST(PhaseFindings, RandomHeuristicsNeedFewerPhasesThanFirstFit) {
  std::printf("Figure 12: mean of %d instances, seeds 0 to %d, 36 ranks, no parking\n", instances,
              instances - 1);
  for (const std::uint64_t free : {10, 30, 100, 300}) {
    std::printf("  %3llu free:", static_cast<unsigned long long>(free));
    const double first_fit = averages(Heuristic::first_fit, 0, free).phases;
    for (const Heuristic heuristic : all_heuristics()) {
      const Averages mean = averages(heuristic, 0, free);
      std::printf("  %s %.1f (%.2f messages)", to_string(heuristic), mean.phases, mean.messages);
      if (heuristic == Heuristic::random || heuristic == Heuristic::fortune_wheel) {
        EXPECT_LT(mean.phases, first_fit) << to_string(heuristic) << ", " << free << " free";
      }
    }
    std::printf("\n");
  }
}

TEST(PhaseFindings, ParkingReducesPhasesWhereMemoryIsTight) {
  std::printf("Figure 13: mean phases of %d instances, parking never / every 3rd / 2nd / phase\n",
              instances);
  for (const Heuristic heuristic : all_heuristics()) {
    if (heuristic == Heuristic::continuous) continue;  // it rearranges memory by itself
    for (const std::uint64_t free : {10, 100}) {
      const Averages never = averages(heuristic, 0, free);
      const Averages third = averages(heuristic, 3, free);
      const Averages second = averages(heuristic, 2, free);
      const Averages always = averages(heuristic, 1, free);
      std::printf("  %-13s %3llu free: %5.1f %5.1f %5.1f %5.1f; volume +%.0f%%\n",
                  to_string(heuristic), static_cast<unsigned long long>(free), never.phases,
                  third.phases, second.phases, always.phases, 100 * (always.volume - 1));
      EXPECT_LT(always.phases, never.phases) << to_string(heuristic);
      EXPECT_LE(always.phases, second.phases) << to_string(heuristic);
      if (free == 10) {
        EXPECT_LT(always.phases, 0.7 * never.phases) << to_string(heuristic);
      }
    }
  }
}

}  // namespace
}  // namespace valet::schedule
