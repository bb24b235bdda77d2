// SPDX-License-Identifier: BSD-3-Clause

// The imbalance that src/docs/partitions.md promises: for every distribution of objects in space,
// method, kind of weights and number of parts, no part is heavier than the tolerance and 0.01, or
// than one object above the mean; where one is, the call says so. Each distribution with each
// method, and all combinations with VALET_TEST_CASES=360.

#include "places.hpp"
#include <valet/zoltan/rebalancer.hpp>

#include <numbers>

namespace valet::test {
namespace {

using namespace zoltan;

/// Above what ranks give to Zoltan object by object.
constexpr std::uint64_t weighed_per_rank = 5000;

double range(std::uint64_t id, std::uint64_t salt) { return 2 * chance(id, salt) - 1; }

struct Distribution {
  const char* name;
  Place (*place)(std::uint64_t id, std::uint64_t objects);
};
using Id = std::uint64_t;
Place uniform(Id id) { return place_of(Spread::uniform, id); }
template <Spread kind>
Place spread(Id id, Id) {
  return place_of(kind, id);
}
/// From 1 down to e^-40, so that most are in a corner.
double logarithmic(Id id, Id salt) { return std::exp(-40 * chance(id, salt)); }
const std::array<Distribution, 15> distributions{{
    {"uniform", spread<Spread::uniform>},
    {"a dense corner", spread<Spread::dense_corner>},
    {"a needle", spread<Spread::needle>},
    {"a front", spread<Spread::front>},
    {"three planes", spread<Spread::planes>},
    {"a lattice",
     [](Id id, Id objects) -> Place {
       const auto side = static_cast<Id>(std::ceil(std::cbrt(static_cast<double>(objects))));
       return {static_cast<double>(id % side), static_cast<double>(id / side % side),
               static_cast<double>(id / side / side)};
     }},
    {"one place", spread<Spread::one_place>},
    {"a third at one place",
     [](Id id, Id) {
       return id % 10 < 3 ? Place{0.4, 0.6, 0.3} : uniform(id);
     }},
    {"two places",
     [](Id id, Id) -> Place {
       return {static_cast<double>(id % 2), 1, 0};
     }},
    {"seventeen places", [](Id id, Id) { return uniform(id % 17); }},
    {"a line",
     [](Id id, Id) -> Place {
       return {chance(id, 0), 0.5, 0.25};
     }},
    {"logarithmic",
     [](Id id, Id) -> Place {
       return {logarithmic(id, 0), logarithmic(id, 1), logarithmic(id, 2)};
     }},
    {"a sphere",
     [](Id id, Id) -> Place {
       const double z = range(id, 0);
       const double angle = std::numbers::pi * range(id, 1);
       return {std::sqrt(1 - z * z) * std::cos(angle), std::sqrt(1 - z * z) * std::sin(angle), z};
     }},
    {"far outliers",
     [](Id id, Id) -> Place {
       return {std::tan(1.57 * range(id, 0)), std::tan(1.57 * range(id, 1)),
               std::tan(1.57 * range(id, 2))};
     }},
    {"almost at infinity",
     [](Id id, Id) -> Place {
       return {1e200 * chance(id, 0), 1e250 * chance(id, 1), 1e300 * chance(id, 2)};
     }},
}};

struct Weighting {
  const char* name;
  double (*weight)(std::uint64_t id);  ///< null: none are given
};
constexpr std::array<Weighting, 4> weightings{{
    {"no weights", nullptr},
    {"weights around 1", [](Id id) { return 0.5 + chance(id, 3); }},
    {"weights of galaxies in grams", [](Id id) { return 1e44 * std::exp(-12 * chance(id, 3)); }},
    {"mostly zero weights, and one heavy object",
     [](Id id) { return id == 77       ? 500.0
                        : id % 10 == 0 ? chance(id, 3)
                                       : 0.0; }},
}};
constexpr std::array methods{"RCB", "RIB", "HSFC"};

struct ImbalanceCase {
  const Distribution& distribution;
  const Weighting& weighting;
  const char* method;
  bool more_parts;  ///< than ranks

