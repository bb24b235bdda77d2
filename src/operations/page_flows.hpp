// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Pages as the blocks of a plan: flows without a map, where both sides know the pages of each.

#include "mpi/neighbour_words.hpp"
#include "plan/plan_state.hpp"
#include "storage/call_scratch.hpp"
#include <valet/plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

namespace valet::operations {

/// Buffers of fragments begin at whole words, so that these travel in words.
[[nodiscard]] constexpr std::size_t whole_words(std::size_t bytes) {
  constexpr std::size_t word = sizeof(std::uint64_t);
  return (bytes + word - 1) / word * word;
}

/// The options of a plan that moves pages.
[[nodiscard]] inline Options page_options(Method method, bool share_memory, bool keep_memory,
                                          const std::string& trace) {
  Options options;
  options.method = method;
  options.share_memory = share_memory;
  options.keep_memory = keep_memory;
  options.trace = trace;
  options.progress_bar = false;
  return options;
}

/// The sum of a member over the peers that are not this rank.
template <class Peer, class Owner>
[[nodiscard]] std::uint64_t sum_of_others(std::span<Peer> peers, int rank,
                                          std::uint64_t Owner::*member) {
  std::uint64_t sum = 0;
  for (const Peer& peer : peers) sum += peer.rank == rank ? 0 : peer.*member;
  return sum;
}

template <class Index, class Peer, class FromSlot>
void list_outgoing_pages(Ledger& ledger, plan::Flows<Index>& flows, std::span<Peer> peers, int rank,
                         FromSlot&& from_slot) {
  flows.initially_free = storage::SlotSet(ledger, flows.slots);
  flows.initially_free.insert(storage::SlotRun{0, flows.slots});
  flows.outgoing.reserve(peers.size());
  flows.exports = Array<Index>(ledger, sum_of_others(peers, rank, &Peer::pages));
  Index leaving = 0;
  for (Peer& peer : peers) {
    const auto pages = static_cast<Index>(peer.pages);
    if (peer.rank == rank)
      flows.blocks_resident = pages;
    else if (pages > 0)
      flows.outgoing.push_back({peer.rank, pages, leaving});
    for (std::uint64_t k = 0; k < pages; ++k) {
      const std::uint64_t slot = from_slot(peer, k);
      flows.initially_free.erase(slot);
      if (peer.rank != rank) flows.exports[leaving++] = static_cast<Index>(slot);
    }
  }
  flows.blocks_before = flows.blocks_resident + leaving;
}

/// The last step of making any plan, once its flows and its method are agreed upon: memory shared
/// inside nodes, room for a schedule, clocks for the trace. Collective.
/// @throws Error budget_too_small on all ranks alike.
void prepare_method(plan::State& state);

/// Bytes of this rank that are shared with the node: by this plan, or by what is kept. [local]
[[nodiscard]] inline std::size_t kept_bytes(const plan::State& state) {
  const auto kept = storage::KeptNodeMemory::of(state.channel);
  return std::max(state.node->memory.bytes(), kept ? kept->memory.bytes() : std::size_t{0});
}
/// What they leave of the budget. [local]
[[nodiscard]] inline std::size_t scratch_limit(const plan::State& state) {
  const std::size_t budget = state.options.budget_bytes;
  return budget - std::min(budget, kept_bytes(state));
}
/// Scratch within that limit, with room for execute_pages() to align it. @throws std::bad_alloc.
/// Local.
[[nodiscard]] inline storage::CallScratch scratch_for(plan::State& state, std::size_t bytes) {
  constexpr std::size_t line = 64;
  return {state.channel, state.ledger, bytes > 0 ? bytes + line : 0, scratch_limit(state),
          state.options.keep_memory};
}

/// What is kept of it while there is no plan yet, so that it is counted meanwhile.
/// @param chooses  Whether a method is chosen: measuring the machine takes the budget.
[[nodiscard]] inline storage::CallScratch scratch_while_planning(plan::State& state, bool chooses) {
  if (chooses && !state.channel.machine()) state.channel.take_scratch().reset();
  return scratch_for(state, 0);
}

/// execute() with such scratch. Collective.
/// @param scratch  Of scratch_for(plan.workspace_bytes()); where it is empty, there is memory of
/// the plan's own.
[[nodiscard]] Report execute_pages(Plan& plan, const BlockStorage& pages,
                                   storage::CallScratch& scratch);

/// Fills in the flows of a state.
///
/// Peers ascend by their `rank`, this rank among them where pages stay, and have a number of
/// `pages`; the incoming ones also the `message_blocks` that message_blocks() gave to that rank.
///
/// @param form       slots, or fill: then arrivals take the holes and to_slot is not asked.
/// @param slots      Used before or after.
/// @param from_slot  from_slot(peer, k) is where the k-th page stands, ascending in k.
/// @param to_slot    to_slot(peer, k) is where it belongs.
template <class Out, class FromSlot, class In, class ToSlot>
void build_page_flows(plan::State& state, plan::Form form, std::uint64_t slots,
                      std::span<Out> outgoing, FromSlot&& from_slot, std::span<In> incoming,
                      ToSlot&& to_slot) {
  if (slots > std::numeric_limits<std::uint32_t>::max())
    state.flows.emplace<plan::Flows<std::uint64_t>>(state.ledger);
  Ledger& ledger = state.ledger;
  const int rank = state.channel.rank();
  state.visit([&]<class Index>(plan::Flows<Index>& flows) {
    flows.form = form;
    flows.slots = slots;
    list_outgoing_pages(ledger, flows, outgoing, rank, from_slot);
    Out* const own = mpi::find_peer(outgoing, rank);
    if (form == plan::Form::fill) {
      flows.holes = flows.initially_free.grown(ledger, slots);
      for (const Index slot : flows.exports) flows.holes.insert(slot);
    } else if (own != nullptr) {
      In& target = *mpi::find_peer(incoming, rank);
      flows.list_local_moves(ledger, [&](auto&& move) {
        for (std::uint64_t k = 0; k < own->pages; ++k)
          if (from_slot(*own, k) != to_slot(target, k))
            move(from_slot(*own, k), to_slot(target, k));
      });
    }
    flows.incoming.reserve(incoming.size());
    for (const In& peer : incoming)
      if (peer.rank != rank && peer.pages > 0)
        flows.add_incoming(peer.rank, peer.pages, peer.message_blocks);
    flows.blocks_after = flows.blocks_resident + flows.blocks_arriving;
    if (form == plan::Form::fill) return;
    flows.arrivals = Array<Index>(ledger, flows.blocks_arriving);
    Index* next = flows.arrivals.begin();
    for (In& peer : incoming)
      for (std::uint64_t k = 0; peer.rank != rank && k < peer.pages; ++k)
        *next++ = static_cast<Index>(to_slot(peer, k));
  });
}

}  // namespace valet::operations
