// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Memory shared by the ranks of a node: each rank offers one segment to the ranks that send to it,
/// and these write their blocks straight into it. Between two processes of a node that is the
/// cheapest way: two copies by the processors, where a message by the kernel copies once but looks
/// up and pins every page of the sender (measured: half of its time).

#include "mpi/channel.hpp"
#include "storage/handover.hpp"
#include "storage/shared_segment.hpp"
#include <valet/export.hpp>
#include <valet/ledger.hpp>

#include <cstddef>
#include <functional>
#include <limits>
#include <span>

namespace valet::storage {

/// What a rank offers, and what of other ranks it reaches. Empty until connect().
class VALET_EXPORT NodeMemory {
 public:
  explicit NodeMemory(Ledger& ledger);
  NodeMemory(const NodeMemory&) = delete;
  NodeMemory& operator=(const NodeMemory&) = delete;
  ~NodeMemory();

  /// Shares memory with neighbours that can: all are on this rank's node, by MPI's account.
  ///
  /// Collective over each pair of neighbours; ranks without any return at once. Where the system
  /// does not let processes share, the pair stays without: nothing fails.
  ///
  /// @param destinations  Ranks that this one sends to, ascending. [local]
  /// @param sources       Ranks that send to this one, ascending. [local]
  /// @param allowance     Bytes of the largest segment that this rank may offer or reach; 0 to take
  ///                      no part. A segment gets the least allowance of all that use it. [local]
  /// @param wish          Bytes that the own segment needs not exceed. [local]
  /// @param is_idle       No rank takes part, so nobody is asked. [global]
  /// Memory: the segment, 4 bytes a neighbour, 36 more on the node, and 4 KiB for the time of the
  /// call.
  void connect(const mpi::Channel& channel, std::span<const int> destinations,
               std::span<const int> sources, std::size_t allowance,
               std::size_t wish = std::numeric_limits<std::size_t>::max(), bool is_idle = false);

  /// Whether connect() would change nothing that is needed: all ranks were asked, and the memory
  /// is neither more than is allowed now nor much less than is wished for. [local]
  [[nodiscard]] bool serves(std::span<const int> destinations, std::span<const int> sources,
                            std::size_t allowance, std::size_t wish) const;

  /// The segment that this rank offers. [local]
  [[nodiscard]] std::span<std::byte> own() const { return {own_.data(), own_.size()}; }
  /// Whether `memory` is in it. [local]
  [[nodiscard]] bool contains(const std::byte* memory) const {
    return std::less_equal<>()(own_.data(), memory) &&
           std::less<>()(memory, own_.data() + own_.size());
  }
  /// How others are to write into it.
  [[nodiscard]] Handover& handover() const { return handover_; }
  /// Whether `source` writes into it. [local]
  [[nodiscard]] bool is_written_by(int source) const;
  /// Whether this rank reaches memory of others, or offers its own. [local]
  [[nodiscard]] bool shares() const { return own_.size() > 0 || !peers_.empty(); }
  /// Bytes of the segments that this rank reaches. [local]
  [[nodiscard]] std::size_t mapped_bytes() const;
  /// Those and its own. [local]
  [[nodiscard]] std::size_t bytes() const { return own().size() + mapped_bytes(); }
  /// The segment of a rank that this one sends to; nullptr where there is none. [local]
  [[nodiscard]] std::byte* of(int destination) const;

 private:
  struct Peer {
    int rank = 0;
    storage::SharedSegment segment;
  };

  Ledger& ledger_;
  Vector<int> destinations_, sources_;  ///< that were asked
  std::size_t asked_bytes_ = 0;         ///< for the own segment
  storage::SharedSegment own_;
  Vector<int> writers_;  ///< ascending
  Vector<Peer> peers_;   ///< ascending by rank
  mutable Handover handover_;
};

/// What a call wants of memory shared inside nodes.
struct VALET_EXPORT NodeWish {
  /// Those of the ranks, ascending, that are on this node.
  NodeWish(const mpi::Channel& channel, Vector<int> to, Vector<int> from);

  Vector<int> destinations, sources;
  std::size_t allowance = 0;
  std::size_t wish = 0;
  std::size_t least = 0;  ///< of what is kept: bytes of the own segment, where there is one
};

}  // namespace valet::storage
