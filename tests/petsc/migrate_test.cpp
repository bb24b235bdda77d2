// SPDX-License-Identifier: BSD-3-Clause

// The same as DMSwarmMigrate(), point for point, but for their order.

#include "swarms.hpp"

#include <petscdmda.h>

namespace valet::test {
namespace {

/// Expects that this swarm has the points that DMSwarmMigrate() left in the other one.
void expect_as_stock(const Swarm& swarm, const Swarm& stock) {
  std::vector<std::int64_t> points = swarm.points(), expected = stock.points();
  std::ranges::sort(points);
  std::ranges::sort(expected);
  EXPECT_TRUE(all_ranks(points == expected));
  EXPECT_TRUE(all_ranks(swarm.rows_are_right()));
  EXPECT_TRUE(all_ranks(swarm.ranks() == stock.ranks()));
}

/// Where points go: a function of the point, drawn by all ranks alike.
struct Drawn {
  std::function<int(std::int64_t point)> rank_of;
  std::vector<PetscInt> counts;
  PetscInt buffer = 0;
};

Drawn drawn(std::mt19937_64& random) {
  const auto below = [&random](int end) {
    return std::uniform_int_distribution<int>(0, end - 1)(random);
  };
  Drawn result;
  const int most = std::array{3, 40, 500}[static_cast<std::size_t>(below(3))];
  for (int r = 0; r < size(); ++r) result.counts.push_back(below(3) == 0 ? 0 : below(most));
  result.buffer = below(2) * below(60);
  const auto salt = static_cast<std::uint64_t>(below(1 << 20));
  const int one = below(size()), kind = below(4);
  result.rank_of = [=](std::int64_t point) {
    const std::uint64_t mixed = (static_cast<std::uint64_t>(point) + salt) * 0x9E3779B97F4A7C15U;
    const int any = static_cast<int>((mixed >> 40U) % static_cast<std::uint64_t>(size()));
    if (kind == 0) return one;
    if (kind == 1) return (mixed >> 20U) % 10 == 0 ? any : rank();
    return any;
  };
  return result;
}

TEST(PetscMigrate, RandomSwarmsAreAsDMSwarmMigrateLeavesThem) {
  std::mt19937_64 random(seed());
  constexpr std::array orders{VALET_ORDER_ANY, VALET_ORDER_FILL, VALET_ORDER_STABLE};
  const auto cases = static_cast<long long>(cases_wanted(60));
  for (long long test_case = 0; test_case < cases && !HasFailure(); ++test_case) {
    SCOPED_TRACE(seed_note(seed(), test_case));
    Swarm swarm, stock;
    const Drawn first = drawn(random);
    for (Swarm* each : {&swarm, &stock})
      each->fill(first.counts[static_cast<std::size_t>(rank())], 1000 * rank(), first.buffer);
    Valet_Options options = Valet_Options_default();
    options.order = orders[static_cast<std::size_t>(test_case) % orders.size()];
    options.budget_bytes = test_case % 2 == 0 ? 4096 : 1 << 20;
    for (int step = 0; step < 3; ++step) {
      const Drawn next = drawn(random);
      for (Swarm* each : {&swarm, &stock}) {
        const std::vector<std::int64_t> points = each->points();
        each->send([&](std::size_t k) { return next.rank_of(points[k]); });
      }
      Valet_Report report = Valet_Report_default();
      const std::size_t before = swarm.count();
      EXPECT_EQ(migrate(swarm, &options, &report).text, "");
      require(DMSwarmMigrate(stock, PETSC_TRUE));
      expect_as_stock(swarm, stock);
      EXPECT_TRUE(
          all_ranks(report.blocks_before == before && report.blocks_after == stock.count()));
      EXPECT_TRUE(all_ranks(report.peak_extra_bytes <= report.extra_bytes_bound));
    }
  }
}

TEST(PetscMigrate, StablePointsAreInOrderBehindThoseThatStay) {
  Swarm swarm;
  swarm.fill(20, 1000 * rank());
  swarm.send([](std::size_t k) { return static_cast<int>(k) % size(); });
  Valet_Options options = Valet_Options_default();
  options.order = VALET_ORDER_STABLE;
  EXPECT_EQ(migrate(swarm, &options).text, "");
  std::vector<std::int64_t> expected;
  const auto add_from = [&](int source) {
    for (int k = rank(); k < 20; k += size()) expected.push_back(1000 * source + k);
  };
  add_from(rank());
  for (int source = 0; source < size(); ++source)
    if (source != rank()) add_from(source);
  EXPECT_TRUE(all_ranks(swarm.points() == expected));
}

TEST(PetscMigrate, PointsOfRankMinusOneAreDroppedIfAskedTo) {
  Swarm swarm;
  swarm.fill(10, 1000 * rank());
  swarm.send([](std::size_t k) { return k % 2 == 0 ? -1 : rank(); });
  Valet_Options options = Valet_Options_default();
  options.negative_rank = VALET_NEGATIVE_RANK_DROP;
  EXPECT_EQ(migrate(swarm, &options).text, "");
  EXPECT_TRUE(all_ranks(swarm.count() == 5 && swarm.rows_are_right()));
}

// A swarm of particles in cells has two fields more. They move by DMSwarm_rank, too.
TEST(PetscMigrate, ParticlesInCellsMoveByRank) {
  DM cells = nullptr, swarm = nullptr;
  require(DMDACreate2d(MPI_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_BOX, 12, 12,
                       PETSC_DECIDE, PETSC_DECIDE, 1, 1, nullptr, nullptr, &cells));
  require(DMSetUp(cells));
  require(DMDASetElementType(cells, DMDA_ELEMENT_Q1));
  require(DMDASetUniformCoordinates(cells, 0, 1, 0, 1, 0, 0));
  require(DMCreate(MPI_COMM_WORLD, &swarm));
  require(DMSetType(swarm, DMSWARM));
  require(DMSetDimension(swarm, 2));
  require(DMSwarmSetType(swarm, DMSWARM_PIC));
  require(DMSwarmSetCellDM(swarm, cells));
  require(DMSwarmRegisterPetscDatatypeField(swarm, "mass", 1, PETSC_REAL));
  require(DMSwarmFinalizeFieldRegister(swarm));
  require(DMSwarmSetLocalSizes(swarm, 3, 0));
  const int next = (rank() + 1) % size(), last = (rank() + size() - 1) % size();
  {
    const Access place(swarm, DMSwarmPICField_coor), ranks(swarm, DMSwarmField_rank);
    for (int k = 0; k < 6; ++k) place.as<PetscReal>()[k] = 10 * rank() + k;
    for (int k = 0; k < 3; ++k) ranks.as<PetscInt>()[k] = next;
  }
  EXPECT_EQ(migrate(swarm).text, "");
  {
    const Access place(swarm, DMSwarmPICField_coor);
    PetscReal sum = 0;
    for (int k = 0; k < 6; ++k) sum += place.as<PetscReal>()[k];
    EXPECT_TRUE(all_ranks(sum == 60 * last + 15));
  }
  require(DMDestroy(&swarm));
  require(DMDestroy(&cells));
}

}  // namespace
}  // namespace valet::test
