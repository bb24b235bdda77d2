// SPDX-License-Identifier: BSD-3-Clause
#include "division.hpp"

#include "mpi/root.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace valet::zoltan {
namespace {

constexpr std::size_t header_words = 2;  ///< what a rank sends first: limit, pieces

std::uint64_t sum_of(std::span<const std::uint64_t> values) {
  return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}

}  // namespace

void ProportionalDivision::divide(const Demand& demand, std::span<std::uint64_t> shares) {
  const std::uint64_t all = sum_of(demand.all);
  const std::uint64_t goal = all - demand.expected + std::min(demand.limit, demand.expected);
  const double fraction =
      static_cast<double>(goal) / static_cast<double>(std::max<std::uint64_t>(all, 1));
  for (std::size_t s = 0; s < shares.size(); ++s) {
    const auto until = static_cast<std::uint64_t>(fraction * static_cast<double>(demand.all[s]));
    const std::uint64_t taken = demand.all[s] - demand.ready[s];
    shares[s] = until - std::min(until, taken);
  }
}

std::uint64_t EqualPieces::next(const Demand& demand) {
  if (!left_) {
    if (demand.limit == 0) return 0;
    left_ = (demand.expected + demand.limit - 1) / demand.limit;
  }
  const std::uint64_t pieces = *left_;
  if (pieces > 0) --*left_;
  return pieces;
}

void HeuristicDivision::divide(const Demand& demand, std::span<std::uint64_t> shares) {
  schedule::apportion(heuristic_, {demand.ready, demand.limit, pieces_.next(demand)}, random_,
                      shares);
}

CentralDivision::CentralDivision(const mpi::Channel& channel, Ledger& ledger, Heuristic heuristic,
                                 std::size_t sources, const MatrixRoom& room)
    : channel_(channel),
      ledger_(ledger),
      heuristic_(heuristic),
      most_sources_(sources),
      own_(ledger),
      counts_(ledger, mpi::ranks_on_root(channel)),
      random_(ledger),
      all_(ledger),
      credited_(ledger) {
  own_.reserve(header_words + sources);
  random_.reserve(counts_.size());
  all_.reserve(room.pairs + header_words * counts_.size());
  credited_.reserve(room.widest);
  for (std::uint32_t rank = 0; rank < counts_.size(); ++rank)
    random_.emplace_back(Options().phased.seed, rank);
}

void CentralDivision::collect(const Demand& demand) {
  own_.clear();
  own_.push_back(demand.limit);
  own_.push_back(pieces_.next(demand));
  for (const std::uint64_t cost : demand.ready)
    if (cost > 0 && own_.size() < header_words + most_sources_) own_.push_back(cost);
}

/// Writes the shares over the matrix, without the headers.
void CentralDivision::solve() {
  auto from = all_.begin();
  auto to = all_.begin();
  for (std::size_t rank = 0; rank < counts_.size(); ++rank) {
    const std::size_t sources = static_cast<std::size_t>(counts_[rank]) - header_words;
    credited_.resize(sources);
    schedule::apportion(heuristic_, {{from + header_words, sources}, from[0], from[1]},
                        random_[rank], credited_);
    from += static_cast<std::ptrdiff_t>(header_words + sources);
    to = std::copy(credited_.begin(), credited_.end(), to);
    counts_[rank] -= static_cast<int>(header_words);
  }
}

void CentralDivision::divide(const Demand& demand, std::span<std::uint64_t> shares) {
  collect(demand);
  const std::span<int> counts(counts_.data(), counts_.size());
  mpi::gather_lists(channel_, own_, counts, all_, ledger_);
  solve();
  mpi::scatter_lists(channel_, all_, counts, own_, ledger_);
  std::size_t taken = 0;
  for (std::size_t s = 0; s < shares.size(); ++s)
    shares[s] = demand.ready[s] > 0 && taken < own_.size() ? own_[taken++] : 0;
}

MatrixRoom room_for_matrix(const mpi::Channel& channel, Ledger& ledger, std::size_t sources) {
  Array<std::uint64_t> all(ledger, mpi::ranks_on_root(channel));
  const std::array<std::uint64_t, 1> mine{sources};
  mpi::gather_words(channel, mine, {all.data(), all.size()});
  if (all.size() == 0) return {};
  return {sum_of({all.data(), all.size()}), *std::max_element(all.begin(), all.end())};
}

}  // namespace valet::zoltan
