// SPDX-License-Identifier: BSD-3-Clause
#include "operations/ragged/arena_move.hpp"

#include "base/lent_memory.hpp"
#include "base/memory_reserve.hpp"
#include "mpi/check.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace valet::ragged {
ArenaMove::ArenaMove(PlanState& plan, const Arena& arena, std::size_t number,
                     const Options& options)
    : plan_(plan),
      arena_(arena),
      number_(number),
      rank_(plan.base.channel.rank()),
      pages_(std::make_unique<plan::State>(call::Frame::part_of(*plan.base.frame), options)),
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
  for_each_block(arena_, ranks, plan_.destinations, [&](std::size_t stream, std::uint64_t bytes) {
    fits = fits && outgoing_.list(stream, bytes);
  });
  return fits && outgoing_.is_complete();
}

/// Blocks that stay come first, then those of the other ranks.
void ArenaMove::list_incoming() {
  incoming_.reserve(plan_.incoming.size());
  for (const Peer& peer : plan_.incoming) incoming_.emplace_back().rank = peer.rank;
  std::uint64_t begin = 0;
  const auto cut = [&](std::size_t p) {
    const std::uint64_t bytes = plan_.bytes_in.at(p, number_);
    static_cast<pages::PageCut&>(incoming_[p]) =
        pages::cut_into_pages(begin, bytes, plan_.page_bytes);
    incoming_[p].begin = begin;
    begin += bytes;
  };
  for (std::size_t p = 0; p < incoming_.size(); ++p)
    if (incoming_[p].rank == rank_) cut(p);
  for (std::size_t p = 0; p < incoming_.size(); ++p)
    if (incoming_[p].rank != rank_) cut(p);
}

void ArenaMove::plan_pages(std::uint64_t budget_bytes) {
  state().page_budget = plan_.page_budget();
  state().options.budget_bytes = static_cast<std::size_t>(budget_bytes);
  // For further arenas nothing is sent before all agree that there is memory for the first.
  pages_.plan(std::nullopt, arena_.data, plan_.page_bytes, outgoing_.side(), {incoming_},
              pages::PageOrder::permuted, number_ == 0);
  outgoing_.free_list();
}

/// What the method keeps from one execution to the next is made again by run(), in memory that all
/// arenas use one after the other.
std::uint64_t ArenaMove::workspace_bytes(std::uint64_t& list_bytes) {
  const std::size_t before = state().ledger.current_bytes();
  const std::uint64_t bytes = pages_.workspace_bytes();
  list_bytes = state().ledger.current_bytes() - before + detail::LentMemory::margin;
  return bytes;
}

Report ArenaMove::run(std::span<const int> ranks, std::span<std::byte> fragments) {
  struct FreeWorkspace {
    std::shared_ptr<plan::Workspace>& workspace;
    ~FreeWorkspace() { workspace.reset(); }
  } const free_workspace{state().workspace};
  const double start = mpi::now();
  double sorted = start;
  Report report = pages_.run([&] {
    const observe::TraceSpan span(state().observer.trace, observe::TraceKind::copy, "into pages");
    outgoing_.start(arena_.data, fragments);
    for_each_block(arena_, ranks, plan_.destinations, [&](std::size_t stream, std::uint64_t bytes) {
      outgoing_.append(stream, bytes);
    });
    sorted = mpi::now();
  });
  const double moved = mpi::now();
  exchange_fragments();
  report.exchange_seconds += mpi::now() - moved;
  report.local_seconds += sorted - start;
  return report;
}

/// All pages are in their slots: nothing else is where heads and tails belong.
void ArenaMove::exchange_fragments() {
  const auto fragments = [&](const pages::Segment& segment) {
    return outgoing_.fragments_of(static_cast<std::size_t>(&segment - outgoing_.segments().data()));
  };
  const auto take = [&](const pages::Segment& segment, std::uint64_t first,
                        std::span<const std::byte> bytes) {
    std::byte* const head = arena_.data + segment.begin;
    place_fragments(segment, first, bytes, head,
                    head + segment.head_bytes + segment.pages * plan_.page_bytes);
  };
  pages::exchange_fragments(plan_.base.channel, plan_.base.ledger, outgoing_.segments(),
                            std::span(incoming_), fragments, take);
}

}  // namespace valet::ragged
