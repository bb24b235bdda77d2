// SPDX-License-Identifier: BSD-3-Clause

// Memory that the system refuses to PETSc or to Valet, and a callback that throws: nobody waits,
// and no point is lost.

#include "../faults/limited.hpp"
#include "refused_new.hpp"
#include "swarms.hpp"

namespace valet::test {
namespace {

/// Each rank has points, and all go to the rank that has no memory.
void send_all_to(Swarm& swarm, int poor, PetscInt count = 40) {
  swarm.fill(count, 100'000 * rank(), 2);
  swarm.send([=](std::size_t) { return poor; });
}
bool are_where_they_were(const Swarm& swarm, int poor, std::int64_t count = 40) {
  std::vector<std::int64_t> expected(static_cast<std::size_t>(count));
  std::iota(expected.begin(), expected.end(), 100'000 * rank());
  return swarm.points() == expected && swarm.rows_are_right() &&
         swarm.ranks() == std::vector<PetscInt>(expected.size(), poor);
}
bool have_arrived(const Swarm& swarm, int poor, std::size_t count = 40) {
  const std::size_t expected = rank() == poor ? count * static_cast<std::size_t>(size()) : 0;
  return swarm.count() == expected && swarm.rows_are_right() &&
         swarm.ranks() == std::vector<PetscInt>(expected, poor);
}

int left_to_refuse = 0;
decltype(PetscTrRealloc) real_realloc = nullptr;
/// Fails as PETSc's own: the pointer is gone.
PetscErrorCode refusing_realloc(std::size_t bytes, int line, const char* function, const char* file,
                                void** memory) {
  if (left_to_refuse == 0 || --left_to_refuse > 0)
    return real_realloc(bytes, line, function, file, memory);
  *memory = nullptr;
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_MEM, "Memory requested %zu", bytes);
}

TEST(PetscFaults, NoMemoryToEnlargeTheNthField) {
  if (size() == 1) return;
  const int fields = 2 + static_cast<int>(test_fields().size());
  for (int n = 1; n <= fields + 1; ++n) {
    SCOPED_TRACE("field " + std::to_string(n));
    Swarm swarm;
    send_all_to(swarm, odd_rank());
    real_realloc = PetscTrRealloc;
    PetscTrRealloc = refusing_realloc;
    left_to_refuse = is_odd() ? n : 0;
    const Outcome outcome = migrate(swarm);
    PetscTrRealloc = real_realloc;
    if (n <= fields) {
      expect_error(outcome, static_cast<ErrorCode>(PETSC_ERR_LIB),
                   {odd_name(), "PETSc has no memory to enlarge the swarm to "});
      EXPECT_TRUE(all_ranks(are_where_they_were(swarm, odd_rank())));
      EXPECT_EQ(migrate(swarm).text, "");
    } else {
      EXPECT_EQ(outcome.text, "");
    }
    EXPECT_TRUE(all_ranks(have_arrived(swarm, odd_rank())));
  }
}

// Two ranks grow, one cannot: the other gives its room back.
TEST(PetscFaults, RanksThatHaveGrownAreAsBefore) {
  if (size() < 3) return;
  Swarm swarm;
  swarm.fill(40, 100'000 * rank(), 2);
  swarm.send([](std::size_t k) { return k % 2 == 0 ? 0 : odd_rank(); });
  const auto ranks = swarm.ranks();
  const auto points = swarm.points();
  real_realloc = PetscTrRealloc;
  PetscTrRealloc = refusing_realloc;
  left_to_refuse = is_odd() ? 3 : 0;
  const Outcome outcome = migrate(swarm);
  PetscTrRealloc = real_realloc;
  expect_error(outcome, static_cast<ErrorCode>(PETSC_ERR_LIB),
               {odd_name(), "PETSc has no memory to enlarge the swarm to "});
  EXPECT_TRUE(all_ranks(swarm.points() == points && swarm.ranks() == ranks));
  EXPECT_TRUE(all_ranks(swarm.rows_are_right()));
}

TEST(PetscFaults, NoAddressSpaceToGrow) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer needs the address space";
#endif
  if (size() == 1) return;
  constexpr PetscInt count = 60'000;
  Swarm swarm;
  send_all_to(swarm, odd_rank(), count);
  Outcome outcome;
  {
    std::optional<Limited> limited;
    if (is_odd()) limited.emplace(RLIMIT_AS, address_space() + (2 << 20));
    Valet_Options options = Valet_Options_default();
    options.budget_bytes = 1 << 16;
    outcome = migrate(swarm, &options);
  }
  expect_error(outcome, static_cast<ErrorCode>(PETSC_ERR_LIB),
               {odd_name(), "PETSc has no memory to enlarge the swarm to "});
  EXPECT_TRUE(all_ranks(are_where_they_were(swarm, odd_rank(), count)));
  EXPECT_EQ(migrate(swarm).text, "");
  EXPECT_TRUE(all_ranks(have_arrived(swarm, odd_rank(), count)));
}

// Some n, each time others; all with VALET_TEST_ALL_FAULTS.
TEST(PetscFaults, TheNthAllocationOfValetIsRefused) {
  const long long stride = std::getenv("VALET_TEST_ALL_FAULTS") == nullptr ? 7 : 1;
  long long first = 0;
  for (const Refusal refusal : {Refusal::once, Refusal::for_good})
    for (const int poor : {0, odd_rank()})
      for (long long n = 1 + first++ % stride; !HasFailure(); n += stride) {
        SCOPED_TRACE("allocation " + std::to_string(n) + " of rank " + std::to_string(poor));
        Swarm swarm;
        send_all_to(swarm, poor);
        require(PetscPushErrorHandler(PetscReturnErrorHandler, nullptr));
        if (rank() == poor) refuse_allocation(n, refusal);
        const int code = static_cast<int>(ValetDMSwarmMigrate(swarm, nullptr, nullptr));
        const bool refused = end_refusal();
        require(PetscPopErrorHandler());
        EXPECT_TRUE(all_ranks(code == 0) || all_ranks(code == PETSC_ERR_LIB)) << code;
        EXPECT_TRUE(
            all_ranks(code == 0 ? have_arrived(swarm, poor) : are_where_they_were(swarm, poor)));
        if (all_ranks(!refused)) break;
      }
}

// On every rank, so that no other one says it.
TEST(PetscFaults, NoMemoryToSayWhatIsWrong) {
  for (long long n = 1; n < 20 && !HasFailure(); ++n) {
    SCOPED_TRACE("allocation " + std::to_string(n));
    Swarm swarm;
    send_all_to(swarm, 0);
    require(PetscPushErrorHandler(PetscReturnErrorHandler, nullptr));
    std::optional<Access> access;
    access.emplace(swarm, "velocity");
    refuse_allocation(n, Refusal::for_good);
    const int code = static_cast<int>(ValetDMSwarmMigrate(swarm, nullptr, nullptr));
    end_refusal();
    access.reset();
    require(PetscPopErrorHandler());
    EXPECT_TRUE(all_ranks(code == PETSC_ERR_LIB)) << code;
    EXPECT_TRUE(all_ranks(are_where_they_were(swarm, 0)));
  }
}

TEST(PetscFaults, ACallbackThatThrows) {
  if (size() == 1) return;
  Swarm swarm;
  send_all_to(swarm, 0);
  Valet_Options options = Valet_Options_default();
  if (is_odd())
    options.progress = [](const Valet_Progress*, void*) { throw std::runtime_error("no window"); };
  expect_error(migrate(swarm, &options), static_cast<ErrorCode>(PETSC_ERR_LIB),
               {odd_name(), "no window", "callback_failed"});
  EXPECT_TRUE(all_ranks(have_arrived(swarm, 0)));
}

}  // namespace
}  // namespace valet::test
