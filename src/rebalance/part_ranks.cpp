// SPDX-License-Identifier: BSD-3-Clause
#include "rebalance/part_ranks.hpp"

#include "base/memory_reserve.hpp"
#include "mpi/agreement.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace valet::rebalance {

PartRanks::PartRanks(const mpi::Channel& communicator, Ledger& ledger, const PartCounts& counts)
    : ranks_(communicator.size()),
      count_(counts.global.value_or(ranks_)),
      shares_ranks_(count_ > ranks_) {
  if (!counts.are_given) return;
  if (!mpi::on_some_rank(communicator, counts.local.has_value())) return;
  Array<int> all;
  mpi::agree(communicator, detail::unless_out_of_memory(
                               [&] { all = Array<int>(ledger, static_cast<std::size_t>(ranks_)); },
                               "no memory for 4 bytes per rank"));
  const int own = counts.local.value_or(-1);
  mpi::gather_everywhere(communicator, std::as_bytes(std::span(&own, 1)),
                         std::as_writable_bytes(std::span(all.data(), all.size())));
  take_local_counts(std::move(all), counts.global);
}

/// Ranks that say nothing share what is left, the last ones the remainder.
void PartRanks::take_local_counts(Array<int> counts, std::optional<int> global) {
  int said = 0;
  int silent = 0;
  for (const int count : counts) (count < 0 ? silent : said) += count < 0 ? 1 : count;
  count_ = global.value_or(said);
  const int left = std::max(0, count_ - said);
  int next = 0;
  int silent_before = 0;
  shares_ranks_ = false;
  for (int& count : counts) {
    if (count < 0) {
      count = left / silent + (silent - silent_before <= left % silent ? 1 : 0);
      ++silent_before;
    }
    shares_ranks_ = shares_ranks_ || count > 1;
    next += std::exchange(count, next);
  }
  first_part_ = std::move(counts);
}

/// Where there are fewer parts than ranks.
int PartRanks::first_rank_of(int part) const {
  if (part == count_) return ranks_;
  const int without_another = count_ - 1 - ranks_ % count_;
  return part * (ranks_ / count_) + std::max(0, part - without_another);
}

int PartRanks::rank_of(int part, std::uint64_t lot) const {
  if (first_part_.size() > 0)  // a rank without parts has the first part of the next one
    return static_cast<int>(std::ranges::upper_bound(first_part_, part) - first_part_.begin()) - 1;
  if (count_ < ranks_) {
    const int first = first_rank_of(part);
    const auto ranks = static_cast<std::uint64_t>(first_rank_of(part + 1) - first);
    return first + static_cast<int>(lot % ranks);
  }
  const int each = count_ / ranks_;
  const int with_each = ranks_ - count_ % ranks_;  // the others have one more
  if (part < each * with_each) return part / each;
  return with_each + (part - each * with_each) / (each + 1);
}

int PartRanks::part_of(int rank) const {
  if (first_part_.size() > 0) return first_part_[static_cast<std::size_t>(rank)];
  int part = 0;
  if (count_ < ranks_)  // the last one that begins at or before the rank
    while (part + 1 < count_ && first_rank_of(part + 1) <= rank) ++part;
  else
    while (rank_of(part, 0) < rank) ++part;
  return part;
}

}  // namespace valet::rebalance
