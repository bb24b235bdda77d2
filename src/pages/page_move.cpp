// SPDX-License-Identifier: BSD-3-Clause
#include "pages/page_move.hpp"

#include "base/memory_reserve.hpp"
#include "flows/move_flows.hpp"
#include "mpi/check.hpp"
#include "plan/any_order.hpp"
#include "plan/holes.hpp"
#include "plan/planner.hpp"
#include "storage/local_redistribution.hpp"

#include <string>
#include <utility>

namespace valet::pages {

PageMove::PageMove(std::unique_ptr<plan::State> state) : plan_(std::move(state)), state_(*plan_) {}

BlockStorage PageMove::storage() const {
  return BlockStorage{field(data_, slots_, static_cast<std::size_t>(page_bytes_))};
}

/// Only the sender knows how it cuts its pages into messages.
void PageMove::exchange_message_sizes(const PageSide& from, const PageSide& to) {
  const int rank = state_.channel.rank();
  plan::Departures leaving;
  for (const Segment& segment : from.segments)
    if (segment.rank != rank) leaving.add(segment.pages);
  const std::uint64_t blocks = leaving.blocks > 0 ? plan::message_blocks(state_, leaving) : 1;
  message_pages_ = blocks;
  const auto one = [](const Segment& segment) {
    return std::uint64_t{segment.pages > 0 ? 1U : 0U};
  };
  const auto provide = [&](const Segment&, std::uint64_t, std::span<std::uint64_t> words) {
    words[0] = blocks;
  };
  const auto consume = [](Segment& segment, std::uint64_t, std::span<const std::uint64_t> words) {
    segment.message_pages = static_cast<std::uint32_t>(words[0]);
  };
  mpi::NeighbourWords(state_.channel, state_.ledger, mpi::tag_cuts, 1,
                      mpi::PeerWords{from.segments, rank, one, provide},
                      mpi::PeerWords{to.segments, rank, one, consume})
      .run();
}

void PageMove::list_exports(plan::Flows& flows, const PageSide& from) {
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

void PageMove::fill_in(plan::Flows& flows, const PageSide& from, const PageSide& to,
                       PageOrder order) {
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

/// Where pages land in a map to slots, and where those go that stay.
void PageMove::list_slots(plan::Flows& flows, const PageSide& from, const PageSide& to) {
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
/// order of their stream, others in the holes that they took.
void PageMove::list_origins(const plan::Flows& flows, const PageSide& to) {
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
      flows, imports, holes, [&](const schedule::FlowPiece& piece, SlotList landed) {
        const Segment& segment = *mpi::find_peer(to.segments, flows.incoming[piece.flow].rank);
        for (std::size_t i = 0; i < landed.size(); ++i)
          note(to.slot(segment, piece.first + i), landed[i]);
      });
  free_.clear();
  free_.insert(storage::SlotRun{flows.blocks_after, slots_ - flows.blocks_after});
}

void PageMove::plan(std::optional<Diagnostic> mine, std::byte* data, std::uint64_t page_bytes,
                    const PageSide& from, const PageSide& to, PageOrder order, bool asks) {
  data_ = data;
  page_bytes_ = page_bytes;
  for (const PageSide* const side : {&from, &to})
    for (const Segment& segment : side->segments)
      if (segment.pages > 0) slots_ = std::max(slots_, side->slot(segment, segment.pages - 1) + 1);
  state_.blocks.block_bytes = static_cast<std::size_t>(page_bytes);
  if (asks) exchange_message_sizes(from, to);
  std::optional<Diagnostic> found;
  auto failed = detail::unless_out_of_memory(
      [&] {
        const BlockStorage pages = storage();
        state_.blocks = pages.backend().traits();
        state_.blocks.runs_are_contiguous = true;  // where there are none, too
        found = pages.backend().diagnostic();
        if (plan::can_number(state_, slots_)) fill_in(state_.flows, from, to, order);
      },
      [] { return Diagnostic{}; });
  // Plans of many memories, one after the other, must not use up what is held back.
  if (failed || !detail::MemoryReserve::is_held()) found = no_memory();
  if (!mine) mine = std::move(found);
  if (!mine) mine = plan::check_budget(state_);
  const plan::Form form = order == PageOrder::slots ? plan::Form::slots : plan::Form::any;
  plan::agree_on_flows(state_, mine, form);
  flows::prepare(state_);
}

Diagnostic PageMove::no_memory() const {
  return {ErrorCode::out_of_memory,
          "no memory for lists of " + std::to_string(slots_) +
              " pages; raise the smallest budget_bytes of all ranks, then pages are larger"};
}

std::uint64_t PageMove::workspace_bytes() {
  return std::max<std::uint64_t>(flows::workspace_bytes(state_),
                                 origin_count_ > 0 ? page_bytes_ : 0);
}

Report PageMove::run(const std::function<void()>& make_pages) {
  const BlockStorage pages = storage();
  std::span<std::byte> lent = state_.memory.scratch();
  if (!lent.empty())
    lent = state_.memory.scratch_beside(pages.backend().contiguous_data(),
                                        flows::workspace_bytes(state_));
  Report report = flows::move_flows(state_, pages.backend(), lent, make_pages);
  const double start = mpi::now();
  if (origin_count_ > 0) {
    const observe::TraceSpan span(state_.observer.trace, observe::TraceKind::copy,
                                  "pages into order");
    storage::Origins origins{{origins_.data(), origins_.size()}, origin_count_};
    report.local_copies +=
        storage::redistribute_locally(pages.backend(), origins, free_, state_.memory.scratch());
  }
  report.local_seconds += mpi::now() - start;
  return report;
}

void place_fragments(const Segment& segment, std::uint64_t first, std::span<const std::byte> bytes,
                     std::byte* head, std::byte* tail) {
  const auto copy = [&](std::uint64_t begin, std::uint64_t end, std::byte* to) {
    const std::uint64_t from = std::max(first, begin);
    const std::uint64_t behind = std::min(first + bytes.size(), end);
    if (from < behind)
      std::memcpy(to + (from - begin), bytes.data() + (from - first), behind - from);
  };
  copy(0, segment.head_bytes, head);
  copy(segment.head_bytes, segment.fragment_bytes(), tail);
}

}  // namespace valet::pages
