// SPDX-License-Identifier: BSD-3-Clause

// Random clumps of particles in Views are partitioned with Zoltan and moved in place. The payload
// of a particle is computed from its id, so nobody keeps a copy of what was sent.

#include "gathered.hpp"
#include "kokkos_environment.hpp"
#include "places.hpp"
#include <valet/zoltan/rebalancer.hpp>

#include <Kokkos_Core.hpp>
#include <zoltan.h>

namespace {

using namespace valet::test;

/// Particles in three Views of different layouts; everything follows from the id.
struct Particles {
  Kokkos::View<double* [3], Kokkos::LayoutLeft> position;
  Kokkos::View<float*> weight;
  Kokkos::View<std::uint64_t*> id;
  Kokkos::View<short* [5], Kokkos::LayoutRight> payload;
  std::uint64_t count = 0;

  explicit Particles(std::size_t slots)
      : position("position", slots),
        weight("weight", slots),
        id("id", slots),
        payload("payload", slots) {}

  static double coordinate(std::uint64_t id, int d) {
    // Two thirds of the particles are in a clump.
    const double value = chance(id, static_cast<std::uint64_t>(d));
    return id % 3 == 0 ? value : 0.7 + 0.1 * value;
  }
  static float weight_of(std::uint64_t id) {
    return coordinate(id, 0) > 0.7 ? 1.5F : static_cast<float>(1 + id % 2);
  }

  void add(std::uint64_t value) {
    for (int d = 0; d < 3; ++d) position(count, d) = coordinate(value, d);
    weight(count) = weight_of(value);
    for (int i = 0; i < 5; ++i)
      payload(count, i) = static_cast<short>(value * 5 + static_cast<unsigned>(i));
    id(count++) = value;
  }

