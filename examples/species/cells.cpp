// SPDX-License-Identifier: BSD-3-Clause
#include "cells.hpp"

#include "support/ranks.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>

namespace species {

Cells::Cells(const Chamber& chamber, std::uint64_t record_capacity)
    : records(record_capacity),
      lengths(std::min(chamber.cells(), record_capacity / Chamber::fewest)),
      id(lengths.size()),
      place(2 * lengths.size()) {}

std::uint64_t Cells::used() const {
  const auto end = lengths.begin() + static_cast<std::ptrdiff_t>(count);
  return std::accumulate(lengths.begin(), end, std::uint64_t{0}) / sizeof(Record);
}

void Cells::set_head(std::uint64_t k, const Head& head) {
  id[k] = head.id;
  lengths[k] = head.length;
  std::ranges::copy(head.place, &place[2 * k]);
}

void Cells::fill(const Chamber& chamber, int rank, int ranks) {
  const std::uint64_t all = chamber.all_species(0);
  const auto bound = [&](int r) {
    return all * static_cast<std::uint64_t>(r) / static_cast<std::uint64_t>(ranks);
  };
  std::uint64_t before = 0, used = 0;
  for (std::uint64_t cell = 0; cell < chamber.cells(); ++cell) {
    const std::uint64_t species = chamber.species_of(cell, 0);
    if (before >= bound(rank) && before < bound(rank + 1)) {
      for (std::uint64_t index = 0; index < species; ++index)
        records[used++] = record_of(cell, index);
      set_head(count++, {cell, species * sizeof(Record), chamber.place(cell)});
    }
    before += species;
  }
}

void Cells::react(MPI_Comm communicator, const Chamber& chamber, int step) {
  std::uint64_t needed = 0;
  for (std::uint64_t k = 0; k < count; ++k) needed += chamber.species_of(id[k], step);
  require_room(communicator, *this, needed, count);
  // From the front, what stays closes up; from the back, it moves to where it belongs and what is
  // new follows: nothing overtakes.
  std::uint64_t read = 0, kept = 0;
  for (std::uint64_t k = 0; k < count; ++k) {
    const std::uint64_t had = species(k), keeps = std::min(had, chamber.species_of(id[k], step));
    std::memmove(&records[kept], &records[read], keeps * sizeof(Record));
    lengths[k] = keeps * sizeof(Record);
    read += had;
    kept += keeps;
  }
  std::uint64_t end = needed;
  for (std::uint64_t k = count; k-- > 0;) {
    const std::uint64_t has = chamber.species_of(id[k], step), keeps = species(k);
    end -= has;
    kept -= keeps;
    std::memmove(&records[end], &records[kept], keeps * sizeof(Record));
    for (std::uint64_t index = keeps; index < has; ++index)
      records[end + index] = record_of(id[k], index);
    lengths[k] = has * sizeof(Record);
  }
}

Totals Cells::check(MPI_Comm communicator, const Chamber& chamber, int step) const {
  Totals totals{.cells = count};
  const Record* next = records.data();
  for (std::uint64_t k = 0; k < count; ++k) {
    const std::uint64_t has = species(k);
    bool is_right = lengths[k] == chamber.species_of(id[k], step) * sizeof(Record) &&
                    head(k).place == chamber.place(id[k]);
    for (std::uint64_t index = 0; index < has; ++index)
      is_right = next[index] == record_of(id[k], index) && is_right;
    next += has;
    totals.records += has;
    totals.cell_hashes += scramble(id[k]);
    totals.wrong += is_right ? 0 : 1;
  }
  std::uint64_t sums[4] = {totals.cells, totals.cell_hashes, totals.records, totals.wrong};
  MPI_Allreduce(MPI_IN_PLACE, sums, 4, MPI_UINT64_T, MPI_SUM, communicator);
  return {sums[0], sums[1], sums[2], sums[3]};
}

double Cells::imbalance(MPI_Comm communicator) const {
  const std::uint64_t own = used();
  std::uint64_t largest = 0, total = 0;
  MPI_Allreduce(&own, &largest, 1, MPI_UINT64_T, MPI_MAX, communicator);
  MPI_Allreduce(&own, &total, 1, MPI_UINT64_T, MPI_SUM, communicator);
  return static_cast<double>(largest) * example::size_of(communicator) / static_cast<double>(total);
}

void require_room(MPI_Comm communicator, const Cells& cells, std::uint64_t records,
                  std::uint64_t count) {
  const int size = example::size_of(communicator);
  const bool fits = records <= cells.records.size() && count <= cells.id.size();
  int first = fits ? size : example::rank_of(communicator);
  MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, communicator);
  if (first == size) return;
  std::uint64_t numbers[4] = {records, cells.records.size(), count, cells.id.size()};
  MPI_Bcast(numbers, 4, MPI_UINT64_T, first, communicator);
  throw NoRoom("rank " + std::to_string(first) + " would have " + std::to_string(numbers[0]) +
               " records in " + std::to_string(numbers[2]) + " cells and has room for " +
               std::to_string(numbers[1]) + " in " + std::to_string(numbers[3]) +
               ": give it more (--capacity)");
}

}  // namespace species
