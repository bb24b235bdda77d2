// SPDX-License-Identifier: BSD-3-Clause

// Rebalances in which Zoltan is given cells of objects: nothing is lost, the balance is as good as
// promised, cuts are where Zoltan made them, and a granularity of 1 is a partition of objects.

#include "gathered.hpp"
#include "places.hpp"
#include "zoltan_lists.hpp"
#include <valet/zoltan/rebalancer.hpp>

#include <zoltan.h>

namespace valet::test {
namespace {

using namespace zoltan;

/// Above what ranks give to Zoltan object by object.
constexpr std::uint64_t points_per_rank = 5000;

/// Which ranks have objects at first.
enum class Holders { all, first, even };

struct GranularCloud {
  explicit GranularCloud(Spread spread, Holders holders = Holders::all) {
    const auto ranks = static_cast<std::uint64_t>(size());
    const auto self = static_cast<std::uint64_t>(rank());
    total = points_per_rank * ranks;
    place.resize(3 * total);
    weight.resize(total);
    id.resize(total);
    const std::uint64_t step = holders == Holders::all    ? ranks
                               : holders == Holders::even ? (ranks + 1) / 2
                                                          : 1;
    const bool holds =
        holders == Holders::all || (holders == Holders::even && self % 2 == 0) || self == 0;
    for (std::uint64_t k = holders == Holders::even ? self / 2 : self; holds && k < total;
         k += step)
      add(spread, k);
  }
  void add(Spread spread, std::uint64_t number) {
    const auto at = place_of(spread, number);
    std::copy(at.begin(), at.end(), place.begin() + static_cast<std::ptrdiff_t>(3 * count));
    weight[count] = static_cast<float>(0.5 + chance(number, 3));
    id[count++] = number;
  }
  [[nodiscard]] BlockStorage storage() {
    return {field(place.data(), total, 3), field(weight.data(), total), field(id.data(), total)};
  }
  void tell(Rebalancer& rebalancer) const {
    rebalancer.coordinates(array_columns(place.data(), total, 3));
    rebalancer.weights(array_columns(weight.data(), total, 1));
  }
  [[nodiscard]] double weight_here() const {
    double sum = 0;
    for (std::uint64_t k = 0; k < count; ++k) sum += static_cast<double>(weight[k]);
    return sum;
  }
  /// Ids that are nowhere or twice, or whose place is another's. Collective.
  [[nodiscard]] long long damaged(Spread spread) const {
    long long bad = 0;
    for (std::uint64_t k = 0; k < count; ++k) {
      const auto at = place_of(spread, id[k]);
      for (std::size_t d = 0; d < 3; ++d) bad += place[3 * k + d] == at[d] ? 0 : 1;
    }
    return sum_over_ranks(bad) + lost_or_doubled(id, count, total);
  }

