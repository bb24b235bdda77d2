// SPDX-License-Identifier: BSD-3-Clause

// Rebalances in which some ranks have many objects, some few and some none: whatever a rank gives
// to Zoltan, MPI or an agreement must not depend on how many it has.

#include "places.hpp"
#include <valet/zoltan/rebalancer.hpp>

namespace valet::test {
namespace {

using namespace zoltan;

/// None, one, the most that are given to Zoltan object by object, one more, and many.
constexpr std::array<std::uint64_t, 5> counts{0, 1, 4096, 4097, 100'000};

/// How many objects each rank has at first.
using Mixture = std::vector<std::uint64_t>;

/// Each count next to some others: with two steps, every pair of different ones.
std::vector<Mixture> mixtures(std::size_t steps) {
  std::vector<Mixture> all;
  const auto ranks = static_cast<std::size_t>(size());
  for (std::size_t first = 0; first < counts.size(); ++first)
    for (std::size_t step = 1; step <= steps; ++step) {
      Mixture mixture;
      for (std::size_t r = 0; r < ranks; ++r)
        mixture.push_back(counts[(first + r * step) % counts.size()]);
      all.push_back(mixture);
    }
  return all;
}

std::uint64_t mix(std::uint64_t word) {
  word = (word ^ (word >> 31U)) * 0x9E3779B97F4A7C15U;
  return word ^ (word >> 29U);
}
/// Objects whose place and weight follow from their ids, in memory for all of all ranks.
struct HeldInTwoWays {
  explicit HeldInTwoWays(const Mixture& mixture) {
    std::uint64_t first = 0;
    for (std::size_t r = 0; r < mixture.size(); ++r) {
      if (r < static_cast<std::size_t>(rank())) first += mixture[r];
      total += mixture[r];
    }
    count = mixture[static_cast<std::size_t>(rank())];
    place.resize(2 * total);
    weight.resize(total);
    id.resize(total);
    lengths.resize(total);
    for (std::uint64_t k = 0; k < count; ++k) {
      id[k] = first + k;
      weight[k] = 0.5 + chance(id[k], 2);
      for (std::uint64_t d = 0; d < 2; ++d) place[2 * k + d] = chance(id[k], d);
      lengths[k] = sizeof(std::uint64_t);
    }
  }
  void tell(Rebalancer& rebalancer, bool weighted) const {
    rebalancer.coordinates(array_columns(place.data(), total, 2));
    if (weighted) rebalancer.weights(array_columns(weight.data(), total, 1));
  }
  [[nodiscard]] BlockStorage blocks() { return {field(place, 2), field(weight), field(id)}; }
  [[nodiscard]] RaggedStorage ragged() {
    return {{ragged_field(std::span(id), std::span(lengths))}, {field(place, 2), field(weight)}};
  }
  /// Whether each object is somewhere once, with its place. Collective.
  [[nodiscard]] bool are_all_there() const {
    long long sum = 0;
    bool sound = true;
    for (std::uint64_t k = 0; k < count; ++k) {
      sum += static_cast<long long>(mix(id[k]) >> 34U);
      sound = sound && id[k] < total && place[2 * k] == chance(id[k], 0) &&
              place[2 * k + 1] == chance(id[k], 1);
    }
    for (std::uint64_t k = 0; k < total; ++k)
      if (rank() == 0) sum -= static_cast<long long>(mix(k) >> 34U);
    const long long found = sum_over_ranks(static_cast<long long>(count));
    return all_ranks(sound) && sum_over_ranks(sum) == 0 && found == static_cast<long long>(total);
  }

  std::uint64_t total = 0;
  std::uint64_t count = 0;
  std::vector<double> place, weight;
  std::vector<std::uint64_t> id, lengths;
};

std::string text_of(const Mixture& mixture) {
  std::string text = "ranks have";
  for (const std::uint64_t count : mixture) text += " " + std::to_string(count);
  return text;
}

class MixedHolders : public ::testing::TestWithParam<const char*> {
 protected:
  template <class Storage>
  static void rebalance(const Mixture& mixture, bool weighted, Storage&& storage) {
    SCOPED_TRACE(seed_note() + ", " + text_of(mixture) + (weighted ? ", weighted" : ""));
    HeldInTwoWays objects(mixture);
    if (objects.total == 0) return;
    const RebalancerOptions options{.method = GetParam()};
    Rebalancer rebalancer(MPI_COMM_WORLD, options);
    objects.tell(rebalancer, weighted);
    const RebalanceResult result = rebalancer.rebalance(objects.count, storage(objects));
    objects.count = result.count;
    EXPECT_TRUE(objects.are_all_there());
    if (goes_by_place() && objects.total > 1000) {
      EXPECT_LE(result.after.weight, options.imbalance_tolerance + 0.01);
    }
  }
  static bool goes_by_place() {
    const std::string method = GetParam();
    return method == "RCB" || method == "RIB" || method == "HSFC";
  }
};

TEST_P(MixedHolders, AreBalancedWithAndWithoutWeights) {
  for (const Mixture& mixture : mixtures(goes_by_place() ? 2 : 1))
    for (const bool weighted : {false, true})
      rebalance(mixture, weighted, [](HeldInTwoWays& objects) { return objects.blocks(); });
}

TEST_P(MixedHolders, OfBlocksOfDifferentSizesAreBalanced) {
  bool weighted = false;
  for (const Mixture& mixture : mixtures(1)) {
    rebalance(mixture, weighted, [](HeldInTwoWays& objects) { return objects.ragged(); });
    weighted = !weighted;
  }
}

INSTANTIATE_TEST_SUITE_P(Zoltan, MixedHolders,
                         ::testing::Values("RCB", "RIB", "HSFC", "BLOCK", "CYCLIC", "RANDOM"),
                         ParameterName());

}  // namespace
}  // namespace valet::test
