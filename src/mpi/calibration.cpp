// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/calibration.hpp"

#include "base/memory_reserve.hpp"
#include "base/sizes.hpp"
#include "mpi/agreement.hpp"
#include "mpi/check.hpp"
#include "mpi/tags.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <span>

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define VALET_FLUSHES_LINES 1
#include <immintrin.h>
#endif

namespace valet::mpi {
namespace {

constexpr std::size_t least_bytes = std::size_t{4} << 10;  // each of the two buffers
constexpr std::size_t most_bytes = std::size_t{512} << 10;
constexpr std::size_t long_message_bytes = std::size_t{256} << 10;  // as STREAM sends
constexpr std::size_t small_block_bytes = 64;
constexpr int empty_messages = 16;
constexpr int least_attempts = 2, most_attempts = 4;
/// The most time for an attempt. Where a message takes long, because ranks or threads wait for a
/// core, few messages tell the same as many, which would take seconds.
constexpr double most_seconds = 1e-3;

/// Two buffers of equal size; on the stack where little is wanted, or the system has less.
class Buffers {
 public:
  Buffers(Ledger& ledger, std::size_t wanted) {
    try {
      const detail::LeaveReserve leave;
      if (wanted > least_bytes) memory_ = Array<std::byte>(ledger, 2 * wanted);
    } catch (const std::bad_alloc&) {
      memory_ = {};
    }
    both_ =
        memory_.size() == 0 ? std::span<std::byte>(few_) : std::span(memory_.data(), 2 * wanted);
    std::ranges::fill(both_, std::byte{1});
  }

  [[nodiscard]] std::size_t size() const { return both_.size() / 2; }
  [[nodiscard]] std::byte* from() { return both_.data(); }
  [[nodiscard]] std::byte* to() { return both_.data() + size(); }
  /// Out of the caches: what is to move later is in memory.
  void evict() {
#if defined(VALET_FLUSHES_LINES)
    for (std::size_t at = 0; at < both_.size(); at += detail::cache_line_bytes)
      _mm_clflush(both_.data() + at);
    _mm_mfence();
#endif
  }

 private:
  Array<std::byte> memory_;
  std::array<std::byte, 2 * least_bytes> few_;
  std::span<std::byte> both_;
};

/// The time of the slowest rank, in the best of some attempts: what else the machine does at the
/// moment is not its cost. All ranks make as many, because all know the same times.
template <class Action>
double slowest_seconds(const Channel& channel, Buffers& buffers, Action&& action) {
  double best = std::numeric_limits<double>::max(), spent = 0;
  for (int k = 0; k < most_attempts; ++k) {
    if (k >= least_attempts && spent > most_attempts * most_seconds) break;
    buffers.evict();
    check(MPI_Barrier(channel.get()), "MPI_Barrier");
    const double start = now();
    action();
    check(MPI_Barrier(channel.get()), "MPI_Barrier");
    double seconds = now() - start;
    maximum(channel, std::span(&seconds, 1));
    best = std::min(best, seconds);
    spent += seconds;
  }
  return std::max(best, 1e-9);
}

/// @param at  In the buffers: messages that always stand in the same place are in a cache.
void send_round(const Channel& channel, Buffers& buffers, std::size_t bytes, std::size_t at = 0) {
  const int next = (channel.rank() + 1) % channel.size();
  const int previous = (channel.rank() + channel.size() - 1) % channel.size();
  check(MPI_Sendrecv(buffers.from() + at, checked_count(bytes), MPI_BYTE, next, tag_data,
                     buffers.to() + at, checked_count(bytes), MPI_BYTE, previous, tag_data,
                     channel.get(), MPI_STATUS_IGNORE),
        "MPI_Sendrecv", next);
}

/// Gathers small blocks from all over a buffer; the next one is never in the next line.
void gather_scattered(Buffers& buffers) {
  const std::size_t blocks = buffers.size() / small_block_bytes;
  std::size_t block = 0;
  for (std::size_t k = 0; k < blocks; ++k) {
    std::memcpy(buffers.to() + k * small_block_bytes, buffers.from() + block * small_block_bytes,
                small_block_bytes);
    block = (block + 37) % blocks;
  }
}

int most_ranks_on_node(const Channel& channel) {
  std::uint64_t most = channel.node_ranks().size();
  maximum(channel, std::span(&most, 1));
  return static_cast<int>(most);
}

schedule::CostModel measure(const Channel& channel, Ledger& ledger, std::size_t memory_bytes) {
  schedule::CostModel model;
  Buffers buffers(ledger, std::min(memory_bytes / 2, most_bytes));
  // Messages are as long on all ranks; buffers need not be.
  std::uint64_t shortage = std::numeric_limits<std::uint64_t>::max() - buffers.size();
  maximum(channel, std::span(&shortage, 1));
  const std::size_t shortest = std::numeric_limits<std::uint64_t>::max() - shortage;
  const std::size_t message = std::min(long_message_bytes, shortest);
  model.latency_seconds = slowest_seconds(channel, buffers,
                                          [&] {
                                            for (int k = 0; k < empty_messages; ++k)
                                              send_round(channel, buffers, 0);
                                          }) /
                          empty_messages;
  const auto in_time = static_cast<std::size_t>(most_seconds / model.latency_seconds);
  const std::size_t rounds = std::clamp(in_time, std::size_t{2}, most_bytes / message);
  model.bandwidth = static_cast<double>(rounds * message) / slowest_seconds(channel, buffers, [&] {
                      for (std::size_t k = 0; k < rounds; ++k)
                        send_round(channel, buffers, message, k % (shortest / message) * message);
                    });
  const auto seconds_of_byte = [&](auto&& action) {
    return slowest_seconds(channel, buffers, action) / static_cast<double>(buffers.size());
  };
  std::array costs{
      seconds_of_byte([&] { std::memcpy(buffers.to(), buffers.from(), buffers.size()); }),
      seconds_of_byte([&] { gather_scattered(buffers); }) * small_block_bytes};
  maximum(channel, std::span<double>(costs));
  model.copy_bandwidth = 1 / costs[0];
  model.block_seconds = costs[1];
  return model;
}

}  // namespace

Machine machine_of(const Channel& channel, Ledger& ledger, bool needs_model,
                   std::size_t memory_bytes) {
  std::optional<Machine>& known = channel.machine();
  if (!known) known = Machine{std::nullopt, most_ranks_on_node(channel)};
  if (needs_model && !known->model) known->model = measure(channel, ledger, memory_bytes);
  return *known;
}

}  // namespace valet::mpi
