// SPDX-License-Identifier: BSD-3-Clause

// Mistakes made on the last rank, or on all: all ranks raise the same error, whose text says what
// is wrong, and the swarm is as it was.

#include "swarms.hpp"

#include <petscdmda.h>

namespace valet::test {
namespace {

constexpr PetscInt count = 12;

/// Points that go to all ranks.
void fill_and_send(Swarm& swarm) {
  swarm.fill(count, 1000 * rank());
  swarm.send([](std::size_t k) { return static_cast<int>(k) % size(); });
}

/// Expects this error of a call, and the same swarm as before.
void expect_refused(Swarm& swarm, const std::vector<std::string>& words,
                    const Valet_Options* options = nullptr, Valet_Report* report = nullptr,
                    int code = PETSC_ERR_LIB) {
  const auto points = swarm.points();
  const auto ranks = swarm.ranks();
  expect_error(migrate(swarm, options, report), static_cast<ErrorCode>(code), words);
  EXPECT_TRUE(all_ranks(swarm.points() == points && swarm.ranks() == ranks));
  EXPECT_TRUE(all_ranks(swarm.rows_are_right()));
}

/// Expects that the swarm can be moved now.
void expect_moves(Swarm& swarm) {
  EXPECT_EQ(migrate(swarm).text, "");
  EXPECT_EQ(sum_over_ranks(static_cast<long long>(swarm.count())), count * size());
  EXPECT_TRUE(all_ranks(swarm.rows_are_right()));
}

TEST(PetscErrors, NoSwarm) {
  expect_error(migrate(nullptr), static_cast<ErrorCode>(PETSC_ERR_ARG_NULL), {"The DM is NULL"});
  DM grid = nullptr;
  require(DMDACreate1d(MPI_COMM_WORLD, DM_BOUNDARY_NONE, 8, 1, 1, nullptr, &grid));
  expect_error(migrate(grid), static_cast<ErrorCode>(PETSC_ERR_ARG_WRONG),
               {"A DM of type swarm is needed"});
  require(DMDestroy(&grid));
}

TEST(PetscErrors, RanksThatDoNotExist) {
  for (const int wrong : {size(), -1, std::numeric_limits<int>::max()}) {
    Swarm swarm;
    fill_and_send(swarm);
    if (is_odd()) Access(swarm, DMSwarmField_rank).as<PetscInt>()[3] = wrong;
    expect_refused(swarm, {odd_name(), "slot 3", std::to_string(wrong), "rank_out_of_range"});
    if (is_odd()) Access(swarm, DMSwarmField_rank).as<PetscInt>()[3] = 0;
    expect_moves(swarm);
  }
}

TEST(PetscErrors, RanksThatAreNoInt) {
  if (sizeof(PetscInt) == sizeof(int)) GTEST_SKIP() << "a PetscInt of this PETSc is an int";
  Swarm swarm;
  fill_and_send(swarm);
  const auto wrong = static_cast<PetscInt>(std::int64_t{1} << 32);
  if (is_odd()) Access(swarm, DMSwarmField_rank).as<PetscInt>()[3] = wrong;
  expect_refused(swarm, {odd_name(), "DMSwarm_rank of point 3 is no rank"});
}

TEST(PetscErrors, AFieldThatIsAccessed) {
  for (const char* const name : {"velocity", DMSwarmField_rank}) {
    Swarm swarm;
    fill_and_send(swarm);
    std::optional<Access> access;
    if (is_odd()) access.emplace(swarm, name);
    const Outcome outcome = migrate(swarm);
    access.reset();
    expect_error(outcome, static_cast<ErrorCode>(PETSC_ERR_LIB),
                 {odd_name(), name, "is already active", "RestoreAccess"});
    expect_moves(swarm);
  }
}

TEST(PetscErrors, FieldsThatDifferBetweenRanks) {
  if (size() == 1) return;
  const auto more_on_first = [](DM swarm) {
    if (rank() == 0) require(DMSwarmRegisterPetscDatatypeField(swarm, "charge", 1, PETSC_DOUBLE));
  };
  const auto larger_on_first = [](DM swarm) {
    require(DMSwarmRegisterPetscDatatypeField(swarm, "charge", rank() == 0 ? 2 : 1, PETSC_DOUBLE));
  };
  Swarm missing(more_on_first), smaller(larger_on_first);
  fill_and_send(missing);
  expect_refused(missing, {"rank ", "Cannot find DMSwarmDataField with name charge"});
  fill_and_send(smaller);
  expect_refused(
      smaller,
      {"rank ", "Field charge has 8 bytes per point here, and 16 on rank 0; register the same"});
}

TEST(PetscErrors, SwarmsThatAreNotSetUp) {
  Swarm sizeless;
  if (!is_odd()) require(DMSwarmSetLocalSizes(sizeless, 3, 0));
  expect_error(migrate(sizeless), static_cast<ErrorCode>(PETSC_ERR_LIB),
               {odd_name(), "Local sizes must be set via DMSwarmSetLocalSizes()"});
  expect_error(migrate(sizeless), static_cast<ErrorCode>(PETSC_ERR_LIB),
               {odd_name(), "Local sizes must be set via DMSwarmSetLocalSizes()"});
}

TEST(PetscErrors, FieldsThatAreTooMany) {
  const auto many = [](int fields) {
    return [fields](DM swarm) {
      for (int f = 2 + static_cast<int>(test_fields().size()); f < fields; ++f)
        require(DMSwarmRegisterPetscDatatypeField(swarm, ("field " + std::to_string(f)).c_str(), 1,
                                                  PETSC_CHAR));
    };
  };
  Swarm most(many(64)), more(many(65));
  fill_and_send(most);
  expect_moves(most);
  fill_and_send(more);
  expect_refused(more, {"Valet knows 64 of the 65 fields"}, nullptr, nullptr, PETSC_ERR_SUP);
}

TEST(PetscErrors, NamesThatAreTooLong) {
  const auto named = [](std::size_t length) {
    return [length](DM swarm) {
      const std::string name(length, 'x');
      require(DMSwarmRegisterPetscDatatypeField(swarm, name.c_str(), 1, PETSC_CHAR));
    };
  };
  Swarm longest(named(100)), longer(named(200));
  fill_and_send(longest);
  expect_moves(longest);
  fill_and_send(longer);
  expect_refused(longer, {"Valet knows 7 of the 8 fields", "up to 100 characters"}, nullptr,
                 nullptr, PETSC_ERR_SUP);
}

TEST(PetscErrors, FieldsWithoutBytesAreLeftAlone) {
  Swarm swarm([](DM dm) { require(DMSwarmRegisterUserStructField(dm, "none", 0)); });
  fill_and_send(swarm);
  expect_moves(swarm);
}

TEST(PetscErrors, OptionsAndReports) {
  Swarm swarm;
  fill_and_send(swarm);
  Valet_Options options = Valet_Options_default();
  options.order = is_odd() ? 9 : VALET_ORDER_ANY;
  expect_refused(swarm, {odd_name(), "order", "invalid_argument"}, &options);
  options = Valet_Options_default();
  if (is_odd()) options.budget_bytes = 1;
  if (size() > 1) expect_refused(swarm, {odd_name(), "budget_too_small"}, &options);
  Valet_Report report = Valet_Report_default();
  if (is_odd()) report.struct_size = 3;
  expect_refused(swarm, {"struct_size"}, nullptr, &report);
  expect_moves(swarm);
}

TEST(PetscErrors, PetscIsAsBefore) {
  Swarm swarm;
  fill_and_send(swarm);
  testing::internal::CaptureStdout();
  expect_moves(swarm);
  std::fflush(stdout);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_TRUE(all_ranks(PetscVFPrintf == PetscEnvironment::print &&
                        PetscTrRealloc == PetscEnvironment::realloc));
}

}  // namespace
}  // namespace valet::test
