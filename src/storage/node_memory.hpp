// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Memory shared by the ranks of a node: each rank offers some to the ranks that send to it, and
/// these write their blocks straight into it. Between two processes of a node that is the cheapest
/// way: two copies by the processors, where a message by the kernel copies once but looks up and
/// pins every page of the sender (measured: half of its time).

#include "mpi/channel.hpp"
#include "mpi/neighbour_words.hpp"
#include "storage/shared_memory.hpp"
#include <valet/export.hpp>
#include <valet/ledger.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>

namespace valet::storage {

/// What a call wants of memory shared inside nodes.
struct NodeWish {
  /// Takes the ranks of all these peers, ascending.
  template <class To, class From>
  NodeWish(Ledger& ledger, const To& to, const From& from)
      : destinations(ranks_of(ledger, to)), sources(ranks_of(ledger, from)) {}
  /// Takes those that are on this node by MPI's account.
  template <class To, class From>
  NodeWish(const mpi::Channel& channel, Ledger& ledger, const To& to, const From& from)
      : NodeWish(ledger, to, from) {
    const auto is_away = [here = channel.node_ranks()](int rank) {
      return !std::ranges::binary_search(here, rank);
    };
    std::erase_if(destinations, is_away);
    std::erase_if(sources, is_away);
  }

  Vector<int> destinations;  ///< ranks that this one sends to, ascending
  Vector<int> sources;       ///< ranks that send to this one, ascending
  /// Bytes of the largest segment that this rank may offer or reach; 0 to take no part. A segment
  /// gets the least allowance of all that use it.
  std::size_t allowance = 0;
  /// Bytes that the own segment needs not exceed.
  std::size_t wish = std::numeric_limits<std::size_t>::max();
  std::size_t least = 0;  ///< of what is kept: bytes of the own memory, where there is some

 private:
  template <class Peers>
  static Vector<int> ranks_of(Ledger& ledger, const Peers& peers) {
    Vector<int> ranks(ledger);
    ranks.reserve(peers.size());
    for (const auto& mapped : peers)
      if (ranks.empty() || ranks.back() != mpi::rank_of(mapped))
        ranks.push_back(mpi::rank_of(mapped));
    return ranks;
  }
};

/// How blocks are written into shared memory that another core reads next: through the cache of the
/// writer, or past it into memory. Where both cores share a cache the first is faster, since half
/// of the traffic then never reaches memory (particles of 56 bytes on Zen 5: 11.5 in place of 14.7
/// ms); where they do not, dirty lines are fetched at a quarter of the speed of memory (Zen 3).
/// Cores change and virtual machines do not tell, so the reader measures both, and asks for what it
/// reads faster. Local.
class Handover {
 public:
  /// Whether the next message, to be written at `memory`, is to go past the cache.
  [[nodiscard]] bool choose(const std::byte* memory, std::uint64_t bytes) {
    if (bytes < least_bytes) return false;
    const std::uint64_t number = asked_++;
    bool past_cache = number % 2 != 0;
    if (number >= trials) {
      past_cache = speed_up * least(past) < least(through);
      if (number % retrial == 0) past_cache = !past_cache;
    }
    messages_[number % messages_.size()] = {memory, bytes, past_cache};
    return past_cache;
  }
  /// Tells how long it took to read a part of a message.
  void note_read(const std::byte* memory, std::uint64_t bytes, double seconds) {
    for (std::uint64_t number = asked_; number > 0 && asked_ - number < messages_.size();) {
      const WrittenMessage& message = messages_[--number % messages_.size()];
      if (memory < message.memory || memory >= message.memory + message.bytes) continue;
      Samples& samples = samples_[message.past_cache ? past : through];
      samples.of[samples.count++ % samples.of.size()] = seconds / static_cast<double>(bytes);
      return;
    }
  }

 private:
  static constexpr std::uint64_t least_bytes = std::uint64_t{16} << 10;  // worth a measurement
  static constexpr std::uint64_t trials = 16, retrial = 64;              // messages
  static constexpr double speed_up = 1.25;  // that makes it worth to write past the cache
  static constexpr std::size_t through = 0, past = 1;

  /// Seconds a byte of the last messages: what was interrupted is not the least of them.
  struct Samples {
    std::array<double, 4> of{};
    std::size_t count = 0;
  };
  [[nodiscard]] double least(std::size_t way) const {
    const Samples& samples = samples_[way];
    const auto end = samples.of.begin() +
                     static_cast<std::ptrdiff_t>(std::min(samples.count, samples.of.size()));
    return samples.count == 0 ? 0 : *std::min_element(samples.of.begin(), end);
  }

  struct WrittenMessage {
    const std::byte* memory = nullptr;
    std::uint64_t bytes = 0;
    bool past_cache = false;
  };

  std::array<WrittenMessage, 24> messages_{};  ///< the last ones
  std::array<Samples, 2> samples_;
  std::uint64_t asked_ = 0;
};

/// What a rank offers, and what of other ranks it reaches. Empty until connect().
class VALET_EXPORT NodeMemory {
 public:
  explicit NodeMemory(Ledger& ledger);
  NodeMemory(const NodeMemory&) = delete;
  NodeMemory& operator=(const NodeMemory&) = delete;
  ~NodeMemory();

  /// Shares memory with those neighbours of the wish that can.
  ///
  /// Collective over each pair of neighbours; ranks without any return at once. Where the system
  /// does not let processes share, the pair stays without: nothing fails.
  ///
  /// @param is_idle  No rank takes part, so nobody is asked. [global]
  /// Memory: what is offered, 4 bytes a neighbour, 36 more on the node, and 4 KiB for the time of
  /// the call.
  void connect(const mpi::Channel& channel, const NodeWish& wish, bool is_idle = false);

  /// Whether connect() would change nothing that is needed: all ranks were asked, and the memory
  /// is neither more than is allowed now nor much less than is wished for. [local]
  [[nodiscard]] bool serves(const NodeWish& wish) const;

  /// Whether it was asked for by the same neighbours. [local]
  [[nodiscard]] bool has_met(const NodeWish& wish) const {
    return destinations_ == wish.destinations && sources_ == wish.sources;
  }
  /// What this rank offers. [local]
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
  [[nodiscard]] bool shares() const { return own_.size() > 0 || !mapped_.empty(); }
  /// Bytes of other ranks that this rank reaches. [local]
  [[nodiscard]] std::size_t mapped_bytes() const;
  /// Bytes of other ranks, and of its own. [local]
  [[nodiscard]] std::size_t bytes() const { return own().size() + mapped_bytes(); }
  /// The memory of a rank that this one sends to; nullptr where there is none. [local]
  [[nodiscard]] std::byte* of(int destination) const;

 private:
  struct MappedMemory {
    int rank = 0;
    storage::SharedMemory memory;
  };

  std::uint64_t find_writers(const mpi::Channel& channel, std::uint64_t allowance);

  Ledger& ledger_;
  Vector<int> destinations_, sources_;  ///< that were asked
  std::size_t asked_bytes_ = 0;         ///< for the own memory
  storage::SharedMemory own_;
  Vector<int> writers_;          ///< ascending
  Vector<MappedMemory> mapped_;  ///< ascending by rank
  mutable Handover handover_;
};

}  // namespace valet::storage