  [[nodiscard]] long long damaged() const {
    long long bad = 0;
    for (std::uint64_t k = 0; k < count; ++k) {
      bool right = weight(k) == weight_of(id(k));
      for (int d = 0; d < 3; ++d) right = right && position(k, d) == coordinate(id(k), d);
      for (int i = 0; i < 5; ++i)
        right = right && payload(k, i) == static_cast<short>(id(k) * 5 + static_cast<unsigned>(i));
      bad += right ? 0 : 1;
    }
    return bad;
  }
};

constexpr std::uint64_t particles_per_rank = 600;

std::uint64_t total() { return particles_per_rank * static_cast<std::uint64_t>(size()); }

/// All particles are on the even ranks at first, in slices of ids.
Particles make_particles(std::size_t slots) {
  Particles particles(slots);
  const int even_ranks = (size() + 1) / 2;
  if (rank() % 2 != 0) return particles;
  const auto slice = static_cast<std::uint64_t>(rank() / 2);
  for (std::uint64_t id = total() * slice / static_cast<std::uint64_t>(even_ranks);
       id < total() * (slice + 1) / static_cast<std::uint64_t>(even_ranks); ++id)
    particles.add(id);
  return particles;
}

long long lost_or_doubled(const Particles& particles) {
  return valet::test::lost_or_doubled(particles.id, particles.count, total());
}

std::vector<std::uint64_t> ids_of(const Particles& particles) {
  return {particles.id.data(), particles.id.data() + particles.count};
}

valet::zoltan::RebalanceResult rebalance(valet::zoltan::Rebalancer& rebalancer,
                                         Particles& particles) {
  const auto result = rebalancer.rebalance(particles.count, particles.position, particles.weight,
                                           particles.id, particles.payload);
  particles.count = result.count;
  return result;
}

class Methods : public ::testing::TestWithParam<const char*> {};

TEST_P(Methods, LoseNothingAndBalanceTheWeights) {
  SCOPED_TRACE(seed_note());
  Particles particles = make_particles(total());
  const valet::zoltan::RebalancerOptions options{
      .method = GetParam(), .migration = {.budget_bytes = 4096, .verify = true}};
  valet::zoltan::Rebalancer rebalancer(MPI_COMM_WORLD, options);
  rebalancer.coordinates(valet::ref(particles.position));
  rebalancer.weights(valet::ref(particles.weight));
  for (int repetition = 0; repetition < 2; ++repetition) {
    const std::vector<std::uint64_t> before = ids_of(particles);
    const auto result = rebalance(rebalancer, particles);
    EXPECT_EQ(sum_over_ranks(wrong_slots_of(before, ids_of(particles), valet::Order::any,
                                            result.report.block_bytes)),
              0);
    EXPECT_EQ(sum_over_ranks(static_cast<long long>(particles.count)),
              static_cast<long long>(total()));
    EXPECT_EQ(lost_or_doubled(particles), 0);
    EXPECT_EQ(sum_over_ranks(particles.damaged()), 0);
    EXPECT_TRUE(all_ranks(result.report.verified && result.required_slots == result.count));
    expect_within_bound(result.report);
    // Ranks without particles at first; one particle more or less cannot be avoided.
    if (size() > 1 && repetition == 0) {
      EXPECT_GT(result.before.weight, 1.5);
    }
    EXPECT_LT(result.after.weight, options.imbalance_tolerance + 0.02);
  }
}

TEST_P(Methods, ReportTheImbalanceThatTheRanksHaveAfterwards) {
  Particles particles = make_particles(total());
  const valet::zoltan::RebalancerOptions options{.method = GetParam()};
  valet::zoltan::Rebalancer rebalancer(MPI_COMM_WORLD, options);
  rebalancer.coordinates(valet::ref(particles.position));
  rebalancer.weights(valet::ref(particles.weight));
  const auto result = rebalance(rebalancer, particles);
  double weight = 0;
  for (std::uint64_t k = 0; k < particles.count; ++k)
    weight += static_cast<double>(particles.weight(k));
  double sum = 0;
  double largest = 0;
  MPI_Allreduce(&weight, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(&weight, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  EXPECT_NEAR(result.after.weight, largest * size() / sum, 1e-12);
  const double most = static_cast<double>(max_over_ranks(static_cast<long long>(particles.count)));
  EXPECT_NEAR(result.after.count, most * size() / static_cast<double>(total()), 1e-12);
}

TEST_P(Methods, ResultIsTheSameForAnyBudget) {
  std::vector<std::uint64_t> first;
  for (const std::size_t budget : {std::size_t{64}, std::size_t{1} << 20}) {
    Particles particles = make_particles(total());
    const valet::zoltan::RebalancerOptions options{.method = GetParam(),
                                                   .migration = {.budget_bytes = budget}};
    valet::zoltan::Rebalancer rebalancer(MPI_COMM_WORLD, options);
    rebalancer.coordinates(valet::ref(particles.position));
    rebalance(rebalancer, particles);
    const std::vector<std::uint64_t> ids = ids_of(particles);
    if (first.empty()) first = ids;
    EXPECT_TRUE(all_ranks(ids == first));
  }
}

INSTANTIATE_TEST_SUITE_P(Zoltan, Methods, ::testing::Values("RCB", "rib", "HSFC"), ParameterName());

class Orders : public ::testing::TestWithParam<const char*> {};

TEST_P(Orders, ArePlannedFromTheirLayout) {
  const std::string method = GetParam();
  const auto ranks = static_cast<std::uint64_t>(size());
  const auto self = static_cast<std::uint64_t>(rank());
  for (const bool weighted : {false, true}) {
    Particles particles = make_particles(total() + 1);
    // One particle more, so that the blocks cannot all be equally long; ids ascend over all ranks.
    if (rank() == (size() - 1) / 2 * 2) particles.add(total());
    const valet::zoltan::RebalancerOptions options{.method = GetParam()};
    valet::zoltan::Rebalancer rebalancer(MPI_COMM_WORLD, options);
    if (weighted) rebalancer.weights(valet::ref(particles.weight));
    const auto result = rebalance(rebalancer, particles);
    EXPECT_TRUE(all_ranks(result.report.plan_from_layout));
    expect_within_bound(result.report);
    EXPECT_EQ(sum_over_ranks(static_cast<long long>(particles.count)),
              static_cast<long long>(total() + 1));
    EXPECT_EQ(sum_over_ranks(particles.damaged()), 0);
    EXPECT_EQ(lost_or_doubled(particles), 0);
    std::vector<std::uint64_t> ids = ids_of(particles);
    std::sort(ids.begin(), ids.end());
    bool right = true;
    for (std::uint64_t k = 0; k < ids.size(); ++k)
      right = right && ids[k] == (method == "BLOCK" ? ids[0] + k : k * ranks + self);
    EXPECT_TRUE(all_ranks(right));
    EXPECT_LT(method == "BLOCK" ? result.after.weight : result.after.count, 1.01);
  }
}

INSTANTIATE_TEST_SUITE_P(Zoltan, Orders, ::testing::Values("BLOCK", "CYCLIC"), ParameterName());

TEST(Rebalancer, CutsOfRcbAreNoLayout) {
  Particles particles = make_particles(total());
  valet::zoltan::Rebalancer rebalancer(MPI_COMM_WORLD);
  rebalancer.coordinates(valet::ref(particles.position));
  EXPECT_TRUE(all_ranks(rebalance(rebalancer, particles).report.plan_from_layout == (size() == 1)));
}

TEST(Rebalancer, PutsParticlesWhereTheCutsOfRcbSay) {
  Particles particles = make_particles(total());
  valet::zoltan::RebalancerOptions options;
  // Cuts between particles: on one, it would be on either side.
  options.parameters = {{"KEEP_CUTS", "1"}, {"AVERAGE_CUTS", "1"}};
  valet::zoltan::Rebalancer rebalancer(MPI_COMM_WORLD, options);
  rebalancer.coordinates(valet::ref(particles.position));
  rebalance(rebalancer, particles);
  long long elsewhere = 0;
  for (std::uint64_t k = 0; k < particles.count; ++k) {
    double place[3];
    for (int d = 0; d < 3; ++d) place[d] = particles.position(k, d);
    int owner = -1;
    Zoltan_LB_Point_Assign(rebalancer.handle(), place, &owner);
    elsewhere += owner == rank() ? 0 : 1;
  }
  EXPECT_EQ(sum_over_ranks(elsewhere), 0);
}

TEST(Rebalancer, BalancesTheCountAsASecondWeight) {
  // Few heavy particles on the left, many light ones on the right: weights alone give some rank far
  // more particles than the mean.
  const auto fill = [](Particles& particles) {
    for (std::uint64_t k = 0; k < particles.count; ++k)
      particles.weight(k) = particles.position(k, 0) < 0.5 ? 10.0F : 1.0F;
  };
  Particles by_weight = make_particles(total());
  Particles by_both = make_particles(total());
  fill(by_weight);
  fill(by_both);
  valet::zoltan::Rebalancer rebalancer(MPI_COMM_WORLD);
  rebalancer.coordinates(valet::ref(by_weight.position));
  rebalancer.weights(valet::ref(by_weight.weight));
  const auto first = rebalance(rebalancer, by_weight);
  rebalancer.coordinates(valet::ref(by_both.position));
  rebalancer.weights(valet::ref(by_both.weight));
  rebalancer.balance_count(true);
  const auto second = rebalance(rebalancer, by_both);
  if (size() == 1) return;
  EXPECT_GT(first.after.count, 1.2);
  EXPECT_LT(second.after.count, first.after.count - 0.1);
  EXPECT_EQ(lost_or_doubled(by_both), 0);
}

TEST(Rebalancer, TakesOneViewPerCoordinateAndAnyNumberType) {
  constexpr std::uint64_t each = 50;
  const std::uint64_t slots = each * static_cast<std::uint64_t>(size()) + 1;
  const Kokkos::View<float*> x("x", slots);
  const Kokkos::View<int*> y("y", slots);
  const Kokkos::View<int*> work("work", slots);
  for (std::uint64_t k = 0; k < each; ++k) {
    // Ranks hold interleaved columns of points at first.
    x(k) = static_cast<float>(k * static_cast<std::uint64_t>(size())) + static_cast<float>(rank());
    y(k) = static_cast<int>(k % 7);
    work(k) = 2;
  }
  valet::zoltan::Rebalancer rebalancer(MPI_COMM_WORLD);
  rebalancer.coordinates(valet::ref(x), valet::ref(y));
  rebalancer.weights(valet::ref(work));
  const auto result = rebalancer.rebalance(each, Kokkos::DefaultHostExecutionSpace(), x, y, work);
  EXPECT_LT(result.after.count, 1.06);
  // RCB cuts the long direction: each rank has a range of x of about one rank's length.
  float low = 1e9F;
  float high = -1e9F;
  for (std::uint64_t k = 0; k < result.count; ++k) {
    low = std::min(low, x(k));
    high = std::max(high, x(k));
  }
  EXPECT_TRUE(all_ranks(high - low <= 1.1F * static_cast<float>(each)));
}

TEST(Rebalancer, PassesParametersToZoltan) {
  // Zoltan can only say where a point belongs if it was told to keep its cuts.
  for (const bool keep : {false, true}) {
    Particles particles = make_particles(total());
    const valet::zoltan::RebalancerOptions options{.parameters = {{"keep_cuts", keep ? "1" : "0"}}};
    valet::zoltan::Rebalancer rebalancer(MPI_COMM_WORLD, options);
    rebalancer.coordinates(valet::ref(particles.position));
    rebalance(rebalancer, particles);
    double place[3] = {0.5, 0.5, 0.5};
    int owner = -1;
    const int code = Zoltan_LB_Point_Assign(rebalancer.handle(), place, &owner);
    EXPECT_TRUE(all_ranks((code == ZOLTAN_OK) == keep));
  }
}

/// The time loop of a code whose arrays grow: what the Rebalancer was given once is read as it is.
TEST(Rebalancer, ReadsViewsAsTheyAreAtEachPartition) {
  Particles particles = make_particles(total());
  valet::zoltan::Rebalancer rebalancer(MPI_COMM_WORLD);
  rebalancer.coordinates(valet::ref(particles.position));
  rebalancer.weights(valet::ref(particles.weight));
  for (int step = 1; step <= 3; ++step) {
    const std::size_t slots = particles.position.extent(0) + 100;
    Kokkos::resize(particles.position, slots);
    Kokkos::resize(particles.weight, slots);
    Kokkos::resize(particles.id, slots);
    Kokkos::resize(particles.payload, slots);
    const auto result = rebalance(rebalancer, particles);
    EXPECT_LT(result.after.weight, 1.1) << step;
    EXPECT_EQ(sum_over_ranks(particles.damaged()), 0) << step;
  }
}

TEST(Rebalancer, WithoutAnyObjectsDoesNothing) {
  Particles particles(3);
  valet::zoltan::Rebalancer rebalancer(MPI_COMM_WORLD);
  rebalancer.coordinates(valet::ref(particles.position));
  rebalancer.weights(valet::ref(particles.weight));
  const auto result = rebalance(rebalancer, particles);
  EXPECT_TRUE(all_ranks(result.count == 0));
  EXPECT_EQ(result.after.weight, 1);
}

TEST(Rebalancer, WithFewerObjectsThanRanksKeepsAll) {
  Particles particles(2);
  if (rank() == size() - 1) particles.add(7);
  valet::zoltan::Rebalancer rebalancer(MPI_COMM_WORLD);
  rebalancer.coordinates(valet::ref(particles.position));
  rebalance(rebalancer, particles);
  EXPECT_EQ(sum_over_ranks(static_cast<long long>(particles.count)), 1);
  EXPECT_EQ(sum_over_ranks(particles.damaged()), 0);
}

TEST(Rebalancer, CanBeMoved) {
  Particles particles = make_particles(total());
  valet::zoltan::Rebalancer first(MPI_COMM_WORLD);
  first.coordinates(valet::ref(particles.position));
  valet::zoltan::Rebalancer second(std::move(first));
  valet::zoltan::Rebalancer third(MPI_COMM_WORLD);
  third = std::move(second);
  rebalance(third, particles);
  EXPECT_EQ(lost_or_doubled(particles), 0);
}

TEST(Rebalancer, InfeasiblePartitionMovesNothingAndSaysWhatItNeeds) {
  // Every rank has room for the mean and no more, but the light particles are all in one half.
  Particles particles(particles_per_rank + 2);
  const std::uint64_t first_id = particles_per_rank * static_cast<std::uint64_t>(rank());
  for (std::uint64_t k = 0; k < particles_per_rank; ++k) particles.add(first_id + k);
  for (std::uint64_t k = 0; k < particles.count; ++k)
    particles.weight(k) = particles.position(k, 0) < 0.5 ? 10.0F : 1.0F;
  valet::zoltan::Rebalancer rebalancer(MPI_COMM_WORLD);
  rebalancer.coordinates(valet::ref(particles.position));
  rebalancer.weights(valet::ref(particles.weight));
  const Outcome outcome = outcome_of([&] { rebalance(rebalancer, particles); });
  if (size() == 1) return;
  expect_error(outcome, valet::ErrorCode::infeasible, {"required_slots", "602 slots", "rank "});
  bool same = particles.count == particles_per_rank;
  for (std::uint64_t k = 0; k < particles.count; ++k)
    same = same && particles.id(k) == first_id + k;
  EXPECT_TRUE(all_ranks(same));
  // Without the weights the same storage is large enough.
  rebalancer.no_weights();
  rebalance(rebalancer, particles);
  EXPECT_EQ(lost_or_doubled(particles), 0);
}

}  // namespace
