// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Pages to the ranks and the slots where they belong, then the heads and tails around them.
///
/// Pages move as the blocks of a plan. In a map to slots a page lands in its slot if that is free,
/// else in another one and is copied once more: good where what arrives takes the place of what
/// leaves for the same rank. Where pages that stay stand in the way, it is twice as fast to move
/// them in Order::any, where each takes a hole that another one has just left, and then to bring
/// all into order by one permutation inside the rank.
///
/// Completeness. Before, the pages of all segments stand packed from slot 0 on, in slots of the
/// memory; afterwards each has a slot of its own that lies within the bytes that the rank ends
/// with, hence within the memory, too. In between they are in slots below the larger of the two
/// numbers of pages. One page of scratch is the slot that has to be free: what engine/ stream.cpp
/// shows holds, whatever is free in the memory, nothing included. When all pages are in their
/// slots, the bytes of heads and tails lie in slots of no page: nobody's any more, so they are
/// received straight into place.
///
/// Memory beside the budget, with 32-bit indices: 16 bytes a page and three bitmaps at most.

#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "flows/move_flows.hpp"
#include "mpi/agreement.hpp"
#include "mpi/check.hpp"
#include "mpi/neighbour_words.hpp"
#include "pages/page_segments.hpp"
#include "plan/any_order.hpp"
#include "plan/plan_state.hpp"
#include "plan/planner.hpp"
#include "storage/local_redistribution.hpp"
#include "storage/node_segment.hpp"
#include "storage/slot_set.hpp"
#include <valet/block_storage.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace valet::pages {

/// The options of a plan that moves pages.
[[nodiscard]] inline Options page_options(Method method, bool share_memory, bool keep_memory) {
  Options options;
  options.method = method;
  options.share_memory = share_memory;
  options.keep_memory = keep_memory;
  return options;
}

/// The error that DIRECT cannot hold everything at once, for an agreement that knows what is
/// enough.
/// @param what  What it holds.
[[nodiscard]] inline Diagnostic too_small_for_direct(const char* what, std::uint64_t budget_bytes) {
  return diagnose(ErrorCode::budget_too_small, "method direct needs ", mpi::enough_mark,
                  " bytes for ", what, "; the budget is ", budget_bytes,
                  "; set budget_bytes to that on all ranks, or take method stream");
}

enum class PageOrder {
  any,       ///< pages may end in any order, in the first slots
  slots,     ///< in their slots, by a map to slots
  permuted,  ///< in their slots, by Order::any and a permutation
};

/// Whether others can take the pages of this rank from its memory, without messages. Local.
/// @param budget_bytes  What pages are moved with.
[[nodiscard]] inline bool can_be_taken(const plan::State& state, std::uint64_t budget_bytes,
                                       const void* data, std::uint64_t bytes) {
  // Room for all that waits in Order::any (schedule/grains.hpp). Without it pages go as messages.
  constexpr std::uint64_t least_budget_bytes = std::uint64_t{2} << 20;
  const mpi::Channel& channel = state.channel;
  const Method method = state.options.method;
  return budget_bytes >= least_budget_bytes &&
         (method == Method::stream || method == Method::automatic) &&
         channel.node_ranks().size() == static_cast<std::size_t>(channel.size()) &&
         (bytes == 0 || storage::find_in_segments(static_cast<const std::byte*>(data)));
}
/// How pages get into their slots. They are taken in any order only, but that and a permutation
/// copy them twice, as messages do, which are not needed then.
/// @param all_taken  can_be_taken() on all ranks.
[[nodiscard]] constexpr PageOrder order_of_slots(bool all_taken) {
  return all_taken ? PageOrder::permuted : PageOrder::slots;
}

/// The pages of one memory on one rank.
class PageMove {
 public:
  /// @param state  The state of a plan to be: channel, options and ledger are used.
  explicit PageMove(std::unique_ptr<plan::State> state) : plan_(std::move(state)), state_(*plan_) {}

  [[nodiscard]] plan::State& state() { return state_; }
  /// Pages that leave this rank or arrive, once planned.
  [[nodiscard]] std::uint64_t moved_pages() const {
    return state_.flows.exports.size() + state_.flows.blocks_arriving;
  }

