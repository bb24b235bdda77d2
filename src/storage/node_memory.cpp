// SPDX-License-Identifier: BSD-3-Clause
#include "storage/node_memory.hpp"

#include "base/machine_identity.hpp"
#include <valet/log.hpp>

#include <atomic>
#include <string>
#include <utility>

namespace valet::storage {
namespace {

using Words = std::span<std::uint64_t>;

/// Neighbours may be this rank itself.
constexpr auto is_neighbour = [](int) { return true; };

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
    : ledger_(ledger), destinations_(ledger), sources_(ledger), writers_(ledger), mapped_(ledger) {}

NodeMemory::~NodeMemory() { ledger_.subtract(own_.size()); }

/// @return What all of them allow.
std::uint64_t NodeMemory::find_writers(const mpi::Channel& channel, std::uint64_t allowance) {
  std::uint64_t bytes = asked_bytes_;
  const std::uint64_t machine = allowance > 0 ? machine_identity() : 0;
  mpi::exchange_words(
      channel, ledger_, mpi::tag_node, 2, std::span(destinations_), std::span(sources_),
      is_neighbour,
      [&](int, Words words) {
        words[0] = machine;
        words[1] = allowance;
      },
      [&](int source, Words words) {
        if (machine == 0 || words[0] != machine) return;
        writers_.push_back(source);
        bytes = std::min(bytes, words[1]);
      });
  std::ranges::sort(writers_);
  return bytes;
}

void NodeMemory::connect(const mpi::Channel& channel, const NodeWish& wish, bool is_idle) {
  destinations_.assign(wish.destinations.begin(), wish.destinations.end());
  sources_.assign(wish.sources.begin(), wish.sources.end());
  asked_bytes_ = std::min(wish.allowance, wish.wish);
  if (is_idle) return;
  const std::uint64_t bytes = find_writers(channel, wish.allowance);
  bool has_memory = true, refused = false;
  if (!writers_.empty()) {
    own_ = SharedMemory::create(bytes);
    has_memory = own_.size() > 0;
  }
  ledger_.add(own_.size());
  const SharedMemoryHandle own = own_.handle();
  mpi::exchange_words(
      channel, ledger_, mpi::tag_node, 4, std::span(sources_), std::span(destinations_),
      is_neighbour,
      [&](int source, Words words) {
        const SharedMemoryHandle given = is_written_by(source) ? own : SharedMemoryHandle{};
        std::ranges::copy(std::array{given.bytes, given.process, given.descriptor, given.key},
                          words.begin());
      },
      [&](int destination, Words words) {
        if (words[0] == 0) return;
        MappedMemory mapped{destination,
                            SharedMemory::open({words[0], words[1], words[2], words[3]})};
        if (mapped.memory.data() != nullptr)
          mapped_.push_back(std::move(mapped));
        else
          refused = true;
      });
  std::ranges::sort(mapped_, {}, &MappedMemory::rank);
  mpi::exchange_words(
      channel, ledger_, mpi::tag_node, 1, std::span(destinations_), std::span(sources_),
      is_neighbour,
      [&](int destination, Words words) { words[0] = of(destination) != nullptr ? 1 : 0; },
      [&](int source, Words words) {
        if (words[0] == 0) std::erase(writers_, source);
      });
  own_.close();
  if (refused || !has_memory) warn_once(channel.rank(), has_memory);
}

bool NodeMemory::serves(const NodeWish& wish) const {
  const bool took_part = asked_bytes_ > 0;
  return took_part == (wish.allowance > 0) &&
         std::min(wish.allowance, wish.wish) <= 2 * asked_bytes_ &&
         bytes() <= wish.allowance * (1 + wish.destinations.size()) &&
         std::ranges::includes(destinations_, wish.destinations) &&
         std::ranges::includes(sources_, wish.sources) &&
         (own_.size() == 0 || own_.size() >= wish.least);
}

bool NodeMemory::is_written_by(int source) const {
  return std::binary_search(writers_.begin(), writers_.end(), source);
}

std::byte* NodeMemory::of(int destination) const {
  const MappedMemory* const mapped = mpi::find_peer(std::span(mapped_), destination);
  return mapped == nullptr ? nullptr : mapped->memory.data();
}

std::size_t NodeMemory::mapped_bytes() const {
  std::size_t bytes = 0;
  for (const MappedMemory& mapped : mapped_) bytes += mapped.memory.size();
  return bytes;
}

}  // namespace valet::storage
