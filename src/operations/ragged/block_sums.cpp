// SPDX-License-Identifier: BSD-3-Clause
#include "operations/ragged/block_sums.hpp"

#include "mpi/neighbour_words.hpp"

#include <xxhash.h>

#include <string>

namespace valet::ragged {
namespace {

/// The hash of the k-th block of those that go the same way, in the arena of that number.
std::uint64_t hash_of(const Arena& arena, const std::byte* data, std::uint64_t block,
                      std::uint64_t k, std::size_t number) {
  constexpr std::uint64_t most_arenas = 64;
  return XXH3_64bits_withSeed(data, static_cast<std::size_t>(arena.length_of(block)),
                              k * most_arenas + number);
}

}  // namespace

BlockSums::BlockSums(PlanState& plan)
    : plan_(plan), outgoing_(plan.base.ledger), incoming_(plan.base.ledger) {
  outgoing_.reserve(plan.destinations.peers().size());
  for (const Peer& peer : plan.destinations.peers()) outgoing_.push_back({.rank = peer.rank});
  incoming_.reserve(plan.incoming.size());
  for (const Peer& peer : plan.incoming) incoming_.push_back({.rank = peer.rank});
}

void BlockSums::before(std::span<const Arena> arenas, std::span<const int> ranks) {
  for (std::size_t a = 0; a < arenas.size(); ++a) {
    for (Sum& sum : outgoing_) sum.other = 0;
    const std::byte* data = arenas[a].data;
    for (std::uint64_t k = 0; k < ranks.size(); ++k) {
      Sum& sum = outgoing_[plan_.destinations.place(ranks[k])];
      sum.sum += hash_of(arenas[a], data, k, sum.other++, a);
      data += arenas[a].bytes_of(k);
    }
  }
}

/// Blocks that stay come first. False where the lengths cannot be right.
bool BlockSums::add_up(const Arena& arena, std::size_t number) {
  const int rank = plan_.base.channel.rank();
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
  for (std::size_t p = 0; p < incoming_.size(); ++p)
    if (incoming_[p].rank == rank && !add(incoming_[p], plan_.incoming[p].blocks)) return false;
  for (std::size_t p = 0; p < incoming_.size(); ++p)
    if (incoming_[p].rank != rank && !add(incoming_[p], plan_.incoming[p].blocks)) return false;
  return true;
}

std::optional<Diagnostic> BlockSums::after(std::span<const Arena> arenas) {
  const int rank = plan_.base.channel.rank();
  const auto one = [](const Sum&) { return std::uint64_t{1}; };
  const auto provide = [](const Sum& sum, std::uint64_t, std::span<std::uint64_t> words) {
    words[0] = sum.sum;
  };
  const auto consume = [](Sum& sum, std::uint64_t, std::span<const std::uint64_t> words) {
    sum.other = words[0];
  };
  mpi::NeighbourWords(plan_.base.channel, plan_.base.ledger, mpi::tag_checksum, 1,
                      mpi::PeerWords{std::span(outgoing_), rank, one, provide},
                      mpi::PeerWords{std::span(incoming_), rank, one, consume})
      .run();
  if (const Sum* const own = mpi::find_peer(std::span(outgoing_), rank))
    mpi::find_peer(std::span(incoming_), rank)->other = own->sum;
  for (std::size_t a = 0; a < arenas.size(); ++a)
    if (!add_up(arenas[a], a))
      return Diagnostic{ErrorCode::corrupted,
                        "the lengths of blocks are not what they were; restart from a checkpoint "
                        "and report this"};
  for (std::size_t p = 0; p < incoming_.size(); ++p)
    if (incoming_[p].sum != incoming_[p].other)
      return Diagnostic{ErrorCode::corrupted,
                        "the " + std::to_string(plan_.incoming[p].blocks) + " blocks from rank " +
                            std::to_string(incoming_[p].rank) +
                            " are not what that rank sent; restart from a checkpoint and report "
                            "this"};
  return std::nullopt;
}

}  // namespace valet::ragged
