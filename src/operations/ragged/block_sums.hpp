// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Checksums of blocks of different sizes from end to end (Options::verify): of all that goes from
/// one rank to another the sum over the blocks of hashes, each seeded with the block's number among
/// them, so that their order counts, too.

#include "base/diagnose.hpp"
#include "mpi/neighbour_words.hpp"
#include "operations/ragged/plan_state.hpp"

#include <xxhash.h>

#include <cstdint>
#include <optional>
#include <span>

namespace valet::ragged {

class BlockSums {
 public:
  /// @throws std::bad_alloc. Local.
  explicit BlockSums(PlanState& plan)
      : plan_(plan), outgoing_(plan.base.ledger), incoming_(plan.base.ledger) {
    const auto list = [](Vector<Sum>& sums, std::span<const RankBlocks> peers) {
      sums.reserve(peers.size());
      for (const RankBlocks& peer : peers) sums.push_back({.rank = peer.rank});
    };
    list(outgoing_, plan.destinations.peers());
    list(incoming_, plan.incoming);
  }

  /// Adds up what is there before. Local.
  void before(std::span<const Arena> arenas, std::span<const int> ranks) {
    for (std::size_t a = 0; a < arenas.size(); ++a) {
      for (Sum& sum : outgoing_) sum.other = 0;
      const std::byte* data = arenas[a].data;
      for (std::uint64_t k = 0; k < ranks.size(); ++k) {
        const std::size_t peer = plan_.destinations.index_of(ranks[k]);
        if (peer < outgoing_.size()) {
          Sum& sum = outgoing_[peer];
          sum.sum += hash_of(arenas[a], data, k, sum.other++, a);
        }
        data += arenas[a].bytes_of(k);
      }
    }
  }

  /// Compares with what is there afterwards: what is wrong, if anything. Collective.
  [[nodiscard]] std::optional<Diagnostic> after(std::span<const Arena> arenas) {
    const int rank = plan_.base.channel.rank();
    mpi::exchange_words(
        plan_.base.channel, plan_.base.ledger, mpi::tag_checksum, 1, std::span(outgoing_),
        std::span(incoming_),
        [](const Sum& sum, std::span<std::uint64_t> word) { word[0] = sum.sum; },
        [](Sum& sum, std::span<const std::uint64_t> word) { sum.other = word[0]; });
    if (const Sum* const own = mpi::find_peer(std::span(outgoing_), rank))
      mpi::find_peer(std::span(incoming_), rank)->other = own->sum;
    for (std::size_t a = 0; a < arenas.size(); ++a)
      if (!add_up(arenas[a], a))
        return diagnose(ErrorCode::corrupted,
                        "the lengths of blocks are not what they were; restart from a checkpoint "
                        "and report this");
    for (std::size_t p = 0; p < incoming_.size(); ++p)
      if (incoming_[p].sum != incoming_[p].other)
        return diagnose(ErrorCode::corrupted, "the ", plan_.incoming[p].blocks,
                        " blocks from rank ", incoming_[p].rank,
                        " are not what that rank sent; restart from a checkpoint and report this");
    return std::nullopt;
  }

 private:
  /// The checksum of the blocks for or from a peer.
  struct Sum {
    int rank = 0;
    std::uint64_t sum = 0;
    std::uint64_t other = 0;  ///< blocks so far; incoming: what the sender says
  };

  /// The hash of the k-th block of those that go the same way, in the arena of that number.
  static std::uint64_t hash_of(const Arena& arena, const std::byte* data, std::uint64_t block,
                               std::uint64_t k, std::size_t number) {
    constexpr std::uint64_t seeds_per_block = 64;  // more than arenas
    return XXH3_64bits_withSeed(data, static_cast<std::size_t>(arena.length_of(block)),
                                k * seeds_per_block + number);
  }

  /// Blocks that stay come first. False where the lengths cannot be right.
  [[nodiscard]] bool add_up(const Arena& arena, std::size_t number) {
    std::uint64_t block = 0, begin = 0;
    const auto add = [&](Sum& sum, std::uint64_t blocks) {
      for (std::uint64_t k = 0; k < blocks; ++k, ++block) {
        const std::uint64_t left = arena.capacity_bytes - begin;
        if (arena.length_of(block) > left || arena.bytes_of(block) > left) return false;
        sum.sum += hash_of(arena, arena.data + begin, block, k, number);
        begin += arena.bytes_of(block);
      }
      return true;
    };
    for (const bool stays : {true, false})
      for (std::size_t p = 0; p < incoming_.size(); ++p)
        if ((incoming_[p].rank == plan_.base.channel.rank()) == stays &&
            !add(incoming_[p], plan_.incoming[p].blocks))
          return false;
    return true;
  }

  PlanState& plan_;
  Vector<Sum> outgoing_, incoming_;  ///< ascending by rank
};

}  // namespace valet::ragged