  /// Plans what moves. Collective.
  /// @param mine   What this rank found wrong before.
  /// @param data   The memory: as many slots of `page_bytes` as pages stand in before and after.
  /// @param from   Where pages will stand; ascending within a segment. Not used afterwards.
  /// @param to     Where they belong. Likewise.
  /// @param order  The same on all ranks.
  /// @param asks   Whether ranks ask each other for the size of messages, which they write to `to`;
  ///               else messages are single pages, and there is no communication before all agree.
  ///               The same on all ranks.
  /// @throws Error on all ranks alike.
  void plan(std::optional<Diagnostic> mine, std::byte* data, std::uint64_t page_bytes,
            const PageSide& from, const PageSide& to, PageOrder order, bool asks = true) {
    data_ = data;
    page_bytes_ = page_bytes;
    for (const PageSide* const side : {&from, &to})
      for (const Segment& segment : side->segments)
        if (segment.pages > 0)
          slots_ = std::max(slots_, side->slot(segment, segment.pages - 1) + 1);
    state_.blocks.block_bytes = static_cast<std::size_t>(page_bytes);
    if (asks) exchange_message_sizes(from, to);
    std::optional<Diagnostic> found = detail::unless_out_of_memory(
        [&] {
          const BlockStorage pages = storage();
          state_.blocks = pages.backend().traits();
          state_.blocks.runs_are_contiguous = true;  // where there are none, too
          if (plan::can_number(state_, slots_)) fill_in(state_.flows, from, to, order);
          return pages.backend().diagnostic();
        },
        [this] { return no_memory(); });
    // Plans of many memories, one after the other, must not use up what is held back.
    if (!detail::MemoryReserve::is_held()) found = no_memory();
    if (!mine) mine = std::move(found);
    if (!mine) mine = plan::check_budget(state_);
    const plan::Form form = order == PageOrder::slots ? plan::Form::slots : plan::Form::any;
    plan::agree_on_flows(state_, mine, form);
    flows::prepare(state_);
  }

  /// Scratch for the move; makes what else it needs. @throws std::bad_alloc. Local.
  [[nodiscard]] std::uint64_t workspace_bytes() {
    return std::max<std::uint64_t>(flows::workspace_bytes(state_),
                                   origin_count_ > 0 ? page_bytes_ : 0);
  }

  /// Moves the pages, in scratch of workspace_bytes() that has been taken. Collective. The report's
  /// bound is what taking pages adds to that of the caller.
  /// @param make_pages  Called when all ranks have agreed that nothing is wrong.
  Report run(const std::function<void()>& make_pages) {
    begin(make_pages);
    return finish();
  }
  /// The same in two parts, between which progress() goes on as flows::progress() does.
  void begin(const std::function<void()>& make_pages) {
    pages_ = storage();
    std::span<std::byte> lent = state_.memory.scratch();
    if (!lent.empty())
      lent = state_.memory.scratch_beside(pages_->backend().contiguous_data(),
                                          flows::workspace_bytes(state_));
    flows::begin(state_, *pages_, lent, make_pages);
  }
  [[nodiscard]] bool progress() { return flows::progress(state_); }
  Report finish() {
    Report report = flows::finish(state_);
    report.extra_bytes_bound = state_.taking_bytes;
    const double start = mpi::now();
    if (origin_count_ > 0) {
      const observe::TraceSpan span(state_.observer.trace, observe::TraceKind::copy,
                                    "pages into order");
      storage::Origins origins{{origins_.data(), origins_.size()}, origin_count_};
      report.local_copies +=
          storage::redistribute_locally(pages_->backend(), origins, free_, state_.memory.scratch());
    }
    report.local_seconds += mpi::now() - start;
    return report;
  }

