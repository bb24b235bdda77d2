// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// One arena on its way, as segments of blocks.

#include "base/lent_memory.hpp"
#include "operations/ragged/arenas.hpp"
#include "operations/ragged/plan_state.hpp"
#include "pages/segment_move.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace valet::ragged {

/// One execution for one arena on one rank.
class ArenaMove : public pages::SegmentMove {
 public:
  /// @param plan     Must outlive this, as must `arena`.
  /// @param number   The index of the arena.
  /// @param options  For the pages; the budget comes later.
  ArenaMove(PlanState& plan, const Arena& arena, std::size_t number, const Options& options)
      : SegmentMove(std::make_unique<plan::State>(call::Frame::part_of(*plan.base.frame), options),
                    plan.base.ledger, arena.data, plan.page_bytes, false),
        plan_(plan),
        arena_(arena),
        number_(number) {
    plan_.base.ledger.add(own_bytes);
  }
  ArenaMove(const ArenaMove&) = delete;
  ArenaMove& operator=(const ArenaMove&) = delete;
  ~ArenaMove() { plan_.base.ledger.subtract(static_cast<std::size_t>(counted_bytes) + own_bytes); }

  /// Finds where pages will stand. @throws std::bad_alloc. False where the map or the lengths are
  /// not those of the plan. Local.
  [[nodiscard]] bool list_pages(std::span<const int> ranks) {
    const std::span<const RankBlocks> peers = plan_.destinations.peers();
    outgoing().reserve(peers.size());
    for (std::size_t p = 0; p < peers.size(); ++p)
      outgoing().add(peers[p].rank, plan_.bytes_out.at(p, number_),
                     plan_.starts_out.at(p, number_));
    incoming().reserve(plan_.incoming.size());
    plan_.for_each_begin(number_, [&](std::size_t p, std::uint64_t begin) {
      receive(plan_.incoming[p].rank, plan_.bytes_in.at(p, number_), begin);
    });
    outgoing().start_list();
    bool fits = true;
    for_each_block(arena_, ranks, plan_.destinations,
                   [&](std::size_t segment, std::uint64_t bytes) {
                     if (segment < peers.size()) fits = fits && outgoing().list(segment, bytes);
                   });
    return fits && outgoing().is_complete();
  }
  /// Plans the exchange of pages. Collective.
  /// @throws Error on all ranks alike.
  void plan_pages(std::uint64_t budget_bytes) {
    state().page_budget = plan_.page_budget();
    state().options.budget_bytes = static_cast<std::size_t>(budget_bytes);
    // For further arenas nothing is sent before all agree that there is memory for the first.
    plan(std::nullopt, pages::PageOrder::permuted, number_ == 0);
    outgoing().free_list();
  }
  /// Memory for the exchange. What the method keeps from one execution to the next is made again by
  /// run(), in memory that all arenas use one after the other. @throws std::bad_alloc. Local.
  /// @param list_bytes  Gets what run() allocates besides.
  [[nodiscard]] std::uint64_t workspace_bytes(std::uint64_t& list_bytes) {
    const std::size_t before = state().ledger.current_bytes();
    const std::uint64_t bytes = PageMove::workspace_bytes();
    list_bytes = state().ledger.current_bytes() - before + detail::LentMemory::margin;
    return bytes;
  }

  /// Moves everything. Collective.
  /// @param fragments  fragment_bytes() of the outgoing segments, or more.
  Report run(std::span<const int> ranks, std::span<std::byte> fragments) {
    struct FreeExecutor {
      std::shared_ptr<plan::Executor>& executor;
      ~FreeExecutor() { executor.reset(); }
    } const free_executor{state().executor};
    return SegmentMove::run(fragments, [&] {
      for_each_block(arena_, ranks, plan_.destinations,
                     [&, segments = plan_.destinations.peers().size()](std::size_t segment,
                                                                       std::uint64_t bytes) {
                       segment < segments ? outgoing().append(segment, bytes)
                                          : outgoing().skip(bytes);
                     });
    });
  }

  /// What the ledger of the plan counts of this one's.
  std::uint64_t counted_bytes = 0;

 private:
  /// Every arena has one.
  static constexpr std::size_t own_bytes = sizeof(plan::State) + sizeof(call::Frame) + 1024;

  PlanState& plan_;
  const Arena& arena_;
  std::size_t number_;
};

}  // namespace valet::ragged
