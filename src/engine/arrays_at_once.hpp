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
  engine::AtOnce messages(channel, ledger, count_ranks(peers.sources),
                          count_ranks(peers.destinations));
  // Sends go to the ranks behind this one in ring order, and those before it are unpacked first.
  rotate_behind(peers.destinations, channel.rank());
  rotate_behind(peers.sources, channel.rank());
  std::ranges::reverse(peers.sources);
  std::byte* packed = scratch.data();
  for_each_rank(peers.sources, [&](std::span<ArrayPeer> cells) {
    std::ranges::reverse(cells);
    const std::size_t bytes = copies.bytes_of(ArrayPeers::sum_of(cells));
    messages.receive(cells.front().rank, packed, bytes);
    packed += bytes;
  });
  messages.meet();
  for_each_rank(peers.destinations, [&](std::span<ArrayPeer> cells) {
    const std::byte* const message = packed;
    for (const ArrayPeer& peer : cells) {
      pack(copies, peer.all(), packed);
      packed += copies.bytes_of(peer.elements);
    }
    messages.send(cells.front().rank, message, static_cast<std::size_t>(packed - message));
  });
  for (std::size_t k = 0; k < peers.own_sent.size(); ++k) {
    pack(copies, peers.own_sent[k].all(), packed);
    unpack(copies, peers.own_received[k].all(), packed);
  }
  packed = scratch.data();
  std::size_t message = 0;
  for_each_rank(peers.sources, [&](std::span<ArrayPeer> cells) {
    messages.wait_for(message++);
    for (const ArrayPeer& peer : cells) {
      unpack(copies, peer.all(), packed);
      packed += copies.bytes_of(peer.elements);
    }
  });
  messages.wait_for_sends();
  report.messages += messages.messages();
  peers.report_to(report, copies);
}

}  // namespace valet::layout
