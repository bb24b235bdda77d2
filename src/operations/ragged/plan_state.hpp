// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "mpi/neighbour_words.hpp"
#include "operations/ragged/arenas.hpp"
#include "pages/page_sizes.hpp"
#include "plan/plan_state.hpp"
#include <valet/ragged_storage.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace valet::ragged {

/// Bytes of each arena for or from each peer, or where they begin.
class ArenaBytes {
 public:
  ArenaBytes() = default;
  /// All zero. @throws std::bad_alloc.
  ArenaBytes(Ledger& ledger, std::size_t peers, std::size_t arenas)
      : words_(ledger, peers * arenas), arenas_(arenas) {
    std::ranges::fill(words_, std::uint64_t{0});
  }
  /// The bytes of all arenas, in their order.
  [[nodiscard]] std::span<std::uint64_t> of_peer(std::size_t peer) {
    return {words_.data() + peer * arenas_, arenas_};
  }
  [[nodiscard]] std::uint64_t& at(std::size_t peer, std::size_t arena) {
    return words_[peer * arenas_ + arena];
  }
  /// The bytes of an arena, for or from all peers.
  [[nodiscard]] std::uint64_t sum(std::size_t arena) const {
    std::uint64_t bytes = 0;
    for (std::size_t k = arena; k < words_.size(); k += arenas_)
      bytes = detail::bounded_sum(bytes, words_[k]);
    return bytes;
  }

 private:
  Array<std::uint64_t> words_;
  std::size_t arenas_ = 0;
};

/// What is behind a RaggedPlan.
struct PlanState {
  PlanState(std::shared_ptr<call::Frame> call, const Options& options)
      : base(std::move(call), options),
        destinations(base.ledger),
        incoming(base.ledger),
        arenas(base.ledger) {}

  /// The channel, the options, the ledger that counts everything in the end; its flows stay empty.
  plan::State base;
  Destinations destinations;    ///< this rank included, where blocks stay
  Vector<RankBlocks> incoming;  ///< likewise, ascending
  ArenaBytes bytes_out, bytes_in;
  ArenaBytes starts_out;  ///< where the bytes for each rank will begin there, modulo the page
  Vector<Arena> arenas;   ///< as planned; memory may be another when the plan is carried out
  std::size_t fields = 0;
  std::uint64_t blocks_before = 0, blocks_after = 0, blocks_leaving = 0, blocks_arriving = 0;
  std::uint64_t blocks_dropped = 0;  ///< among those before
  std::uint64_t page_bytes = 0;      ///< the same on all ranks
  std::uint64_t list_bytes = 0;      ///< part of the budget
  bool anything_moves = false;       ///< on any rank
  std::uint64_t fingerprint = 0;     ///< fingerprint_of() the map and the lengths

  /// The part of the budget that pages do not get: those of the largest size leave half of a budget
  /// of twice their buffers, and what is shared for the first arena is at most half of the rest.
  [[nodiscard]] plan::PageBudget page_budget() const {
    constexpr std::uint64_t page = detail::most_page_bytes;
    return {.whole = base.options.budget_bytes,
            .largest_page = page,
            .beside = list_bytes + 2 * pages::buffered_pages(destinations.peers().size()) * page,
            .plans = arenas.size() > 1 ? 2U : 1U};
  }
  /// Before or afterwards. The bytes before may be 2^64 - 1 at most: they are in memory.
  [[nodiscard]] std::uint64_t most_bytes(std::size_t arena) const {
    return std::max(bytes_out.sum(arena), required_bytes(arena));
  }
  [[nodiscard]] std::uint64_t required_bytes(std::size_t arena) const {
    return bytes_in.sum(arena);
  }
  [[nodiscard]] std::uint64_t neighbours() const {
    return mpi::count_neighbours(destinations.peers(), incoming, base.channel.rank());
  }
  /// Calls action(p, begin) for the peers that blocks come from, ascending: where their bytes will
  /// begin in an arena. Blocks that stay come first, then those of the other ranks.
  template <class Action>
  void for_each_begin(std::size_t arena, Action&& action) {
    const RankBlocks* const own = mpi::find_peer(std::span(incoming), base.channel.rank());
    std::uint64_t next = 0;
    if (own != nullptr) next = bytes_in.at(static_cast<std::size_t>(own - incoming.data()), arena);
    for (std::size_t p = 0; p < incoming.size(); ++p) {
      const bool stays = &incoming[p] == own;
      action(p, stays ? 0 : next);
      if (!stays) next += bytes_in.at(p, arena);
    }
  }
};

struct Access {
  [[nodiscard]] static PlanState& state_of(RaggedPlan& plan) { return *plan.state_; }
  /// plan_to_ranks() over a channel. Collective.
  [[nodiscard]] static RaggedPlan make_plan(mpi::Channel channel, const RaggedStorage& storage,
                                            std::uint64_t count, std::span<const int> ranks,
                                            const Options& options);
};

}  // namespace valet::ragged
