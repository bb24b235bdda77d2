// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The cells of one rank, in arrays that are allocated once. Nothing here knows of Valet or Zoltan.

#include "chamber.hpp"
#include "support/failure.hpp"

#include <mpi.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace species {

/// The species of some rank do not fit its arena. The same on all ranks.
class NoRoom : public example::Failure {
 public:
  using Failure::Failure;
};

/// Sums over the cells of all ranks.
struct Totals {
  std::uint64_t cells = 0;
  std::uint64_t cell_hashes = 0;  ///< equal sums: every cell is somewhere, and once
  std::uint64_t records = 0;
  std::uint64_t wrong = 0;  ///< lists and rows that are not those of their cells
  [[nodiscard]] bool operator==(const Totals&) const = default;
};

/// What travels with the list of a cell.
struct Head {
  std::uint64_t id;
  std::uint64_t length;
  std::array<double, 2> place;
};

/// Lists of species one after the other, and a row for each cell beside them.
struct Cells {
  std::vector<Record> records;         ///< the lists, packed from the front
  std::vector<std::uint64_t> lengths;  ///< bytes of each list
  std::vector<std::uint64_t> id;
  std::vector<double> place;  ///< angle and height of each cell
  std::uint64_t count = 0;    ///< cells on this rank

  /// Room for a number of records, and for as many cells as can have so many.
  Cells(const Chamber& chamber, std::uint64_t record_capacity);

  [[nodiscard]] std::uint64_t species(std::uint64_t k) const { return lengths[k] / sizeof(Record); }
  /// Records that the lists fill. [local]
  [[nodiscard]] std::uint64_t used() const;
  [[nodiscard]] Head head(std::uint64_t k) const {
    return {id[k], lengths[k], {place[2 * k], place[2 * k + 1]}};
  }
  void set_head(std::uint64_t k, const Head& head);

  /// Takes the cells of this rank out of all, numbered row by row and cut where the sum of species
  /// says, with what they have at step 0. Local.
  void fill(const Chamber& chamber, int rank, int ranks);
  /// The lists become longer and shorter, in place. Collective. @throws NoRoom.
  void react(MPI_Comm communicator, const Chamber& chamber, int step);

  /// Compares every list and row with what follows from the cell's number. Collective.
  [[nodiscard]] Totals check(MPI_Comm communicator, const Chamber& chamber, int step) const;
  /// Largest over mean number of records of a rank. Collective.
  [[nodiscard]] double imbalance(MPI_Comm communicator) const;
};

/// Throws NoRoom on all ranks where `records` or `count` cells do not fit on some. Collective.
void require_room(MPI_Comm communicator, const Cells& cells, std::uint64_t records,
                  std::uint64_t count);

}  // namespace species
