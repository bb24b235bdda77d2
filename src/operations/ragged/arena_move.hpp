// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// One arena on its way, as streams of blocks.

#include "operations/ragged/arenas.hpp"
#include "operations/ragged/plan_state.hpp"
#include "pages/stream_move.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace valet::ragged {

/// One execution for one arena on one rank.
class ArenaMove {
 public:
  /// @param plan     Must outlive this, as must `arena`.
  /// @param number   Of the arena.
  /// @param options  Of the pages, but for the budget.
  ArenaMove(PlanState& plan, const Arena& arena, std::size_t number, const Options& options);
  ArenaMove(const ArenaMove&) = delete;
  ArenaMove& operator=(const ArenaMove&) = delete;
  ~ArenaMove() { plan_.base.ledger.subtract(static_cast<std::size_t>(counted_bytes) + own_bytes); }

  /// Finds where pages will stand. @throws std::bad_alloc. False where the map or the lengths are
  /// not those of the plan. Local.
  [[nodiscard]] bool list_pages(std::span<const int> ranks);
  /// Scratch for heads and tails.
  [[nodiscard]] std::uint64_t fragment_bytes() const { return move_.outgoing().fragment_bytes(); }
  /// Plans the exchange of pages. Collective.
  /// @throws Error on all ranks alike.
  void plan_pages(std::uint64_t budget_bytes);
  /// Memory for the exchange. @throws std::bad_alloc. Local.
  /// @param list_bytes  Gets what run() allocates besides.
  [[nodiscard]] std::uint64_t workspace_bytes(std::uint64_t& list_bytes);

  /// Moves everything. Collective.
  /// @param fragments  fragment_bytes().
  Report run(std::span<const int> ranks, std::span<std::byte> fragments);

  [[nodiscard]] plan::State& state() { return move_.state(); }
  /// Pages that leave this rank or arrive, once planned.
  [[nodiscard]] std::uint64_t moved_pages() { return move_.pages().moved_pages(); }
  /// What the ledger of the plan counts of this one's.
  std::uint64_t counted_bytes = 0;

 private:
  void list_incoming();

  /// Every arena has one.
  static constexpr std::size_t own_bytes = sizeof(plan::State) + sizeof(call::Frame) + 1024;

  PlanState& plan_;
  const Arena& arena_;
  std::size_t number_;
  pages::StreamMove move_;
};

}  // namespace valet::ragged