 private:
  /// Only the sender knows how it cuts its pages into messages.
  void exchange_message_sizes(const PageSide& from, const PageSide& to) {
    const int rank = state_.channel.rank();
    plan::Departures leaving;
    for (const Segment& segment : from.segments)
      if (segment.rank != rank) leaving.add(segment.pages);
    message_pages_ = leaving.blocks > 0 ? plan::message_blocks(state_, leaving) : 1;
    mpi::exchange_words(
        state_.channel, state_.ledger, mpi::tag_cuts, 1, from.segments, to.segments,
        [&](const Segment& segment) { return segment.rank != rank && segment.pages > 0; },
        [&](const Segment&, std::span<std::uint64_t> word) { word[0] = message_pages_; },
        [](Segment& segment, std::span<const std::uint64_t> word) {
          segment.message_pages = static_cast<std::uint32_t>(word[0]);
        });
  }
  void fill_in(plan::Flows& flows, const PageSide& from, const PageSide& to, PageOrder order) {
    const int rank = state_.channel.rank();
    flows.form = order == PageOrder::slots ? plan::Form::slots : plan::Form::any;
    flows.slots = slots_;
    flows.message_blocks = message_pages_;
    flows.any.grain = schedule::grain_blocks(static_cast<std::size_t>(page_bytes_),
                                             static_cast<std::uint64_t>(state_.channel.size() - 1));
    flows.any.rank = rank;
    flows.any.ranks = state_.channel.size();
    list_exports(flows, from);
    flows.blocks_after = flows.blocks_resident;
    flows.incoming.reserve(to.segments.size());
    for (const Segment& segment : to.segments)
      if (segment.rank != rank && segment.pages > 0)
        flows.add_incoming(segment.rank, segment.pages, segment.message_pages);
    if (order == PageOrder::slots) return list_slots(flows, from, to);
    free_ = flows.initially_free.grown(state_.ledger, slots_);
    for (const SlotIndex slot : flows.exports) free_.insert(slot);
    plan::complete_any_order(state_.ledger, flows, free_, static_cast<std::size_t>(page_bytes_));
    if (order == PageOrder::permuted) list_origins(flows, to);
  }
  void list_exports(plan::Flows& flows, const PageSide& from) {
    const int rank = state_.channel.rank();
    flows.initially_free = storage::SlotSet(state_.ledger, slots_);
    flows.initially_free.insert(storage::SlotRun{0, slots_});
    flows.outgoing.reserve(from.segments.size());
    flows.exports =
        Array<SlotIndex>(state_.ledger, sum_of_others(from.segments, rank, &PageCut::pages));
    std::uint32_t leaving = 0;
    for (const Segment& segment : from.segments) {
      const auto pages = static_cast<SlotIndex>(segment.pages);
      if (segment.rank == rank)
        flows.blocks_resident = pages;
      else if (pages > 0)
        flows.outgoing.push_back({segment.rank, pages, leaving});
      for (std::uint64_t k = 0; k < pages; ++k) {
        const std::uint64_t slot = from.slot(segment, k);
        flows.initially_free.erase(slot);
        if (segment.rank != rank) flows.exports[leaving++] = static_cast<SlotIndex>(slot);
      }
    }
    flows.blocks_before = flows.blocks_resident + leaving;
  }
  /// Where pages land in a map to slots, and where those go that stay.
  void list_slots(plan::Flows& flows, const PageSide& from, const PageSide& to) {
    const int rank = state_.channel.rank();
    flows.arrivals = Array<SlotIndex>(state_.ledger, flows.blocks_arriving);
    SlotIndex* next = flows.arrivals.begin();
    for (const Segment& segment : to.segments)
      for (std::uint64_t k = 0; segment.rank != rank && k < segment.pages; ++k)
        *next++ = static_cast<SlotIndex>(to.slot(segment, k));
    const Segment* const own = mpi::find_peer(from.segments, rank);
    if (own == nullptr) return;
    const Segment& target = *mpi::find_peer(to.segments, rank);
    flows.list_local_moves(state_.ledger, [&](auto&& move) {
      for (std::uint64_t k = 0; k < own->pages; ++k)
        if (from.slot(*own, k) != to.slot(target, k)) move(from.slot(*own, k), to.slot(target, k));
    });
  }
  /// Finds where the page of each slot is when the engine is done: pages that stay are there in the
  /// order of their segment, others in the holes that they took.
  void list_origins(const plan::Flows& flows, const PageSide& to) {
    const int rank = state_.channel.rank();
    origins_ = Array<SlotIndex>(state_.ledger, slots_);
    std::ranges::fill(origins_, storage::Origins::none);
    const auto note = [&](std::uint64_t slot, std::uint64_t origin) {
      if (slot == origin) return;
      origins_[slot] = static_cast<SlotIndex>(origin);
      ++origin_count_;
    };
    if (const Segment* const own = mpi::find_peer(to.segments, rank)) {
      std::uint64_t from = 0, moved = 0;
      for (std::uint64_t k = 0; k < own->pages; ++k, ++from) {
        from = free_.next_absent(from);
        note(to.slot(*own, k), from < flows.blocks_after ? from : flows.resident_to[moved++]);
      }
    }
    schedule::GrainOrder imports(state_.ledger, flows.incoming.size(), flows.any.grain);
    plan::HoleWalk holes(state_.ledger, flows);
    plan::for_each_landing(
        flows, imports, holes, [&](const schedule::FlowRun& run, SlotList landed) {
          const Segment& segment = *mpi::find_peer(to.segments, flows.incoming[run.flow].rank);
          for (std::size_t i = 0; i < landed.size(); ++i)
            note(to.slot(segment, run.first + i), landed[i]);
        });
    free_.clear();
    free_.insert(storage::SlotRun{flows.blocks_after, slots_ - flows.blocks_after});
  }
  [[nodiscard]] BlockStorage storage() const {
    return BlockStorage{field(data_, slots_, static_cast<std::size_t>(page_bytes_))};
  }
  [[nodiscard]] Diagnostic no_memory() const {
    return diagnose(ErrorCode::out_of_memory, "no memory for lists of ", slots_,
                    " pages; raise the smallest budget_bytes of all ranks, then pages are larger");
  }

