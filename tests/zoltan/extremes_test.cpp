// SPDX-License-Identifier: BSD-3-Clause

// Partitions that Zoltan alone does not end, or ends with the wrong error: few objects for many
// parts, coordinates and weights of any size, objects at one place, ranks without objects.

#include "gathered.hpp"
#include <valet/zoltan/rebalancer.hpp>

namespace valet::test {
namespace {

using namespace zoltan;

/// A partition of few objects, drawn from `random`, which is the same on all ranks.
struct Extreme {
  explicit Extreme(std::mt19937_64& random) {
    const auto pick = [&](auto... choices) {
      const std::array all{choices...};
      return all[random() % all.size()];
    };
    const int ranks = size();
    objects = pick(1, 2, 3, ranks, 2 * ranks + 1, 4 * ranks + 3, 50, 300);
    parts = pick(0, 0, 1, ranks, ranks + 1, 2 * ranks + 1, 7);
    local_parts = pick(0, 0, 1);
    holder = pick(-1, 0, ranks - 1);
    dimensions = pick(1U, 2U, 3U);
    method = pick("RCB", "RIB", "HSFC");
    granularity = pick(0U, 1U, 2U);
    scale = pick(1.0, 1e9, 1e-120, 1e-310, 1e120, 1e160, 1e300, 1.7e308);
    places = pick(0, 0, 1, 2, 3);
    weight_scale = pick(0.0, 1.0, 1e-320, 1e-45, 1e39, 1e250, 1e307);
    spread = pick(0, 10, 40, 200, 2000);
  }

  [[nodiscard]] std::string text() const {
    return std::string(method) + ", " + std::to_string(objects) + " objects in " +
           std::to_string(dimensions) + " dimensions on " +
           (holder < 0 ? "all ranks" : "rank " + std::to_string(holder)) + ", " +
           (local_parts > 0 ? "local" : std::to_string(parts)) + " parts, coordinates to " +
           std::to_string(std::log10(scale)) + ", places " + std::to_string(places) +
           ", weights about 10^" + std::to_string(std::log10(weight_scale)) + " over 2^" +
           std::to_string(spread) + ", granularity " + std::to_string(granularity);
  }

  int objects, parts, local_parts, holder;
  std::size_t dimensions;
  const char* method;
  unsigned granularity;  ///< 0: none is given
  double scale;          ///< of the coordinates
  int places;            ///< 0: as many as objects
  double weight_scale;   ///< 0: no weights
  int spread;            ///< of the weights, in powers of two
};

/// The part of the objects that this rank has.
struct ExtremeCloud {
  ExtremeCloud(const Extreme& extreme, std::uint64_t salt) {
    std::mt19937_64 random(salt);
    std::uniform_real_distribution<double> chance(0, 1);
    std::array<double, 9> place_of{};
    for (double& x : place_of) x = chance(random);
    for (int k = 0; k < extreme.objects; ++k) {
      std::array<double, 3> at{chance(random), chance(random), chance(random)};
      const int place = extreme.places > 0 ? k % extreme.places : 0;
      if (extreme.places > 0) std::copy_n(place_of.begin() + 3 * place, 3, at.begin());
      double weight =
          std::ldexp(chance(random), -static_cast<int>(chance(random) * extreme.spread));
      if (random() % 8 == 0) weight = 0;
      weight *= extreme.weight_scale;
      if (k == 0) weight = extreme.weight_scale;  // some weight is above zero
      if (extreme.holder < 0 ? k % size() != rank() : extreme.holder != rank()) continue;
      for (std::size_t d = 0; d < extreme.dimensions; ++d)
        places.push_back((random() % 2 == 0 || extreme.places > 0 ? 1 : -1) * at[d] *
                         extreme.scale);
      weights.push_back(weight);
      ids.push_back(k);
    }
    count = ids.size();
    const auto room = static_cast<std::size_t>(extreme.objects);
    places.resize(room * extreme.dimensions);
    weights.resize(room);
    ids.resize(room);
  }
  std::uint64_t count;
  std::vector<double> places, weights;
  std::vector<int> ids;
};

TEST(Extremes, EndWithEveryObjectSomewhere) {
  std::mt19937_64 random(seed());
  const std::uint64_t cases = cases_wanted(60);
  for (std::uint64_t k = 0; k < cases && !::testing::Test::HasFailure(); ++k) {
    const Extreme extreme(random);
    SCOPED_TRACE(seed_note(seed(), static_cast<long long>(k)) + ": " + extreme.text());
    if (rank() == 0 && std::getenv("VALET_TEST_TELL") != nullptr)
      std::fprintf(stderr, "%d: %s\n", static_cast<int>(k), extreme.text().c_str());
    ExtremeCloud cloud(extreme, random());
    RebalancerOptions options{.method = extreme.method};
    if (extreme.granularity > 0) options.granularity = extreme.granularity;
    if (extreme.local_parts > 0)
      options.parameters = {{"NUM_LOCAL_PARTS", std::to_string(rank() % 3)}};
    else if (extreme.parts > 0)
      options.parameters = {{"NUM_GLOBAL_PARTS", std::to_string(extreme.parts)}};
    if (extreme.local_parts > 0 && size() == 1) continue;  // no parts
    Rebalancer rebalancer(MPI_COMM_WORLD, options);
    const auto room = cloud.ids.size();
    rebalancer.coordinates(array_columns(cloud.places.data(), room, extreme.dimensions));
    if (extreme.weight_scale > 0) rebalancer.weights(array_columns(cloud.weights.data(), room, 1));
    for (int step = 0; step < 2; ++step)
      cloud.count = rebalancer
                        .rebalance(cloud.count, {field(cloud.places, extreme.dimensions),
                                                 field(cloud.weights), field(cloud.ids)})
                        .count;
    EXPECT_EQ(lost_or_doubled(cloud.ids, cloud.count, room), 0);
  }
}

}  // namespace
}  // namespace valet::test
