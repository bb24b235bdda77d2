// SPDX-License-Identifier: BSD-3-Clause
#include "operations/ragged/arena_move.hpp"

#include "base/memory_reserve.hpp"
#include "mpi/check.hpp"
#include "mpi/neighbour_words.hpp"
#include "plan/planner.hpp"
#include <valet/block_storage.hpp>
#include <valet/plan.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

namespace valet::ragged {
namespace {

constexpr std::size_t word = sizeof(std::uint64_t);

std::uint64_t words_of(const Segment& segment) {
  return (segment.fragment_bytes() + word - 1) / word;
}

}  // namespace

ArenaMove::ArenaMove(PlanState& plan, const Arena& arena, std::size_t number,
                     const Options& options)
    : plan_(plan),
      arena_(arena),
      number_(number),
      rank_(plan.base.channel.rank()),
      pages_(plan::Access::make(std::make_unique<plan::State>(plan.base.channel.again(), options))),
      state_(plan::Access::state_of(pages_)),
      outgoing_(plan.base.ledger, plan.page_bytes),
      incoming_(plan.base.ledger) {
  plan_.base.ledger.add(own_bytes);
}

bool ArenaMove::list_pages(std::span<const int> ranks) {
  const std::span<const Peer> peers = plan_.destinations.peers();
  outgoing_.reserve(peers.size());
  for (std::size_t p = 0; p < peers.size(); ++p)
    outgoing_.add(peers[p].rank, plan_.bytes_out.at(p, number_), plan_.starts_out.at(p, number_));
  list_incoming();
  outgoing_.start_list();
  bool fits = true;
  for_each_run(arena_, ranks, plan_.destinations, [&](std::size_t stream, std::uint64_t bytes) {
    fits = fits && outgoing_.list(stream, bytes);
  });
  return fits && outgoing_.is_complete();
}

/// Blocks that stay come first, then those of the other ranks.
void ArenaMove::list_incoming() {
  incoming_.reserve(plan_.incoming.size());
  std::uint64_t begin = 0;
  slots_ = outgoing_.pages();
  const auto cut = [&](Segment& segment) {
    static_cast<operations::PageCut&>(segment) =
        operations::cut_into_pages(begin, segment.bytes, plan_.page_bytes);
    segment.begin = begin;
    begin += segment.bytes;
    if (segment.pages > 0) slots_ = std::max(slots_, segment.first_page + segment.pages);
  };
  for (std::size_t p = 0; p < plan_.incoming.size(); ++p) {
    Segment segment;
    segment.rank = plan_.incoming[p].rank;
    segment.bytes = plan_.bytes_in.at(p, number_);
    incoming_.push_back(segment);
    if (segment.rank == rank_) cut(incoming_.back());
  }
  for (Segment& segment : incoming_)
    if (segment.rank != rank_) cut(segment);
}

/// Only the sender knows how it cuts its pages into messages.
void ArenaMove::exchange_message_sizes() {
  const std::uint64_t leaving =
      operations::sum_of_others(outgoing_.segments(), rank_, &Segment::pages);
  const std::uint64_t blocks = leaving > 0 ? plan::message_blocks(state_, leaving) : 1;
  const auto one = [](const Segment& segment) {
    return std::uint64_t{segment.pages > 0 ? 1U : 0U};
  };
  const auto provide = [&](const Segment&, std::uint64_t, std::span<std::uint64_t> words) {
    words[0] = blocks;
  };
  const auto consume = [](Segment& segment, std::uint64_t, std::span<const std::uint64_t> words) {
    segment.message_blocks = words[0];
  };
  mpi::NeighbourWords(state_.channel, plan_.base.ledger, mpi::tag_cuts, 1,
                      mpi::PeerWords{outgoing_.segments(), rank_, one, provide},
                      mpi::PeerWords{std::span(incoming_), rank_, one, consume})
      .run();
}

void ArenaMove::plan_pages(std::uint64_t budget_bytes) {
  state_.options.budget_bytes = static_cast<std::size_t>(budget_bytes);
  const BlockStorage pages{field(arena_.data, slots_, static_cast<std::size_t>(plan_.page_bytes))};
  state_.blocks = pages.backend().traits();
  exchange_message_sizes();
  std::optional<Diagnostic> diagnostic = detail::unless_out_of_memory(
      [&] {
        operations::build_page_flows(
            state_, plan::Form::slots, slots_, outgoing_.segments(),
            [&](const Segment& segment, std::uint64_t k) { return outgoing_.slot(segment, k); },
            std::span(incoming_),
            [](const Segment& segment, std::uint64_t k) { return segment.first_page + k; });
      },
      [&] {
        return Diagnostic{ErrorCode::out_of_memory,
                          "no memory for lists of " + std::to_string(slots_) +
                              " pages; raise the smallest budget_bytes of all ranks, then pages "
                              "are larger"};
      });
  outgoing_.free_list();
  if (!diagnostic) diagnostic = plan::check_budget(state_);
  // Plans of many arenas, one after the other, must not use up what is held back.
  if (!diagnostic && !detail::MemoryReserve::is_held())
    diagnostic = Diagnostic{ErrorCode::out_of_memory, "no memory to plan the pages of an arena"};
  plan::agree_on_flows(state_, diagnostic, plan::Form::slots, true);
  operations::prepare_method(state_);
}

Report ArenaMove::run(std::span<const int> ranks, storage::CallScratch& scratch,
                      std::span<std::byte> fragments) {
  const double start = mpi::now();
  {
    const observe::TraceSpan span(state_.observer.trace, observe::TraceKind::copy, "into pages");
    outgoing_.start(arena_.data, fragments);
    for_each_run(arena_, ranks, plan_.destinations,
                 [&](std::size_t stream, std::uint64_t bytes) { outgoing_.append(stream, bytes); });
  }
  const double sorted = mpi::now();
  const BlockStorage pages{field(arena_.data, slots_, static_cast<std::size_t>(plan_.page_bytes))};
  Report report = operations::execute_pages(pages_, pages, scratch);
  const double moved = mpi::now();
  exchange_fragments();
  report.exchange_seconds += mpi::now() - moved;
  report.local_seconds += sorted - start;
  return report;
}

/// Bytes of the head and the tail of a segment, from the `first` of them on, to where they belong.
void ArenaMove::take_fragments(const Segment& segment, std::uint64_t first,
                               std::span<const std::byte> bytes) const {
  const auto copy = [&](std::uint64_t begin, std::uint64_t end, std::byte* to) {
    const std::uint64_t from = std::max(first, begin);
    const std::uint64_t behind = std::min(first + bytes.size(), end);
    if (from < behind)
      std::memcpy(to + (from - begin), bytes.data() + (from - first), behind - from);
  };
  std::byte* const head = arena_.data + segment.begin;
  copy(0, segment.head_bytes, head);
  copy(segment.head_bytes, segment.fragment_bytes(),
       head + segment.head_bytes + segment.pages * plan_.page_bytes);
}

/// All pages are in their slots: nothing else is where heads and tails belong.
void ArenaMove::exchange_fragments() {
  constexpr std::size_t entries = 256;
  const auto provide = [](const Segment& segment, std::uint64_t first,
                          std::span<std::uint64_t> words) {
    const std::span<const std::byte> rest =
        PageStreams::fragments_of(segment).subspan(static_cast<std::size_t>(first * word));
    std::memcpy(words.data(), rest.data(), std::min(rest.size(), words.size_bytes()));
  };
  const auto consume = [&](const Segment& segment, std::uint64_t first,
                           std::span<const std::uint64_t> words) {
    take_fragments(segment, first * word, std::as_bytes(words));
  };
  mpi::NeighbourWords(state_.channel, plan_.base.ledger, mpi::tag_fragments, entries,
                      mpi::PeerWords{outgoing_.segments(), rank_, words_of, provide},
                      mpi::PeerWords{std::span(incoming_), rank_, words_of, consume})
      .run();
  if (const Segment* const own = mpi::find_peer(outgoing_.segments(), rank_))
    take_fragments(*mpi::find_peer(std::span(incoming_), rank_), 0,
                   PageStreams::fragments_of(*own));
}

}  // namespace valet::ragged
