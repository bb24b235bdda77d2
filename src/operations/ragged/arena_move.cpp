// SPDX-License-Identifier: BSD-3-Clause
#include "operations/ragged/arena_move.hpp"

#include "base/lent_memory.hpp"

#include <memory>

namespace valet::ragged {

ArenaMove::ArenaMove(PlanState& plan, const Arena& arena, std::size_t number,
                     const Options& options)
    : plan_(plan),
      arena_(arena),
      number_(number),
      move_(std::make_unique<plan::State>(call::Frame::part_of(*plan.base.frame), options),
            plan.base.ledger, arena.data, plan.page_bytes, false) {
  plan_.base.ledger.add(own_bytes);
}

bool ArenaMove::list_pages(std::span<const int> ranks) {
  const std::span<const Peer> peers = plan_.destinations.peers();
  pages::PageStreams& outgoing = move_.outgoing();
  outgoing.reserve(peers.size());
  for (std::size_t p = 0; p < peers.size(); ++p)
    outgoing.add(peers[p].rank, plan_.bytes_out.at(p, number_), plan_.starts_out.at(p, number_));
  list_incoming();
  outgoing.start_list();
  bool fits = true;
  for_each_block(arena_, ranks, plan_.destinations, [&](std::size_t stream, std::uint64_t bytes) {
    fits = fits && outgoing.list(stream, bytes);
  });
  return fits && outgoing.is_complete();
}

/// Blocks that stay come first, then those of the other ranks.
void ArenaMove::list_incoming() {
  const std::span<const Peer> peers = plan_.incoming;
  const int rank = plan_.base.channel.rank();
  move_.incoming().reserve(peers.size());
  std::uint64_t begin = 0;
  for (std::size_t p = 0; p < peers.size(); ++p)
    if (peers[p].rank == rank) begin = plan_.bytes_in.at(p, number_);
  for (std::size_t p = 0; p < peers.size(); ++p) {
    const std::uint64_t bytes = plan_.bytes_in.at(p, number_);
    move_.receive(peers[p].rank, bytes, peers[p].rank == rank ? 0 : begin);
    if (peers[p].rank != rank) begin += bytes;
  }
}

void ArenaMove::plan_pages(std::uint64_t budget_bytes) {
  state().page_budget = plan_.page_budget();
  state().options.budget_bytes = static_cast<std::size_t>(budget_bytes);
  // For further arenas nothing is sent before all agree that there is memory for the first.
  move_.plan(std::nullopt, pages::PageOrder::permuted, number_ == 0);
  move_.outgoing().free_list();
}

/// What the method keeps from one execution to the next is made again by run(), in memory that all
/// arenas use one after the other.
std::uint64_t ArenaMove::workspace_bytes(std::uint64_t& list_bytes) {
  const std::size_t before = state().ledger.current_bytes();
  const std::uint64_t bytes = move_.pages().workspace_bytes();
  list_bytes = state().ledger.current_bytes() - before + detail::LentMemory::margin;
  return bytes;
}

Report ArenaMove::run(std::span<const int> ranks, std::span<std::byte> fragments) {
  struct FreeWorkspace {
    std::shared_ptr<plan::Workspace>& workspace;
    ~FreeWorkspace() { workspace.reset(); }
  } const free_workspace{state().workspace};
  return move_.run(fragments, [&] {
    for_each_block(arena_, ranks, plan_.destinations, [&](std::size_t stream, std::uint64_t bytes) {
      move_.outgoing().append(stream, bytes);
    });
  });
}

}  // namespace valet::ragged
