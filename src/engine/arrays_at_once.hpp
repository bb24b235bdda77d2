// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Moves what two grids share at once (engine/at_once.hpp): all that leaves is packed into scratch,
/// and what arrives is unpacked from there. Nothing is written before all that is read has been
/// packed, so source and target may be the same array.

#include "engine/array_part.hpp"
#include "engine/at_once.hpp"
#include "mpi/channel.hpp"
#include "observe/observer.hpp"
#include <valet/report.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace valet::layout {

class ArraysAtOnce {
 public:
  /// Local.
  /// @param peers  Are taken.
  ArraysAtOnce(const mpi::Channel& channel, Ledger& ledger, std::size_t element_bytes,
               ArrayPeers&& peers, const OutgoingPart& outgoing, const IncomingPart& incoming)
      : observer_(*observe::observer_of(channel)),
        element_bytes_(element_bytes),
        peers_(std::move(peers)),
        outgoing_(outgoing),
        incoming_(incoming),
        messages_(channel, ledger, peers_.sources.size(), peers_.destinations.size()) {
    // Nobody is everybody's first: sends go to the ranks behind this one in ring order, and those
    // before it are unpacked first.
    const auto rotate = [&channel](Vector<ArrayPeer>& list) {
      std::rotate(list.begin(),
                  std::ranges::upper_bound(list, channel.rank(), {}, &ArrayPeer::rank), list.end());
    };
    rotate(peers_.destinations);
    rotate(peers_.sources);
    std::ranges::reverse(peers_.sources);
  }

  /// Scratch that run() needs. [local]
  [[nodiscard]] static std::uint64_t scratch_bytes(const ArrayPeers& peers,
                                                   std::size_t element_bytes) {
    return static_cast<std::uint64_t>(peers.elements_sent + peers.elements_received +
                                      peers.own_elements) *
           element_bytes;
  }
  /// Moves everything. Collective, blocking. Fills in what was moved. Where it throws, scratch may
  /// not be freed.
  void run(std::span<std::byte> scratch, Report& report) {
    std::byte* const leaving = receive_all(scratch.data());
    messages_.meet();
    std::byte* const own = send_all(leaving);
    if (peers_.own_elements > 0) {
      pack(outgoing_.own_rank, peers_.own_elements, own);
      unpack(incoming_.own_rank, peers_.own_elements, own);
    }
    const std::byte* arrived = scratch.data();
    for (std::size_t k = 0; k < peers_.sources.size(); ++k) {
      messages_.wait_for(k);
      arrived = unpack(peers_.sources[k].grid_rank, peers_.sources[k].elements, arrived);
    }
    messages_.wait_for_sends();
    report.messages += peers_.destinations.size();
    report.blocks_sent += static_cast<std::uint64_t>(peers_.elements_sent);
    report.bytes_sent += bytes_of(peers_.elements_sent);
    report.blocks_received += static_cast<std::uint64_t>(peers_.elements_received);
    report.local_copies += static_cast<std::uint64_t>(peers_.own_elements);
  }

 private:
  [[nodiscard]] std::size_t bytes_of(std::int64_t elements) const {
    return static_cast<std::size_t>(elements) * element_bytes_;
  }
  std::byte* receive_all(std::byte* arriving) {
    for (const ArrayPeer& peer : peers_.sources) {
      messages_.receive(peer.rank, arriving, bytes_of(peer.elements));
      arriving += bytes_of(peer.elements);
    }
    return arriving;
  }
  std::byte* send_all(std::byte* packed) {
    for (const ArrayPeer& peer : peers_.destinations) {
      std::byte* const begin = packed;
      packed = pack(peer.grid_rank, peer.elements, packed);
      messages_.send(peer.rank, begin, bytes_of(peer.elements));
    }
    return packed;
  }
  std::byte* pack(int grid_rank, std::int64_t elements, std::byte* packed) const {
    const observe::TraceSpan span(observer_.trace, observe::TraceKind::gather, "gather",
                                  {.bytes = bytes_of(elements)});
    outgoing_.copy->pack(outgoing_.array, {grid_rank, 0, elements}, packed);
    observer_.moved(static_cast<std::uint64_t>(elements));
    return packed + bytes_of(elements);
  }
  const std::byte* unpack(int grid_rank, std::int64_t elements, const std::byte* packed) const {
    const observe::TraceSpan span(observer_.trace, observe::TraceKind::scatter, "scatter",
                                  {.bytes = bytes_of(elements)});
    incoming_.copy->unpack(packed, {grid_rank, 0, elements}, incoming_.array);
    observer_.moved(static_cast<std::uint64_t>(elements));
    return packed + bytes_of(elements);
  }

  const observe::Observer& observer_;
  std::size_t element_bytes_;
  ArrayPeers peers_;  ///< beginning beside this rank
  OutgoingPart outgoing_;
  IncomingPart incoming_;
  engine::AtOnce messages_;
};

}  // namespace valet::layout
