// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "seed.hpp"
#include "testing.hpp"

#include <mpi.h>

/// What MPI tests say over and over. Reduce first, then EXPECT: then all ranks reach the same
/// verdict and none leaves a collective early. All functions but rank, size and those of the odd
/// rank are collective over MPI_COMM_WORLD.
namespace valet::test {

inline int rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

inline int size() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

inline long long sum_over_ranks(long long value) {
  long long sum = 0;
  MPI_Allreduce(&value, &sum, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}

inline long long max_over_ranks(long long value) {
  long long max = 0;
  MPI_Allreduce(&value, &max, 1, MPI_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
  return max;
}

/// Whether `condition` holds on every rank.
inline bool all_ranks(bool condition) { return max_over_ranks(condition ? 0 : 1) == 0; }

/// The rank on which a test makes its mistakes: the last one.
inline int odd_rank() { return size() - 1; }
inline bool is_odd() { return rank() == odd_rank(); }
/// How an error names it.
inline std::string odd_name() { return "rank " + std::to_string(odd_rank()) + ": "; }

/// Whether all ranks have the code and the text of rank 0. Collective.
inline bool same_on_all_ranks(const Outcome& outcome) {
  std::array<int, 2> head{static_cast<int>(outcome.code), static_cast<int>(outcome.text.size())};
  MPI_Bcast(head.data(), 2, MPI_INT, 0, MPI_COMM_WORLD);
  std::string text = outcome.text;
  text.resize(static_cast<std::size_t>(head[1]));
  MPI_Bcast(text.data(), head[1], MPI_CHAR, 0, MPI_COMM_WORLD);
  return all_ranks(head[0] == static_cast<int>(outcome.code) && text == outcome.text);
}

/// Expects an error that is the same on all ranks, with these words. Collective.
inline void expect_error(const Outcome& outcome, ErrorCode code,
                         const std::vector<std::string>& words) {
  EXPECT_TRUE(same_on_all_ranks(outcome)) << "this rank says: " << outcome.text;
  EXPECT_EQ(outcome.code, code) << outcome.text;
  expect_words(outcome.text, words);
}

/// A communicator of all ranks, with which nothing is known or kept yet. Collective.
class OwnComm {
 public:
  OwnComm() { MPI_Comm_dup(MPI_COMM_WORLD, &comm_); }
  OwnComm(const OwnComm&) = delete;
  OwnComm& operator=(const OwnComm&) = delete;
  ~OwnComm() { MPI_Comm_free(&comm_); }
  operator MPI_Comm() const { return comm_; }  // NOLINT: as a communicator

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

/// What a call took is within what its report says that it may take. Collective.
template <class AnyReport>
void expect_within_bound(const AnyReport& report) {
  EXPECT_TRUE(all_ranks(report.peak_extra_bytes <= report.extra_bytes_bound))
      << report.peak_extra_bytes << " of " << report.extra_bytes_bound;
}

}  // namespace valet::test
