// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Words between this rank and its neighbours, where both know how many.

#include "mpi/channel.hpp"
#include "mpi/message.hpp"
#include "mpi/tags.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace valet::mpi {

/// How lists of words are cut into messages, and how many of these are outstanding in either
/// direction. Short lists are many and cost latency: with a window of w messages N neighbours take
/// N/w round trips. Long ones cost bandwidth, and few of them fill it.
struct WordMessages {
  static constexpr std::size_t most = 32;  ///< outstanding
  static constexpr std::size_t few = 4;

  std::size_t entries = 1;   ///< words of a message of a long list
  std::size_t lists = most;  ///< in one direction, at most
  /// Words of a short list: one message.
  [[nodiscard]] constexpr std::size_t short_entries() const {
    return std::clamp(entries * few / most, std::min(entries, few), entries);
  }
  /// Outstanding messages in one direction.
  [[nodiscard]] constexpr std::size_t at_once() const { return std::clamp(lists, few, most); }
  /// Words of the buffers in one direction.
  [[nodiscard]] constexpr std::size_t words() const {
    return std::max(few * entries, at_once() * short_entries());
  }
};

/// Words of buffers for any number of lists, in messages of at most `entries` words, in both
/// directions.
[[nodiscard]] constexpr std::size_t words_of_neighbours(std::size_t entries) {
  return 2 * WordMessages{entries}.words();
}

/// Sends and receives lists of 64-bit words between ranks that both know the length of each list.
///
/// Sends go to the ranks behind this one in ring order, receives come from the ranks before it. So
/// of all lists that are not done, the one over the smallest distance is first in line on both of
/// its ranks, and with a few messages outstanding in either direction nothing can get stuck. All
/// ranks are done with their short lists before their long ones: the length of a list says to both
/// its ranks which it is.
///
/// Outgoing and Incoming have: size(), rank(i) ascending in i, count(i). Outgoing also
/// provide(i, first, words): fill `words` with the list from `first` on; Incoming also
/// consume(i, first, words). There are no messages for empty lists.
template <class Outgoing, class Incoming>
class NeighbourWords {
 public:
  /// Messages of at most `entries` words; allocates words_of_neighbours(entries) in `ledger`, or
  /// less where there are few lists.
  NeighbourWords(const Channel& channel, Ledger& ledger, int tag, std::size_t entries,
                 Outgoing outgoing, Incoming incoming)
      : NeighbourWords(
            channel, ledger, tag, entries,
            Array<std::uint64_t>(ledger, 2 * messages_of(entries, outgoing, incoming).words()),
            outgoing, incoming) {}
  /// With buffers that were allocated before: words_of_neighbours(entries).
  NeighbourWords(const Channel& channel, Ledger& ledger, int tag, std::size_t entries,
                 Array<std::uint64_t> buffers, Outgoing outgoing, Incoming incoming)
      : channel_(channel),
        tag_(tag),
        messages_(messages_of(entries, outgoing, incoming)),
        outgoing_(outgoing),
        incoming_(incoming),
        buffers_(std::move(buffers)),
        requests_(ledger, 2 * messages_.at_once(), channel),
        pending_(ledger, messages_.at_once()) {}

  /// Blocking; nothing is pending on return. May be called again, and does not allocate.
  void run() {
    const std::size_t few = messages_.short_entries();
    try {
      exchange({1, few, few});
      exchange({few + 1, ~std::uint64_t{0}, messages_.entries});
    } catch (...) {
      buffers_.leak();  // MPI may still touch them
      throw;
    }
  }

 private:
  static WordMessages messages_of(std::size_t entries, const Outgoing& outgoing,
                                  const Incoming& incoming) {
    return {entries, std::max<std::size_t>(outgoing.size(), incoming.size())};
  }
  /// The lists of some lengths, and the words of a message.
  struct Lengths {
    std::uint64_t least = 1, most = 1;
    std::size_t entries = 1;
  };
  struct ListWords {
    std::size_t list = 0;
    std::uint64_t first = 0;
    std::size_t size = 0;
  };
  struct Walk {
    std::size_t list = 0;
    std::size_t step = 1;  ///< to the next list
    std::size_t lists_left = 0;
    std::uint64_t done = 0;  ///< words of the list
  };

  void exchange(const Lengths& lengths) {
    lengths_ = lengths;
    window_ = std::min(messages_.at_once(),
                       messages_.words() / std::max<std::size_t>(1, lengths.entries));
    sending_ = {first_above(outgoing_), 1, outgoing_.size(), 0};
    receiving_ = {first_above(incoming_) - 1, incoming_.size() - 1, incoming_.size(), 0};
    for (std::size_t request = 0; request < window_; ++request) {
      receive_next(request);
      send_next(window_ + request);
    }
    while (const auto completion = requests_.wait_any()) {
      const std::size_t request = completion->index;
      if (request < window_) {
        const ListWords& words = pending_[request];
        incoming_.consume(words.list, words.first, buffer(request).first(words.size));
        receive_next(request);
      } else {
        send_next(request);
      }
    }
  }

  /// Where the walk through the lists of higher ranks begins.
  template <class Lists>
  std::size_t first_above(const Lists& lists) const {
    std::size_t i = 0;
    while (i < lists.size() && lists.rank(i) < channel_.rank()) ++i;
    return i + lists.size();
  }