  std::optional<BlockStorage> pages_;  ///< while they move; before the plan, which refers to it
  std::unique_ptr<plan::State> plan_;  ///< its ledger counts all below
  plan::State& state_;
  std::byte* data_ = nullptr;
  std::uint64_t page_bytes_ = 1, slots_ = 0;
  storage::SlotSet free_;  ///< once everything that leaves has left; at last: once all is in place
  Array<SlotIndex> origins_;  ///< where each slot's page is
  std::uint64_t origin_count_ = 0;
  std::uint64_t message_pages_ = 0;  ///< as announced
};

/// Sends what fills no page.
/// @param take  take(segment, first, bytes): bytes of an incoming one, from the `first` on.
template <class Take>
void exchange_fragments(const mpi::Channel& channel, Ledger& ledger, PageSegments& outgoing,
                        std::span<Segment> incoming, Take&& take) {
  constexpr std::size_t entries = 256, word = sizeof(std::uint64_t);
  const auto words_of = [](const Segment& segment) {
    return (segment.fragment_bytes() + word - 1) / word;
  };
  const auto provide = [&](const Segment& segment, std::uint64_t first,
                           std::span<std::uint64_t> words) {
    const std::span<const std::byte> rest =
        outgoing.fragments_of(segment).subspan(static_cast<std::size_t>(first * word));
    std::memcpy(words.data(), rest.data(), std::min(rest.size(), words.size_bytes()));
  };
  const auto consume = [&](const Segment& segment, std::uint64_t first,
                           std::span<const std::uint64_t> words) {
    const std::uint64_t left = segment.fragment_bytes() - first * word;
    take(segment, first * word,
         std::as_bytes(words).first(
             static_cast<std::size_t>(std::min<std::uint64_t>(words.size_bytes(), left))));
  };
  const int rank = channel.rank();
  mpi::NeighbourWords(channel, ledger, mpi::tag_fragments, entries,
                      mpi::PeerWords{outgoing.segments(), rank, words_of, provide},
                      mpi::PeerWords{incoming, rank, words_of, consume})
      .run();
  if (const Segment* const own = mpi::find_peer(outgoing.segments(), rank))
    if (own->fragment_bytes() > 0)
      take(*mpi::find_peer(incoming, rank), 0,
           std::span<const std::byte>(outgoing.fragments_of(*own)));
}

}  // namespace valet::pages
