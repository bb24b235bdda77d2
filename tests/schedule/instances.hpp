// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Redistributions in numbers, for tests of schedules.

#include "tools/schedules.hpp"

#include <algorithm>
#include <cstdint>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace valet::schedule::test {

struct Instance {
  TransferMatrix matrix;
  std::vector<std::uint64_t> free;

  [[nodiscard]] std::uint64_t all_free() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t slots : free) sum += slots;
    return sum;
  }
};

inline std::uint64_t pick(std::mt19937_64& random, std::uint64_t least, std::uint64_t most) {
  return std::uniform_int_distribution<std::uint64_t>(least, most)(random);
}

/// The least free slots that make a matrix feasible: nobody has a free slot at the end, except
/// those who send more than they receive.
inline std::vector<std::uint64_t> least_free(const TransferMatrix& matrix) {
  std::vector<std::uint64_t> free(matrix.ranks(), 0);
  const std::vector<RankTotals> totals = matrix.totals(free);
  for (std::size_t rank = 0; rank < free.size(); ++rank)
    free[rank] = totals[rank].received - std::min(totals[rank].received, totals[rank].sent);
  return free;
}

/// Anything: 2 to `most_ranks` ranks, sparse or dense, of even or very different sizes, with few or
/// many free slots at random places, at least one.
inline Instance random_instance(std::mt19937_64& random, std::uint32_t most_ranks,
                                std::uint64_t most_blocks_of_a_pair) {
  const auto ranks = static_cast<std::uint32_t>(pick(random, 2, most_ranks));
  const std::uint64_t density = pick(random, 1, 10);
  const std::uint64_t most = pick(random, 1, most_blocks_of_a_pair);
  std::vector<TransferEntry> transfers;
  for (std::uint32_t source = 0; source < ranks; ++source)
    for (std::uint32_t destination = 0; destination < ranks; ++destination)
      if (pick(random, 1, 10) <= density)
        transfers.push_back({source, destination, pick(random, 1, most)});
  Instance instance{TransferMatrix(ranks, std::move(transfers)), {}};
  instance.free = least_free(instance.matrix);
  for (std::uint64_t extra = pick(random, 0, 2 * most); extra > 0; --extra)
    ++instance.free[pick(random, 0, ranks - 1)];
  if (instance.all_free() == 0) instance.free[pick(random, 0, ranks - 1)] = 1;
  return instance;
}

/// `pairs` pairs of ranks that swap `blocks` blocks, and a bystander, the last rank, with all the
/// free slots there are.
inline Instance swaps(std::uint32_t pairs, std::uint64_t blocks, std::uint64_t free) {
  std::vector<TransferEntry> transfers;
  for (std::uint32_t pair = 0; pair < pairs; ++pair) {
    transfers.push_back({2 * pair, 2 * pair + 1, blocks});
    transfers.push_back({2 * pair + 1, 2 * pair, blocks});
  }
  Instance instance{TransferMatrix(2 * pairs + 1, std::move(transfers)), {}};
  instance.free.assign(2 * pairs + 1, 0);
  instance.free.back() = free;
  return instance;
}

/// What load balancing does: ranks on a torus of `side`^2 exchange blocks with their eight
/// neighbours, each direction its own amount, and every rank has `free` free slots beyond the ones
/// it needs in the end.
inline Instance neighbourhood(std::mt19937_64& random, std::uint32_t side, std::uint64_t most,
                              std::uint64_t free) {
  std::vector<TransferEntry> transfers;
  for (std::uint32_t rank = 0; rank < side * side; ++rank)
    for (std::uint32_t dx = 0; dx < 3; ++dx)
      for (std::uint32_t dy = 0; dy < 3; ++dy) {
        const std::uint32_t x = (rank % side + side + dx - 1) % side;
        const std::uint32_t y = (rank / side + side + dy - 1) % side;
        transfers.push_back({rank, y * side + x, pick(random, 0, most)});
      }
  Instance instance{TransferMatrix(side * side, std::move(transfers)), {}};
  instance.free = least_free(instance.matrix);
  for (std::uint64_t& slots : instance.free) slots += free;
  return instance;
}

/// Block k of every rank goes to rank k mod P, evenly: P*each blocks on each.
inline Instance even_transpose(std::uint32_t ranks, std::uint64_t each, std::uint64_t free) {
  std::vector<TransferEntry> transfers;
  for (std::uint32_t source = 0; source < ranks; ++source)
    for (std::uint32_t destination = 0; destination < ranks; ++destination)
      transfers.push_back({source, destination, each});
  return {TransferMatrix(ranks, std::move(transfers)), std::vector<std::uint64_t>(ranks, free)};
}

/// The moves of all phases.
inline PhaseSchedule record_phases(const Instance& instance, const PhasedOptions& options) {
  Ledger ledger;
  PhaseScheduler scheduler(ledger, instance.matrix.transfers(), starts_with(instance.free),
                           options);
  PhaseSchedule schedule;
  while (scheduler.next())
    schedule.emplace_back(scheduler.moves().begin(), scheduler.moves().end());
  return schedule;
}

/// For the message of a failed assertion.
inline std::string text(const Instance& instance) {
  std::ostringstream result;
  result << "free";
  for (const std::uint64_t slots : instance.free) result << " " << slots;
  for (const TransferEntry& transfer : instance.matrix.transfers())
    result << "; " << transfer.source << "->" << transfer.destination << " " << transfer.blocks;
  return result.str();
}

}  // namespace valet::schedule::test
