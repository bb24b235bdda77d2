// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Moves what two grids share at once (engine/at_once.hpp): all that leaves is packed into scratch,
/// and what arrives is unpacked from there. Nothing is written before all that is read has been
/// packed, so source and target may be the same array.

#include "engine/array_part.hpp"
#include "engine/at_once.hpp"
#include <valet/report.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace valet::layout {

/// Scratch that this takes. [local]
[[nodiscard]] inline std::uint64_t bytes_at_once(const ArrayPeers& peers,
                                                 std::size_t element_bytes) {
  return static_cast<std::uint64_t>(peers.elements_sent + peers.elements_received +
                                    peers.own_elements) *
         element_bytes;
}

/// Moves everything. Collective, blocking. Fills in what was moved. Where it throws, scratch may
/// not be freed.
/// @param peers  Are put into another order.
inline void move_at_once(const mpi::Channel& channel, Ledger& ledger, ArrayPeers& peers,
                         const ArrayCopies& copies, std::span<std::byte> scratch, Report& report) {
  engine::AtOnce messages(channel, ledger, peers.sources.size(), peers.destinations.size());
  // Sends go to the ranks behind this one in ring order, and those before it are unpacked first.
  rotate_behind(peers.destinations, channel.rank());
  rotate_behind(peers.sources, channel.rank());
  std::ranges::reverse(peers.sources);
  std::byte* packed = scratch.data();
  for (const ArrayPeer& peer : peers.sources) {
    messages.receive(peer.rank, packed, copies.bytes_of(peer.elements));
    packed += copies.bytes_of(peer.elements);
  }
  messages.meet();
  for (const ArrayPeer& peer : peers.destinations) {
    copies.pack({peer.grid_rank, 0, peer.elements}, packed);
    messages.send(peer.rank, packed, copies.bytes_of(peer.elements));
    packed += copies.bytes_of(peer.elements);
  }
  if (peers.own_elements > 0) {
    copies.pack({copies.outgoing.own_rank, 0, peers.own_elements}, packed);
    copies.unpack({copies.incoming.own_rank, 0, peers.own_elements}, packed);
  }
  packed = scratch.data();
  for (std::size_t k = 0; k < peers.sources.size(); ++k) {
    messages.wait_for(k);
    copies.unpack({peers.sources[k].grid_rank, 0, peers.sources[k].elements}, packed);
    packed += copies.bytes_of(peers.sources[k].elements);
  }
  messages.wait_for_sends();
  report.messages += messages.messages();
  peers.report_to(report, copies);
}

}  // namespace valet::layout
