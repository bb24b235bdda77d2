// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mpi.h>

#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>

/// What MPI tests say over and over. Reduce first, then EXPECT: then all ranks reach the same
/// verdict and none leaves a collective early. All functions but rank, size, seed, cases_wanted and
/// seed_note are collective over MPI_COMM_WORLD.
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

/// The same on all ranks and in every run, unless VALET_TEST_SEED says otherwise.
inline std::uint64_t seed() {
  constexpr std::uint64_t default_seed = 20260101;
  const char* text = std::getenv("VALET_TEST_SEED");
  if (text == nullptr || *text == '\0') return default_seed;
  char* end = nullptr;
  const std::uint64_t value = std::strtoull(text, &end, 0);
  if (*end != '\0') throw std::invalid_argument("VALET_TEST_SEED is not a number");
  return value;
}

/// How many cases a random test goes through, unless VALET_TEST_CASES says otherwise.
inline std::uint64_t cases_wanted(std::uint64_t otherwise) {
  const char* const text = std::getenv("VALET_TEST_CASES");
  return text == nullptr || *text == '\0' ? otherwise : std::strtoull(text, nullptr, 0);
}

/// For SCOPED_TRACE: how to repeat a random test, given the number of the case in it.
inline std::string seed_note(std::uint64_t used = seed(), long long test_case = -1) {
  std::string note = "VALET_TEST_SEED=" + std::to_string(used);
  if (test_case >= 0) note += ", case " + std::to_string(test_case);
  return note;
}

}  // namespace valet::test
