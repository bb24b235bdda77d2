// SPDX-License-Identifier: BSD-3-Clause
#include "storage/node_memory.hpp"

#include "base/machine_identity.hpp"
#include "mpi/neighbour_words.hpp"
#include "mpi/tags.hpp"
#include <valet/log.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <utility>

namespace valet::storage {
namespace {

template <std::size_t words>
using Words = std::array<std::uint64_t, words>;

/// Ranks that are sent `words` words each: those that provide(i) returns.
template <std::size_t words, class Provide>
struct Receivers {
  std::span<const int> ranks;
  Provide words_for;

  [[nodiscard]] std::size_t size() const { return ranks.size(); }
  [[nodiscard]] int rank(std::size_t i) const { return ranks[i]; }
  [[nodiscard]] std::uint64_t count(std::size_t) const { return words; }
  void provide(std::size_t i, std::uint64_t, std::span<std::uint64_t> message) const {
    const Words<words> made = words_for(i);
    std::copy(made.begin(), made.end(), message.begin());
  }
};

/// Ranks that send `words` words each, which are given to take(i, words).
template <std::size_t words, class Take>
struct Senders {
  std::span<const int> ranks;
  Take take;

  [[nodiscard]] std::size_t size() const { return ranks.size(); }
  [[nodiscard]] int rank(std::size_t i) const { return ranks[i]; }
  [[nodiscard]] std::uint64_t count(std::size_t) const { return words; }
  void consume(std::size_t i, std::uint64_t, std::span<const std::uint64_t> message) const {
    Words<words> read;
    std::copy(message.begin(), message.end(), read.begin());
    take(i, read);
  }
};

/// One round of fixed-size messages between neighbours.
template <std::size_t words, class Provide, class Take>
void exchange_words(const mpi::Channel& channel, Ledger& ledger, std::span<const int> to,
                    Provide&& provide, std::span<const int> from, Take&& take) {
  mpi::NeighbourWords(channel, ledger, mpi::tag_node, words,
                      Receivers<words, Provide&>{to, provide}, Senders<words, Take&>{from, take})
      .run();
}

/// Once only, for applications that migrate in every time step.
void warn_once(int rank) {
  static std::atomic<bool> warned = false;
  if (warned.exchange(true)) return;
  log(LogLevel::warning, rank,
      "rank " + std::to_string(rank) +
          " cannot share memory with another rank of its node, so their blocks go as messages, "
          "which is slower; let processes open each other's /proc/<pid>/fd (containers: one user "
          "and the capability SYS_PTRACE), or set share_memory to false");
}

}  // namespace

NodeMemory::NodeMemory(Ledger& ledger)
    : ledger_(ledger),
      writers_(LedgerAllocator<int>(ledger)),
      peers_(LedgerAllocator<Peer>(ledger)) {}

NodeMemory::~NodeMemory() { ledger_.subtract(own_.size()); }

void NodeMemory::connect(const mpi::Channel& channel, std::span<const int> destinations,
                         std::span<const int> sources, std::size_t allowance, std::size_t wish) {
  const std::uint64_t machine = allowance > 0 ? machine_identity() : 0;
  std::uint64_t bytes = std::min(allowance, wish);
  exchange_words<2>(
      channel, ledger_, destinations,
      [&](std::size_t) {
        return Words<2>{machine, allowance};
      },
      sources,
      [&](std::size_t i, const Words<2>& received) {
        if (machine == 0 || received[0] != machine) return;
        writers_.push_back(sources[i]);
        bytes = std::min(bytes, received[1]);
      });
  std::sort(writers_.begin(), writers_.end());
  bool refused = false;
  if (!writers_.empty()) {
    own_ = SharedSegment::create(bytes);
    refused = own_.size() == 0;
  }
  ledger_.add(own_.size());
  const SegmentHandle own = own_.handle();
  exchange_words<4>(
      channel, ledger_, sources,
      [&](std::size_t i) {
        return is_written_by(sources[i]) ? Words<4>{own.bytes, own.process, own.descriptor, own.key}
                                         : Words<4>{};
      },
      destinations,
      [&](std::size_t i, const Words<4>& received) {
        if (received[0] == 0) return;
        Peer peer{destinations[i],
                  SharedSegment::open({received[0], received[1], received[2], received[3]})};
        if (peer.segment.data() != nullptr)
          peers_.push_back(std::move(peer));
        else
          refused = true;
      });
  std::sort(peers_.begin(), peers_.end(),
            [](const Peer& a, const Peer& b) { return a.rank < b.rank; });
  exchange_words<1>(
      channel, ledger_, destinations,
      [&](std::size_t i) { return Words<1>{of(destinations[i]) != nullptr ? 1U : 0U}; }, sources,
      [&](std::size_t i, const Words<1>& received) {
        if (received[0] == 0) std::erase(writers_, sources[i]);
      });
  own_.close();
  if (refused) warn_once(channel.rank());
}

bool NodeMemory::is_written_by(int source) const {
  return std::binary_search(writers_.begin(), writers_.end(), source);
}

std::byte* NodeMemory::of(int destination) const {
  const auto found = std::lower_bound(peers_.begin(), peers_.end(), destination,
                                      [](const Peer& peer, int rank) { return peer.rank < rank; });
  return found == peers_.end() || found->rank != destination ? nullptr : found->segment.data();
}

std::size_t NodeMemory::mapped_bytes() const {
  std::size_t bytes = 0;
  for (const Peer& peer : peers_) bytes += peer.segment.size();
  return bytes;
}

}  // namespace valet::storage