  std::uint64_t total = 0;
  std::uint64_t count = 0;
  std::vector<double> place;
  std::vector<float> weight;
  std::vector<std::uint64_t> id;
};

RebalanceResult rebalance(GranularCloud& cloud, const RebalancerOptions& options) {
  Rebalancer rebalancer(MPI_COMM_WORLD, options);
  cloud.tell(rebalancer);
  const RebalanceResult result = rebalancer.rebalance(cloud.count, cloud.storage());
  cloud.count = result.count;
  return result;
}

double largest_over_mean(double value) {
  double sum = 0;
  double largest = 0;
  MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(&value, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return largest * size() / sum;
}

class Cells : public ::testing::TestWithParam<const char*> {
 protected:
  static RebalancerOptions options() { return {.method = GetParam()}; }
  static bool cuts_planes() { return std::string(GetParam()) != "HSFC"; }
};

TEST_P(Cells, LoseNothingAndKeepTheBalanceWithinAHundredthOfTheTolerance) {
  SCOPED_TRACE(seed_note());
  for (const Spread spread : all_spreads)
    for (const Holders holders : {Holders::all, Holders::first, Holders::even}) {
      if (holders != Holders::all && spread > Spread::dense_corner) continue;
      SCOPED_TRACE(static_cast<int>(spread) * 10 + static_cast<int>(holders));
      GranularCloud cloud(spread, holders);
      const RebalanceResult result = rebalance(cloud, options());
      EXPECT_EQ(cloud.damaged(spread), 0);
      EXPECT_NEAR(result.after.weight, largest_over_mean(cloud.weight_here()), 1e-9);
      EXPECT_GT(result.largest_cell_share, 0);
      EXPECT_LE(result.largest_cell_share, 0.01);
      // HSFC has no cuts inside one place, and Zoltan's RIB none inside a plane.
      if (spread == Spread::one_place) continue;
      EXPECT_LE(result.after.weight, options().imbalance_tolerance + 0.01);
      // The map, and less for cells than the plan takes later; or the fewest cells there are.
      EXPECT_TRUE(all_ranks(result.partition_extra_bytes <= 12 * cloud.total + 8192 * 200));
    }
}

TEST_P(Cells, PutObjectsWhereTheCutsSay) {
  if (!cuts_planes()) return;  // parts of HSFC are not convex: some are cut at the edges of cells
  for (const Spread spread : {Spread::uniform, Spread::needle}) {
    GranularCloud cloud(spread);
    RebalancerOptions chosen = options();
    chosen.parameters = {{"KEEP_CUTS", "1"}, {"AVERAGE_CUTS", "1"}};
    if (std::string(GetParam()) == "RIB") chosen.parameters.pop_back();
    Rebalancer rebalancer(MPI_COMM_WORLD, chosen);
    cloud.tell(rebalancer);
    const Partition partition = rebalancer.partition(cloud.count);
    long long elsewhere = 0;
    for (std::uint64_t k = 0; k < cloud.count; ++k) {
      int owner = -1;
      Zoltan_LB_Point_Assign(rebalancer.handle(), &cloud.place[3 * k], &owner);
      elsewhere += owner == partition.ranks()[k] ? 0 : 1;
    }
    EXPECT_EQ(sum_over_ranks(elsewhere), 0);
  }
}

TEST_P(Cells, BalanceMorePartsThanRanks) {
  const int parts = 3 * size();
  GranularCloud cloud(Spread::dense_corner);
  RebalancerOptions chosen = options();
  chosen.parameters = {{"NUM_GLOBAL_PARTS", std::to_string(parts)}};
  Rebalancer rebalancer(MPI_COMM_WORLD, chosen);
  cloud.tell(rebalancer);
  const Partition partition = rebalancer.partition(cloud.count);
  std::vector<double> weight(static_cast<std::size_t>(parts), 0);
  for (std::uint64_t k = 0; k < cloud.count; ++k)
    weight[static_cast<std::size_t>(partition.parts()[k])] += static_cast<double>(cloud.weight[k]);
  MPI_Allreduce(MPI_IN_PLACE, weight.data(), parts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  const double largest = *std::ranges::max_element(weight);
  double sum = 0;
  for (const double of_part : weight) sum += of_part;
  EXPECT_LE(largest * parts / sum, chosen.imbalance_tolerance + 0.01);
}

TEST_P(Cells, OfAnyGranularityLoseNothing) {
  for (const std::uint64_t granularity : {std::uint64_t{2}, std::uint64_t{50}, ~std::uint64_t{0}}) {
    GranularCloud cloud(Spread::dense_corner);
    RebalancerOptions chosen = options();
    chosen.granularity = granularity;
    const RebalanceResult result = rebalance(cloud, chosen);
    EXPECT_EQ(cloud.damaged(Spread::dense_corner), 0);
    if (granularity <= 50) {
      EXPECT_LE(result.after.weight, chosen.imbalance_tolerance + 0.02);
    }
    EXPECT_GT(result.largest_cell_share, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Zoltan, Cells, ::testing::Values("RCB", "RIB", "HSFC"), ParameterName());

/// What Zoltan says when it is asked for every object, as the Rebalancer did before there were
/// cells.
struct Stock {
  const GranularCloud& cloud;

  static int count(void* self, int* error) {
    *error = ZOLTAN_OK;
    return static_cast<int>(static_cast<Stock*>(self)->cloud.count);
  }
  static void list(void* self, int, int, ZOLTAN_ID_PTR gids, ZOLTAN_ID_PTR lids, int,
                   float* weights, int* error) {
    const GranularCloud& cloud = static_cast<Stock*>(self)->cloud;
    for (std::uint64_t k = 0; k < cloud.count; ++k) {
      gids[2 * k] = static_cast<ZOLTAN_ID_TYPE>(rank());
      gids[2 * k + 1] = lids[k] = static_cast<ZOLTAN_ID_TYPE>(k);
      weights[k] = cloud.weight[k];
    }
    *error = ZOLTAN_OK;
  }
  static int dimensions(void*, int* error) {
    *error = ZOLTAN_OK;
    return 3;
  }
  static void places(void* self, int, int, int count, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR lids, int,
                     double* places, int* error) {
    for (int k = 0; k < count; ++k)
      for (unsigned d = 0; d < 3; ++d)
        *places++ = static_cast<Stock*>(self)->cloud.place[3 * lids[k] + d];
    *error = ZOLTAN_OK;
  }

  [[nodiscard]] std::vector<int> ranks(const char* method) {
    Zoltan_Struct* zz = Zoltan_Create(MPI_COMM_WORLD);
    for (const auto& [name, value] :
         {std::pair("DEBUG_LEVEL", "0"), std::pair("LB_METHOD", method),
          std::pair("IMBALANCE_TOL", "1.05"), std::pair("NUM_GID_ENTRIES", "2"),
          std::pair("NUM_LID_ENTRIES", "1"), std::pair("OBJ_WEIGHT_DIM", "1"),
          std::pair("RETURN_LISTS", "EXPORT")})
      Zoltan_Set_Param(zz, name, value);
    Zoltan_Set_Num_Obj_Fn(zz, count, this);
    Zoltan_Set_Obj_List_Fn(zz, list, this);
    Zoltan_Set_Num_Geom_Fn(zz, dimensions, this);
    Zoltan_Set_Geom_Multi_Fn(zz, places, this);
    std::vector<int> ranks = ZoltanLists(zz).ranks(cloud.count, rank());
    Zoltan_Destroy(&zz);
    return ranks;
  }
};

TEST(Granularity, OfOneIsZoltansPartitionOfTheObjects) {
  for (const char* const method : {"RCB", "RIB", "HSFC"}) {
    const GranularCloud cloud(Spread::dense_corner, Holders::even);
    const RebalancerOptions options{.method = method, .granularity = 1};
    Rebalancer rebalancer(MPI_COMM_WORLD, options);
    cloud.tell(rebalancer);
    Partition partition = rebalancer.partition(cloud.count);
    Stock stock{cloud};
    EXPECT_TRUE(all_ranks(std::ranges::equal(partition.ranks(), stock.ranks(method))));
    EXPECT_EQ(partition.largest_cell_share(), 0);
  }
}

TEST(Granularity, OfZeroIsRefused) {
  const RebalancerOptions options{.granularity = 0};
  const Outcome outcome = outcome_of([&] { const Rebalancer rebalancer(MPI_COMM_WORLD, options); });
  expect_error(outcome, ErrorCode::invalid_argument, {"granularity of 0"});
}

TEST(Granularity, MustBeTheSameOnAllRanks) {
  if (size() == 1) return;
  RebalancerOptions options;
  if (rank() == 1) options.granularity = 7;
  const Outcome outcome = outcome_of([&] { const Rebalancer rebalancer(MPI_COMM_WORLD, options); });
  expect_error(outcome, ErrorCode::invalid_argument, {"granularity differs"});
}

TEST(Granularity, ObjectsWithNamesAreGivenByThemselves) {
  const GranularCloud cloud(Spread::uniform);
  Rebalancer rebalancer(MPI_COMM_WORLD);
  cloud.tell(rebalancer);
  rebalancer.global_ids(array_columns(cloud.id.data(), cloud.total, 1));
  EXPECT_EQ(rebalancer.partition(cloud.count).largest_cell_share(), 0);
}

TEST(Granularity, CellsBalanceTheCountAsASecondWeight) {
  GranularCloud cloud(Spread::uniform);
  for (std::uint64_t k = 0; k < cloud.count; ++k)
    cloud.weight[k] =
        cloud.place[3 * k] + cloud.place[3 * k + 1] + cloud.place[3 * k + 2] < 1.5 ? 10.0F : 1.0F;
  GranularCloud by_both = cloud;
  RebalancerOptions options;
  const RebalanceResult first = rebalance(cloud, options);
  options.balance_count = true;
  const RebalanceResult second = rebalance(by_both, options);
  EXPECT_EQ(by_both.damaged(Spread::uniform), 0);
  if (size() == 1) return;
  EXPECT_GT(first.after.count, 1.2);
  EXPECT_LT(second.after.count, first.after.count - 0.1);
}

TEST(Granularity, AnObjectThatIsHeavierThanAShareIsKeptApart) {
  GranularCloud cloud(Spread::uniform);
  for (std::uint64_t k = 0; k < cloud.count; ++k)
    if (cloud.id[k] == 77) cloud.weight[k] = 1e6F;
  const RebalanceResult result = rebalance(cloud, {});
  EXPECT_EQ(cloud.damaged(Spread::uniform), 0);
  EXPECT_GT(result.largest_cell_share, 0.9) << "so the imbalance is explained";
  EXPECT_NEAR(result.after.weight, size(), 0.1 * size());
}

TEST(Granularity, CoordinatesAndWeightsThatAreNoneAreRefused) {
  GranularCloud cloud(Spread::uniform);
  const double good = cloud.place[3 * 4500 + 1];
  if (rank() == size() - 1) cloud.place[3 * 4500 + 1] = std::nan("");
  Outcome outcome = outcome_of([&] { rebalance(cloud, {}); });
  expect_error(outcome, ErrorCode::invalid_argument,
               {"coordinate 1 of the object in slot 4500 is nan"});
  cloud.place[3 * 4500 + 1] = good;
  std::ranges::fill(cloud.weight, 0);
  outcome = outcome_of([&] { rebalance(cloud, {}); });
  expect_error(outcome, ErrorCode::invalid_argument, {"all weights are zero"});
}

TEST(Granularity, TheSameCellsForAnyBudget) {
  std::vector<std::uint64_t> first;
  for (const std::size_t budget : {std::size_t{1} << 16, std::size_t{8} << 20}) {
    GranularCloud cloud(Spread::dense_corner);
    const RebalancerOptions options{.migration = {.budget_bytes = budget}};
    rebalance(cloud, options);
    const std::vector<std::uint64_t> ids(cloud.id.data(), cloud.id.data() + cloud.count);
    if (first.empty()) first = ids;
    EXPECT_TRUE(all_ranks(ids == first));
  }
}

}  // namespace
}  // namespace valet::test
