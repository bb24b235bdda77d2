// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What the tables and files of the examples have in common.

#include "failure.hpp"
#include "ranks.hpp"

#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace example {

/// A file could not be written. The same on all ranks.
class OutputError : public BadInput {
 public:
  using BadInput::BadInput;
};

[[nodiscard]] inline double megabytes(std::uint64_t bytes) {
  return static_cast<double>(bytes) / 1e6;
}

/// printf into a string.
std::string formatted(const char* format, auto... values) {
  const int length = std::snprintf(nullptr, 0, format, values...);
  std::string text(static_cast<std::size_t>(length) + 1, '\0');
  std::snprintf(text.data(), text.size(), format, values...);
  text.pop_back();
  return text;
}

/// The entries of all ranks, on rank 0. Collective.
template <class Entry>
std::vector<Entry> gather(MPI_Comm communicator, const std::vector<Entry>& own) {
  static_assert(std::is_trivially_copyable_v<Entry>);
  const int bytes = static_cast<int>(own.size() * sizeof(Entry));
  std::vector<int> counts(static_cast<std::size_t>(size_of(communicator)));
  MPI_Gather(&bytes, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, communicator);
  std::vector<int> displacements(counts.size(), 0);
  for (std::size_t r = 1; r < counts.size(); ++r)
    displacements[r] = displacements[r - 1] + counts[r - 1];
  std::vector<Entry> all;
  if (rank_of(communicator) == 0)
    all.resize(static_cast<std::size_t>(displacements.back() + counts.back()) / sizeof(Entry));
  MPI_Gatherv(own.data(), bytes, MPI_BYTE, all.data(), counts.data(), displacements.data(),
              MPI_BYTE, 0, communicator);
  return all;
}

}  // namespace example
