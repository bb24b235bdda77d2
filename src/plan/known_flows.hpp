// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Flows without a map: where both sides of every flow know its blocks beforehand.

#include "mpi/peer_words.hpp"
#include "plan/planner.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace valet::plan {

/// What stands in slots 0, 1, ... before and after, by peers, which ascend by their member rank;
/// this rank is among them where blocks stay.
///
/// Out and In have peers(), a span, and for each peer blocks(peer) and slot(peer, k) of its k-th
/// block: Out ascending in k, where it stands; In where it belongs. In also has
/// message_blocks(peer), as message_blocks() gave it to that rank.
template <class Out, class In>
class KnownFlows {
 public:
  KnownFlows(State& state, Out out, In in)
      : state_(state), rank_(state.channel.rank()), out_(out), in_(in) {}

  /// Fills in the flows of the state.
  /// @param form  slots, or fill: then arrivals take the holes and In::slot() is not asked.
  /// @param slots  Used before or after.
  void build(Form form, std::uint64_t slots) {
    if (slots > std::numeric_limits<std::uint32_t>::max())
      state_.flows.emplace<Flows<std::uint64_t>>(state_.ledger);
    state_.visit([&](auto& flows) {
      flows.form = form;
      flows.slots = slots;
      list_outgoing(flows);
      if (form == Form::slots) list_local_moves(flows);
      list_incoming(flows);
    });
  }

 private:
  template <class Index>
  void list_outgoing(Flows<Index>& flows) {
    Ledger& ledger = state_.ledger;
    flows.initially_free = storage::SlotSet(ledger, flows.slots);
    flows.initially_free.insert(storage::SlotRun{0, flows.slots});
    flows.outgoing.reserve(out_.peers().size());
    Index leaving = 0;
    for (auto& peer : out_.peers()) {
      const auto blocks = static_cast<Index>(out_.blocks(peer));
      flows.blocks_before += blocks;
      if (peer.rank == rank_)
        flows.blocks_resident = blocks;
      else if (blocks > 0)
        flows.outgoing.push_back({peer.rank, blocks, leaving});
      if (peer.rank != rank_) leaving = static_cast<Index>(leaving + blocks);
    }
    flows.exports = Array<Index>(ledger, leaving);
    Index* to = flows.exports.begin();
    for (auto& peer : out_.peers())
      for (std::uint64_t k = 0; k < out_.blocks(peer); ++k) {
        const std::uint64_t slot = out_.slot(peer, k);
        flows.initially_free.erase(slot);
        if (peer.rank != rank_) *to++ = static_cast<Index>(slot);
      }
    if (flows.form == Form::slots) return;
    flows.holes = flows.initially_free.grown(ledger, flows.slots);
    for (const Index slot : flows.exports) flows.holes.insert(slot);
  }

  template <class Index>
  void list_local_moves(Flows<Index>& flows) {
    auto* const from = mpi::find_peer(out_.peers(), rank_);
    if (from == nullptr) return;
    auto& to = *mpi::find_peer(in_.peers(), rank_);
    const auto for_each = [&](auto&& action) {
      for (std::uint64_t k = 0; k < out_.blocks(*from); ++k)
        if (out_.slot(*from, k) != in_.slot(to, k)) action(out_.slot(*from, k), in_.slot(to, k));
    };
    std::size_t moves = 0;
    for_each([&](std::uint64_t, std::uint64_t) { ++moves; });
    flows.resident_from = Array<Index>(state_.ledger, moves);
    flows.resident_to = Array<Index>(state_.ledger, moves);
    moves = 0;
    for_each([&](std::uint64_t old_slot, std::uint64_t new_slot) {
      flows.resident_from[moves] = static_cast<Index>(old_slot);
      flows.resident_to[moves++] = static_cast<Index>(new_slot);
    });
  }

  template <class Index>
  void list_incoming(Flows<Index>& flows) {
    for (auto& peer : in_.peers())
      if (peer.rank != rank_) flows.blocks_arriving += in_.blocks(peer);
    flows.blocks_after = flows.blocks_resident + flows.blocks_arriving;
    const bool has_slots = flows.form == Form::slots;
    if (has_slots) flows.arrivals = Array<Index>(state_.ledger, flows.blocks_arriving);
    auto cursor = static_cast<Index>(has_slots ? 0 : flows.holes.next(0));
    flows.incoming.reserve(in_.peers().size());
    for (auto& peer : in_.peers()) {
      const auto blocks = static_cast<Index>(in_.blocks(peer));
      if (peer.rank == rank_ || blocks == 0) continue;
      for (std::uint64_t k = 0; has_slots && k < blocks; ++k)
        flows.arrivals[cursor + k] = static_cast<Index>(in_.slot(peer, k));
      flows.incoming.push_back(
          {peer.rank, blocks, cursor, static_cast<Index>(in_.message_blocks(peer))});
      cursor = flows.advance(cursor, blocks);
    }
  }

  State& state_;
  int rank_;
  Out out_;
  In in_;
};

}  // namespace valet::plan