  /// What the next message carries; nothing when all lists are done.
  template <class Lists>
  std::optional<ListWords> next_words(const Lists& lists, Walk& walk) const {
    for (; walk.lists_left > 0; walk = {walk.list + walk.step, walk.step, walk.lists_left - 1, 0}) {
      const std::size_t list = walk.list % lists.size();
      const std::uint64_t all = lists.count(list);
      if (all == walk.done || all < lengths_.least || all > lengths_.most) continue;
      const ListWords words{list, walk.done,
                            std::min<std::size_t>(lengths_.entries, all - walk.done)};
      walk.done += words.size;
      return words;
    }
    return std::nullopt;
  }

  std::span<std::uint64_t> buffer(std::size_t request) {
    return {buffers_.data() + request * lengths_.entries, lengths_.entries};
  }

  void receive_next(std::size_t request) {
    const std::optional<ListWords> words = next_words(incoming_, receiving_);
    if (!words) return;
    pending_[request] = *words;
    post_receive(channel_, buffer(request).data(), words->size * sizeof(std::uint64_t),
                 incoming_.rank(words->list), tag_, requests_[request]);
  }

  void send_next(std::size_t request) {
    const std::optional<ListWords> words = next_words(outgoing_, sending_);
    if (!words) return;
    outgoing_.provide(words->list, words->first, buffer(request).first(words->size));
    post_send(channel_, buffer(request).data(), words->size * sizeof(std::uint64_t),
              outgoing_.rank(words->list), tag_, requests_[request]);
  }

  const Channel& channel_;
  int tag_;
  WordMessages messages_;
  Outgoing outgoing_;
  Incoming incoming_;
  Array<std::uint64_t> buffers_;
  Requests requests_;
  Array<ListWords> pending_;  ///< by receive request
  Walk sending_, receiving_;
  Lengths lengths_;
  std::size_t window_ = 1;
};

/// The rank of a peer, which may be nothing but its rank.
[[nodiscard]] constexpr int rank_of(int rank) { return rank; }
template <class Peer>
[[nodiscard]] constexpr int rank_of(const Peer& peer) {
  return peer.rank;
}

/// One list of count_of(peer) words for each of `peers`, which ascend by their rank, but for this
/// rank. access(peer, first, words) fills or takes words from `first` on.
template <class Peer, class Count, class Access>
struct PeerWords {
  std::span<Peer> peers;
  int own_rank;
  Count count_of;
  Access access;

  [[nodiscard]] std::size_t size() const { return peers.size(); }
  [[nodiscard]] int rank(std::size_t i) const { return rank_of(peers[i]); }
  [[nodiscard]] std::uint64_t count(std::size_t i) const {
    return rank(i) == own_rank ? 0 : count_of(peers[i]);
  }
  void provide(std::size_t i, std::uint64_t first, std::span<std::uint64_t> words) const {
    access(peers[i], first, words);
  }
  void consume(std::size_t i, std::uint64_t first, std::span<std::uint64_t> words) const {
    access(peers[i], first, words);
  }
};

template <class Peer, class Count, class Access>
PeerWords(std::span<Peer>, int, Count, Access) -> PeerWords<Peer, Count, Access>;

/// A round in which lists are all of `words` words, each a message: provide(peer, list) fills in
/// the one for a peer of `to`, consume(peer, list) takes that of a peer of `from`. Only for those
/// that is_meant(peer), on both their ranks. Collective among these.
template <class To, class From, class IsMeant, class Provide, class Consume>
void exchange_words(const Channel& channel, Ledger& ledger, int tag, std::size_t words,
                    std::span<To> to, std::span<From> from, IsMeant&& is_meant, Provide&& provide,
                    Consume&& consume) {
  const auto count = [&](const auto& peer) -> std::uint64_t { return is_meant(peer) ? words : 0; };
  const auto access = [](auto&& take) {
    return [&take](auto& peer, std::uint64_t, std::span<std::uint64_t> list) { take(peer, list); };
  };
  NeighbourWords(channel, ledger, tag, words, PeerWords{to, no_peer, count, access(provide)},
                 PeerWords{from, no_peer, count, access(consume)})
      .run();
}
/// The same with all of them but this rank.
template <class To, class From, class Provide, class Consume>
void exchange_words(const Channel& channel, Ledger& ledger, int tag, std::size_t words,
                    std::span<To> to, std::span<From> from, Provide&& provide, Consume&& consume) {
  exchange_words(
      channel, ledger, tag, words, to, from,
      [&](const auto& peer) { return rank_of(peer) != channel.rank(); }, provide, consume);
}

/// The one of `peers` that is this rank; nullptr where it is none of them.
template <class Peer>
[[nodiscard]] Peer* find_peer(std::span<Peer> peers, int rank) {
  const auto found = std::ranges::lower_bound(peers, rank, {}, &Peer::rank);
  return found == peers.end() || found->rank != rank ? nullptr : &*found;
}

/// How many ranks are in one of these lists or in both, ascending by rank, each perhaps several
/// times; `own_rank` does not count.
template <class Outgoing, class Incoming>
[[nodiscard]] std::uint64_t count_neighbours(const Outgoing& outgoing, const Incoming& incoming,
                                             int own_rank) {
  std::uint64_t neighbours = 0;
  auto from = incoming.begin();
  int last = own_rank;
  const auto count = [&](int rank) {
    if (rank != own_rank && rank != last) ++neighbours;
    last = rank;
  };
  for (const auto& to : outgoing) {
    for (; from != incoming.end() && from->rank < to.rank; ++from) count(from->rank);
    count(to.rank);
  }
  for (; from != incoming.end(); ++from) count(from->rank);
  return neighbours;
}

}  // namespace valet::mpi
