// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Words and bytes between this rank and its peers, where both know how many.

#include "mpi/neighbour_words.hpp"
#include "mpi/tags.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace valet::mpi {

/// One list of words for each of `peers`, which ascend by their member rank, but for this rank and
/// for those with count(peer) == 0. access(peer, first, words) fills or takes words from `first`
/// on.
template <class Peer, class Count, class Access>
class PeerWords {
 public:
  PeerWords(Ledger& ledger, std::span<Peer> peers, int own_rank, Count count, Access access)
      : peers_(peers),
        chosen_(LedgerAllocator<std::uint32_t>(ledger)),
        count_(count),
        access_(access) {
    for (std::uint32_t p = 0; p < peers.size(); ++p)
      if (peers[p].rank != own_rank && count(peers[p]) > 0) chosen_.push_back(p);
  }

  [[nodiscard]] std::size_t size() const { return chosen_.size(); }
  [[nodiscard]] int rank(std::size_t i) const { return at(i).rank; }
  [[nodiscard]] std::uint64_t count(std::size_t i) const { return count_(at(i)); }
  void provide(std::size_t i, std::uint64_t first, std::span<std::uint64_t> words) const {
    access_(at(i), first, words);
  }
  void consume(std::size_t i, std::uint64_t first, std::span<std::uint64_t> words) const {
    access_(at(i), first, words);
  }

 private:
  [[nodiscard]] Peer& at(std::size_t i) const { return peers_[chosen_[i]]; }

  std::span<Peer> peers_;
  Vector<std::uint32_t> chosen_;
  Count count_;
  Access access_;
};

/// The one of `peers` that is this rank; nullptr where it is none of them.
template <class Peer>
[[nodiscard]] Peer* find_peer(std::span<Peer> peers, int rank) {
  const auto found = std::ranges::lower_bound(peers, rank, {}, &Peer::rank);
  return found == peers.end() || found->rank != rank ? nullptr : &*found;
}

/// Brings the bytes from(peer) to to(peer) of that rank, also inside this one. Both sides know how
/// many, in whole words. Collective among the ranks that are named. 16 KiB of buffers.
template <class Out, class In, class From, class To>
void exchange_bytes(const Channel& channel, Ledger& ledger, std::span<Out> outgoing,
                    std::span<In> incoming, From from, To to) {
  constexpr std::size_t entries = 256, word = sizeof(std::uint64_t);
  const int rank = channel.rank();
  const auto sent = [&](Out& peer) -> std::uint64_t { return from(peer).size() / word; };
  const auto received = [&](In& peer) -> std::uint64_t { return to(peer).size() / word; };
  const auto provide = [&](Out& peer, std::uint64_t first, std::span<std::uint64_t> words) {
    std::memcpy(words.data(), from(peer).data() + first * word, words.size_bytes());
  };
  const auto consume = [&](In& peer, std::uint64_t first, std::span<std::uint64_t> words) {
    std::memcpy(to(peer).data() + first * word, words.data(), words.size_bytes());
  };
  NeighbourWords(channel, ledger, tag_fragments, entries,
                 PeerWords(ledger, outgoing, rank, sent, provide),
                 PeerWords(ledger, incoming, rank, received, consume))
      .run();
  Out* const own = find_peer(outgoing, rank);
  if (own != nullptr && !from(*own).empty())
    std::memcpy(to(*find_peer(incoming, rank)).data(), from(*own).data(), from(*own).size());
}

}  // namespace valet::mpi
