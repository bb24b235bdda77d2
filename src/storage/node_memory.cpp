// SPDX-License-Identifier: BSD-3-Clause
#include "storage/node_memory.hpp"

#include "base/machine_identity.hpp"
#include "mpi/neighbour_words.hpp"
#include <valet/log.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <utility>

namespace valet::storage {
namespace {

using Words = std::span<std::uint64_t>;

/// A message of `words` words with each of some ranks, made or taken by access(i, message).
template <std::size_t words, class Access>
struct Messages {
  std::span<const int> ranks;
  Access access;

  [[nodiscard]] std::size_t size() const { return ranks.size(); }
  [[nodiscard]] int rank(std::size_t i) const { return ranks[i]; }
  [[nodiscard]] std::uint64_t count(std::size_t) const { return words; }
  void provide(std::size_t i, std::uint64_t, Words message) const { access(i, message); }
  void consume(std::size_t i, std::uint64_t, Words message) const { access(i, message); }
};

/// One round of fixed-size messages between neighbours.
template <std::size_t words, class Provide, class Take>
void exchange_words(const mpi::Channel& channel, Ledger& ledger, std::span<const int> to,
                    Provide&& provide, std::span<const int> from, Take&& take) {
  mpi::NeighbourWords(channel, ledger, mpi::tag_node, words, Messages<words, Provide&>{to, provide},
                      Messages<words, Take&>{from, take})
      .run();
}

/// Once only, for applications that migrate in every time step.
void warn_once(int rank, bool has_memory) {
  static std::atomic<bool> warned = false;
  if (warned.exchange(true)) return;
  log(LogLevel::warning, rank,
      "rank " + std::to_string(rank) +
          " cannot share memory with another rank of its node, so their blocks go as messages, "
          "which is slower; " +
          (has_memory ? "let processes open each other's /proc/<pid>/fd (containers: one user and "
                        "the capability SYS_PTRACE)"
                      : "let it have files in memory (memfd_create) of half its budget, which "
                        "ulimit -f and -v and the memory of a container limit") +
          ", or set share_memory to false");
}

}  // namespace

NodeMemory::NodeMemory(Ledger& ledger)
    : ledger_(ledger), destinations_(ledger), sources_(ledger), writers_(ledger), peers_(ledger) {}

NodeMemory::~NodeMemory() { ledger_.subtract(own_.size()); }

void NodeMemory::connect(const mpi::Channel& channel, std::span<const int> destinations,
                         std::span<const int> sources, std::size_t allowance, std::size_t wish,
                         bool is_idle) {
  destinations_.assign(destinations.begin(), destinations.end());
  sources_.assign(sources.begin(), sources.end());
  std::uint64_t bytes = asked_bytes_ = std::min(allowance, wish);
  if (is_idle) return;
  const std::uint64_t machine = allowance > 0 ? machine_identity() : 0;
  exchange_words<2>(
      channel, ledger_, destinations,
      [&](std::size_t, Words words) {
        words[0] = machine;
        words[1] = allowance;
      },
      sources,
      [&](std::size_t i, Words words) {
        if (machine == 0 || words[0] != machine) return;
        writers_.push_back(sources[i]);
        bytes = std::min(bytes, words[1]);
      });
  std::ranges::sort(writers_);
  bool has_memory = true, refused = false;
  if (!writers_.empty()) {
    own_ = SharedSegment::create(bytes);
    has_memory = own_.size() > 0;
  }
  ledger_.add(own_.size());
  const SegmentHandle own = own_.handle();
  exchange_words<4>(
      channel, ledger_, sources,
      [&](std::size_t i, Words words) {
        const SegmentHandle given = is_written_by(sources[i]) ? own : SegmentHandle{};
        std::ranges::copy(std::array{given.bytes, given.process, given.descriptor, given.key},
                          words.begin());
      },
      destinations,
      [&](std::size_t i, Words words) {
        if (words[0] == 0) return;
        Peer peer{destinations[i], SharedSegment::open({words[0], words[1], words[2], words[3]})};
        if (peer.segment.data() != nullptr)
          peers_.push_back(std::move(peer));
        else
          refused = true;
      });
  std::ranges::sort(peers_, {}, &Peer::rank);
  exchange_words<1>(
      channel, ledger_, destinations,
      [&](std::size_t i, Words words) { words[0] = of(destinations[i]) != nullptr ? 1 : 0; },
      sources,
      [&](std::size_t i, Words words) {
        if (words[0] == 0) std::erase(writers_, sources[i]);
      });
  own_.close();
  if (refused || !has_memory) warn_once(channel.rank(), has_memory);
}

bool NodeMemory::serves(std::span<const int> destinations, std::span<const int> sources,
                        std::size_t allowance, std::size_t wish) const {
  const bool took_part = asked_bytes_ > 0;
  return took_part == (allowance > 0) && std::min(allowance, wish) <= 2 * asked_bytes_ &&
         bytes() <= allowance * (1 + destinations.size()) &&
         std::ranges::includes(destinations_, destinations) &&
         std::ranges::includes(sources_, sources);
}

bool NodeMemory::is_written_by(int source) const {
  return std::binary_search(writers_.begin(), writers_.end(), source);
}

std::byte* NodeMemory::of(int destination) const {
  const Peer* const peer = mpi::find_peer(std::span(peers_), destination);
  return peer == nullptr ? nullptr : peer->segment.data();
}

std::size_t NodeMemory::mapped_bytes() const {
  std::size_t bytes = 0;
  for (const Peer& peer : peers_) bytes += peer.segment.size();
  return bytes;
}

NodeWish::NodeWish(const mpi::Channel& channel, Vector<int> to, Vector<int> from)
    : destinations(std::move(to)), sources(std::move(from)) {
  const std::span<const int> here = channel.node_ranks();
  for (Vector<int>* const ranks : {&destinations, &sources})
    std::erase_if(*ranks, [&](int rank) { return !std::ranges::binary_search(here, rank); });
}

}  // namespace valet::storage
