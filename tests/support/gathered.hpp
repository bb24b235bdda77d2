// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What is on all ranks, brought together. All functions are collective over MPI_COMM_WORLD.

#include "oracle.hpp"
#include "random_maps.hpp"
#include "test_comm.hpp"

#include <mpi.h>

#include <unordered_map>

namespace valet::test {

/// What each rank has, on all ranks.
template <class Value>
std::vector<std::vector<Value>> gathered(const std::vector<Value>& mine) {
  std::vector<std::vector<Value>> all(static_cast<std::size_t>(size()), mine);
  for (int from = 0; from < size(); ++from) {
    std::vector<Value>& there = row_of(all, from);
    auto count = static_cast<int>(mine.size());
    MPI_Bcast(&count, 1, MPI_INT, from, MPI_COMM_WORLD);
    there.resize(static_cast<std::size_t>(count));
    MPI_Bcast(there.data(), count * static_cast<int>(sizeof(Value)), MPI_BYTE, from,
              MPI_COMM_WORLD);
  }
  return all;
}

/// Numbers below `total` that no rank has, or that are there more than once.
/// @param mine  count entries, each of which is a number.
template <class Numbers>
long long lost_or_doubled(const Numbers& mine, std::uint64_t count, std::uint64_t total) {
  std::vector<int> found(total, 0);
  for (std::uint64_t k = 0; k < count; ++k)
    if (const auto number = static_cast<std::uint64_t>(mine[k]); number < total) ++found[number];
  MPI_Allreduce(MPI_IN_PLACE, found.data(), static_cast<int>(total), MPI_INT, MPI_SUM,
                MPI_COMM_WORLD);
  return std::count_if(found.begin(), found.end(), [](int times) { return times != 1; });
}

/// Objects of this rank that are not in the slots where the oracle has them, given on which ranks
/// all are now.
/// @param before, now  The numbers of the objects in the first slots of this rank.
inline long long wrong_slots_of(const std::vector<std::uint64_t>& before,
                                const std::vector<std::uint64_t>& now, Order order,
                                std::size_t block_bytes) {
  const Numbers all_before = gathered(before), all_now = gathered(now);
  std::unordered_map<std::uint64_t, int> rank_of;
  for (int r = 0; r < size(); ++r)
    for (const std::uint64_t number : row_of(all_now, r)) rank_of[number] = r;
  std::vector<std::vector<int>> to;
  for (const auto& numbers : all_before) {
    to.emplace_back();
    for (const std::uint64_t number : numbers) to.back().push_back(rank_of.at(number));
  }
  const GlobalContent content = content_by_ranks(map_to(to), order, block_bytes);
  return wrong_slots(row_of(content, rank()), [&](std::uint64_t slot, const Address& from) {
    return slot < now.size() && now[slot] == row_of(all_before, from.rank)[from.slot];
  });
}

}  // namespace valet::test
