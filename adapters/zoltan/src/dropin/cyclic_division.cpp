// SPDX-License-Identifier: BSD-3-Clause
#include "cyclic_division.hpp"

#include "mpi/root.hpp"
#include "schedule/apportionment.hpp"

#include <algorithm>
#include <tuple>

namespace valet::zoltan {
/// The search; of what it schedules only what can begin at once is kept, two words for each rank
/// that receives, in the order of the ranks.
class CyclicDivision::Search final : public schedule::CyclicLink {
 public:
  explicit Search(CyclicDivision& division) : division_(division) {
    for (const schedule::TransferEntry& edge : division.edges_)
      ++division.first_edge_[edge.source + 1];
    for (std::size_t rank = 0; rank < division.counts_.size(); ++rank) {
      const std::uint32_t edges = division.first_edge_[rank + 1];
      division.scheduler_.set(static_cast<std::uint32_t>(rank),
                              {.edges = edges, .free = schedule::most_blocks});
      division.first_edge_[rank + 1] += division.first_edge_[rank];
    }
  }
  schedule::Edge next_edge(std::uint32_t rank) override {
    const schedule::TransferEntry& edge = division_.edges_[division_.first_edge_[rank]++];
    return {edge.destination, edge.blocks};
  }
  void schedule(std::uint32_t rank, const schedule::Action& action) override {
    if (action.step > 0 || action.source == schedule::no_rank) return;
    const std::size_t at = 2 * std::size_t{rank};
    division_.counts_[rank] = 2;
    division_.all_[at] = action.source;
    division_.all_[at + 1] = action.blocks;
  }

 private:
  CyclicDivision& division_;
};

CyclicDivision::CyclicDivision(const mpi::Channel& channel, Ledger& ledger,
                               std::span<const Peer> sources, const MatrixRoom& room)
    : channel_(channel),
      ledger_(ledger),
      sources_(sources),
      own_(ledger),
      counts_(ledger, mpi::ranks_on_root(channel)),
      all_(ledger),
      edges_(ledger),
      first_edge_(ledger, counts_.size() + 1),
      scheduler_(ledger, counts_.size()) {
  own_.reserve(2 * sources.size());
  all_.reserve(2 * std::max<std::size_t>(room.pairs, counts_.size()));
  edges_.reserve(room.pairs);
}

/// The columns of all ranks, as rows.
void CyclicDivision::gather(const Demand& demand) {
  own_.clear();
  for (std::size_t s = 0; s < sources_.size(); ++s) {
    if (demand.ready[s] == 0) continue;
    own_.push_back(static_cast<std::uint64_t>(sources_[s].rank));
    own_.push_back(demand.ready[s]);
  }
  mpi::gather_lists(channel_, own_, std::span<int>(counts_.data(), counts_.size()), all_, ledger_);
  edges_.clear();
  std::size_t at = 0;
  for (std::uint32_t rank = 0; rank < counts_.size(); ++rank)
    for (int k = 0; k < counts_[rank]; k += 2, at += 2)
      edges_.push_back({static_cast<std::uint32_t>(all_[at]), rank, all_[at + 1]});
  std::ranges::sort(edges_, {},
                    [](const auto& each) { return std::tie(each.source, each.destination); });
}

bool CyclicDivision::stalled() {
  stalled_ = one_source_;
  return stalled_;
}

void CyclicDivision::divide(const Demand& demand, std::span<std::uint64_t> shares) {
  one_source_ = !stalled_;
  stalled_ = false;
  if (!one_source_) {
    schedule::ReceiverRandom unused(0, 0);
    schedule::apportion(Heuristic::first_fit, {demand.ready, demand.limit, 0}, unused, shares);
    return;
  }
  gather(demand);
  search();
  std::fill(shares.begin(), shares.end(), std::uint64_t{0});
  for (std::size_t s = 0; s < sources_.size() && !own_.empty(); ++s)
    if (static_cast<std::uint64_t>(sources_[s].rank) == own_[0]) shares[s] = own_[1];
}

/// Finds what can begin at once, and sends every rank its part.
void CyclicDivision::search() {
  all_.resize(2 * counts_.size());
  std::fill(counts_.begin(), counts_.end(), 0);
  std::fill(first_edge_.begin(), first_edge_.end(), 0);
  Search link(*this);
  scheduler_.run(link);
  std::size_t kept = 0;
  for (std::size_t rank = 0; rank < counts_.size(); ++rank)
    for (int k = 0; k < counts_[rank]; ++k)
      all_[kept++] = all_[2 * rank + static_cast<std::size_t>(k)];
  mpi::scatter_lists(channel_, all_, {counts_.data(), counts_.size()}, own_, ledger_);
}

}  // namespace valet::zoltan