  /// The combinations in an order in which few of them have all kinds of everything.
  static ImbalanceCase number(std::uint64_t k) {
    const std::uint64_t pair = k / 45;  // of weights and parts
    const std::uint64_t rest = k % 45;
    return {distributions[rest % 15], weightings[(pair + rest) % 4], methods[rest / 15],
            (pair / 4 + rest / 4) % 2 == 0};
  }
  [[nodiscard]] int parts() const { return more_parts ? 2 * size() + 1 : size(); }
  [[nodiscard]] std::string text() const {
    return std::string(distribution.name) + ", " + weighting.name + ", " + method + ", " +
           std::to_string(parts()) + " parts";
  }
};

struct WeighedObjects {
  explicit WeighedObjects(const ImbalanceCase& c) {
    const std::uint64_t all = weighed_per_rank * static_cast<std::uint64_t>(size());
    for (auto id = static_cast<Id>(rank()); id < all; id += static_cast<Id>(size())) {
      const Place at = c.distribution.place(id, all);
      place.insert(place.end(), at.begin(), at.end());
      weight.push_back(c.weighting.weight != nullptr ? c.weighting.weight(id) : 1);
    }
  }
  std::vector<double> place, weight;
};

/// Largest over mean of all parts, and what one object above the mean would be.
std::pair<double, double> imbalance_of(const WeighedObjects& objects, std::span<const int> part_of,
                                       int parts) {
  std::vector<double> load(static_cast<std::size_t>(parts), 0);
  for (std::size_t k = 0; k < part_of.size(); ++k)
    load[static_cast<std::size_t>(part_of[k])] += objects.weight[k];
  MPI_Allreduce(MPI_IN_PLACE, load.data(), parts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  double heaviest = *std::ranges::max_element(objects.weight);
  MPI_Allreduce(MPI_IN_PLACE, &heaviest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  double sum = 0;
  for (const double of_part : load) sum += of_part;
  return {*std::ranges::max_element(load) * parts / sum, 1 + heaviest * parts / sum};
}

TEST(Imbalance, IsAsPromisedForEveryDistributionMethodWeightingAndNumberOfParts) {
  const std::uint64_t cases = std::min<std::uint64_t>(cases_wanted(45), 360);
  for (std::uint64_t k = 0; k < cases; ++k) {
    const ImbalanceCase c = ImbalanceCase::number(k);
    SCOPED_TRACE(seed_note(seed(), static_cast<long long>(k)) + ": " + c.text());
    const WeighedObjects objects(c);
    RebalancerOptions options{.method = c.method};
    if (c.more_parts) options.parameters = {{"NUM_GLOBAL_PARTS", std::to_string(c.parts())}};
    Rebalancer rebalancer(MPI_COMM_WORLD, options);
    const std::uint64_t count = objects.weight.size();
    rebalancer.coordinates(array_columns(objects.place.data(), count, 3));
    if (c.weighting.weight != nullptr)
      rebalancer.weights(array_columns(objects.weight.data(), count, 1));
    const Partition partition = rebalancer.partition(count);
    const auto [imbalance, with_one_more] =
        imbalance_of(objects, c.more_parts ? partition.parts() : partition.ranks(), c.parts());
    EXPECT_LE(imbalance, std::max(options.imbalance_tolerance, with_one_more) + 0.01);
    EXPECT_EQ(partition.warning(), "");
  }
}

/// The ranks that have some object of each part: bit r of an entry for rank r. Of rank 0.
std::vector<unsigned> ranks_of_parts(const WeighedObjects& objects,
                                     const RebalancerOptions& options) {
  Rebalancer rebalancer(MPI_COMM_WORLD, options);
  const std::uint64_t count = objects.weight.size();
  rebalancer.coordinates(array_columns(objects.place.data(), count, 3));
  const Partition partition = rebalancer.partition(count);
  std::vector<unsigned> ranks(64, 0);
  for (std::uint64_t k = 0; k < count; ++k)
    ranks[static_cast<std::size_t>(partition.parts()[k])] |=
        1U << static_cast<unsigned>(partition.ranks()[k]);
  MPI_Allreduce(MPI_IN_PLACE, ranks.data(), 64, MPI_UNSIGNED, MPI_BOR, MPI_COMM_WORLD);
  return ranks;
}

TEST(Imbalance, IsEvenedOutAmongPartsOnTheRanksWhereZoltanHasThem) {
  const WeighedObjects evenly_spread({distributions[0], weightings[0], "RCB", false});
  const WeighedObjects at_one_place({distributions[6], weightings[0], "HSFC", false});
  const auto global = [](int parts) {
    return std::pair(std::string("NUM_GLOBAL_PARTS"), std::to_string(std::max(1, parts)));
  };
  for (const auto& parts :
       {global(size() - 1), global(size() / 2), global(size() + 1), global(3 * size() - 1),
        global(5 * size()),
        std::pair(std::string("NUM_LOCAL_PARTS"), std::to_string((rank() + 1) % 3))}) {
    SCOPED_TRACE(parts.first + " = " + parts.second);
    RebalancerOptions options{.parameters = {parts, {"REMAP", "0"}}};
    const std::vector<unsigned> of_zoltan = ranks_of_parts(evenly_spread, options);
    options.method = "HSFC";
    const std::vector<unsigned> dealt = ranks_of_parts(at_one_place, options);
    EXPECT_EQ(dealt, of_zoltan);
  }
}

/// What a partition says that cannot keep the promise, also to the log.
TEST(Imbalance, ThatIsHigherThanPromisedIsAWarningOfTheCall) {
  if (size() == 1) return;
  std::string logged;
  set_log_callback([&](LogLevel level, std::string_view message) {
    if (level == LogLevel::warning) logged = message;
  });
  const WeighedObjects objects({distributions[6], weightings[0], "HSFC", false});
  RebalancerOptions options{.method = "HSFC"};
  options.granularity = 1;  // as Zoltan does it: everything is in one part
  Rebalancer rebalancer(MPI_COMM_WORLD, options);
  const std::uint64_t count = objects.weight.size();
  rebalancer.coordinates(array_columns(objects.place.data(), count, 3));
  const Partition partition = rebalancer.partition(count);
  set_log_callback({});
  const std::string expected =
      "the heaviest part of the partition has " + std::to_string(size()) +
      " times the mean weight, above the imbalance tolerance of 1.05, but too many objects are at "
      "one place or on one plane for the method";
  EXPECT_TRUE(all_ranks(partition.warning() == expected)) << partition.warning();
  EXPECT_TRUE(all_ranks(logged == expected)) << logged;
}

TEST(Imbalance, ThatIsHigherBecauseOfHeavyCellsIsAWarningWithWhatToDo) {
  if (size() == 1) return;
  const WeighedObjects objects({distributions[13], weightings[0], "HSFC", false});
  RebalancerOptions options{.method = "HSFC"};
  options.granularity = ~std::uint64_t{0};  // where most objects are, each rank has few cells
  options.parameters = {{"NUM_GLOBAL_PARTS", std::to_string(20 * size())}};
  Rebalancer rebalancer(MPI_COMM_WORLD, options);
  const std::uint64_t count = objects.weight.size();
  rebalancer.coordinates(array_columns(objects.place.data(), count, 3));
  const std::string warning = rebalancer.partition(count).warning();
  expect_words(
      warning,
      {"above the imbalance tolerance of 1.05: a cell has ",
       " of the mean; partition again after migrating, when ranks hold less, and leave out a "
       "granularity"});
}

TEST(Imbalance, ThatIsHigherThanBeforeIsAWarningOfTheCall) {
  if (size() == 1) return;
  // Work is on every (P+1)th object: dealt one by one, it is all for the first rank.
  std::vector<double> weight(300, 0);
  for (std::size_t k = 0; k < weight.size(); ++k)
    weight[k] =
        (static_cast<std::size_t>(rank()) * weight.size() + k) % static_cast<std::size_t>(size()) ==
                0
            ? 1
            : 0;
  const RebalancerOptions options{.method = "CYCLIC"};
  Rebalancer rebalancer(MPI_COMM_WORLD, options);
  rebalancer.weights(array_columns(weight.data(), weight.size(), 1));
  const Partition partition = rebalancer.partition(weight.size());
  EXPECT_DOUBLE_EQ(partition.after().weight, size());
  EXPECT_TRUE(all_ranks(
      partition.warning().find("higher imbalance of weights") != std::string::npos &&
      partition.warning().find(std::to_string(size()) + " instead of 1") != std::string::npos))
      << partition.warning();
}

}  // namespace
}  // namespace valet::test
