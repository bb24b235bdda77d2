// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Calls in which the system refuses memory to one rank: its n-th allocation, or that and all that
/// follow. Then all ranks get out_of_memory and nothing has moved, or all succeed. Nobody is left
/// waiting. A test that uses it lists support/refused_new.cpp as a source.

#include "refused_new.hpp"
#include "test_comm.hpp"

#include <initializer_list>

namespace valet::test {

inline constexpr Method all_methods[] = {Method::stream, Method::direct, Method::phased,
                                         Method::cyclic, Method::automatic};

/// A call and what must be true of its data.
struct RefusedCall {
  std::function<void(MPI_Comm)> call;
  std::function<void()> restore;       ///< the data before the call
  std::function<bool()> is_unchanged;  ///< here
  std::function<bool()> has_moved;     ///< here
};

/// Runs the call with the n-th allocation of one rank refused.
/// @return Whether there was an n-th one.
inline bool survives(const RefusedCall& tested, MPI_Comm communicator, int poor, long long n,
                     Refusal refusal) {
  tested.restore();
  if (rank() == poor) refuse_allocation(n, refusal);
  const Outcome outcome = outcome_of([&] { tested.call(communicator); });
  const bool refused = end_refusal();
  SCOPED_TRACE("allocation " + std::to_string(n) + " of rank " + std::to_string(poor) +
               (refusal == Refusal::once ? ", once: " : ", for good: ") + outcome.text);
  EXPECT_TRUE(same_on_all_ranks(outcome));
  const bool success = outcome.code == ErrorCode::success;
  EXPECT_TRUE(all_ranks(success || outcome.code == ErrorCode::out_of_memory));
  EXPECT_TRUE(all_ranks(success ? tested.has_moved() : tested.is_unchanged()));
  return !all_ranks(!refused);
}

/// From one n to the next: with sanitizers, which take ten times as long, every fourth is tried.
#ifdef __SANITIZE_ADDRESS__
inline constexpr long long refusal_stride = 4;
#else
inline constexpr long long refusal_stride = 1;
#endif

/// For all n on a communicator that is new each time, or on one that has been used; where there is
/// a stride, for others with other ranks and refusals.
inline void survives_all(const RefusedCall& tested, int poor, bool is_new, Refusal refusal) {
  const int other = (refusal == Refusal::once ? 0 : 2) + (poor == 0 ? 0 : 1);
  for (long long n = 1 + other % refusal_stride; !::testing::Test::HasFailure();
       n += refusal_stride) {
    MPI_Comm communicator = MPI_COMM_WORLD;
    if (is_new) MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
    const bool goes_on = survives(tested, communicator, poor, n, refusal);
    if (is_new) MPI_Comm_free(&communicator);
    if (!goes_on) break;
  }
}

/// The first rank, which is the root of some methods, and the last one.
inline void survives_all(const RefusedCall& tested) {
  for (const Refusal refusal : {Refusal::once, Refusal::for_good})
    for (const int poor : {0, size() - 1}) survives_all(tested, poor, false, refusal);
}

/// Rank 0 and another one, on communicators of both kinds; with VALET_TEST_ALL_FAULTS every rank.
inline void survives_all(const RefusedCall& tested, const std::string& name) {
  SCOPED_TRACE(name);
  for (const Refusal refusal : {Refusal::once, Refusal::for_good}) {
    if (std::getenv("VALET_TEST_ALL_FAULTS") == nullptr) {
      survives_all(tested, 1, true, refusal);
      survives_all(tested, 0, false, refusal);
    } else {
      for (int poor = 0; poor < size(); ++poor)
        for (const bool is_new : {true, false}) survives_all(tested, poor, is_new, refusal);
    }
  }
}

}  // namespace valet::test
