// SPDX-License-Identifier: BSD-3-Clause
#include "tools/schedules/cyclic_schedule.hpp"

#include <algorithm>
#include <utility>

namespace valet::schedule {
namespace {

/// The place of `destination` among the edges of `rank`: edges are offered by ascending place.
std::uint32_t edge_place(EdgeOrder order, std::uint32_t rank, std::uint32_t ranks,
                         std::uint32_t destination) {
  if (order == EdgeOrder::ascending) return destination;
  return destination > rank ? destination - rank : destination + (ranks - rank);
}

/// A root that has the edges of all ranks at hand.
class Recorder final : public CyclicLink {
 public:
  Recorder(const TransferMatrix& matrix, EdgeOrder order)
      : edges_(matrix.ranks()), next_(matrix.ranks(), 0), schedule_(matrix.ranks()) {
    for (const TransferEntry& transfer : matrix.transfers())
      edges_[transfer.source].push_back({transfer.destination, transfer.blocks});
    for (std::uint32_t rank = 0; rank < matrix.ranks(); ++rank)
      std::sort(edges_[rank].begin(), edges_[rank].end(), [&](const Edge& a, const Edge& b) {
        return edge_place(order, rank, matrix.ranks(), a.destination) <
               edge_place(order, rank, matrix.ranks(), b.destination);
      });
  }

  [[nodiscard]] std::uint32_t edges(std::uint32_t rank) const {
    return static_cast<std::uint32_t>(edges_[rank].size());
  }
  Edge next_edge(std::uint32_t rank) override { return edges_[rank].at(next_[rank]++); }
  void schedule(std::uint32_t rank, const Action& action) override {
    schedule_[rank].push_back(action);
  }
  CyclicSchedule take_schedule() { return std::move(schedule_); }

 private:
  std::vector<std::vector<Edge>> edges_;
  std::vector<std::size_t> next_;
  CyclicSchedule schedule_;
};

}  // namespace

CyclicSchedule record_cyclic(const TransferMatrix& matrix, std::span<const std::uint64_t> free,
                             EdgeOrder order, std::uint32_t most_increment) {
  Recorder recorder(matrix, order);
  Ledger ledger;
  CyclicScheduler scheduler(ledger, matrix.ranks());
  for (std::uint32_t rank = 0; rank < matrix.ranks(); ++rank)
    scheduler.set(
        rank,
        {.edges = recorder.edges(rank), .most_increment = most_increment, .free = free[rank]});
  scheduler.run(recorder);
  return recorder.take_schedule();
}

CyclicCounts count_actions(const CyclicSchedule& schedule) {
  CyclicCounts counts;
  for (const std::vector<Action>& actions : schedule)
    for (const Action& action : actions) {
      ++counts.actions;
      counts.critical_path = std::max<std::uint64_t>(counts.critical_path, action.step + 1);
      if (action.destination == no_rank) continue;
      counts.volume += action.blocks;
      counts.messages += (action.blocks - 1) / action.increment + 1;
    }
  return counts;
}

}  // namespace valet::schedule
