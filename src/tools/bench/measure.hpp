// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What all measurements share: numbers of all ranks of MPI_COMM_WORLD, medians, the content of
/// blocks, and MPI_Alltoallv, the usual peer.

#include <valet/mpi.hpp>
#include <valet/node_array.hpp>
#include <valet/report.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace valet::bench {

[[nodiscard]] int world_rank();
[[nodiscard]] int world_size();
/// The same verdict on all ranks: whether it holds on each.
[[nodiscard]] bool on_all_ranks(bool condition);
[[nodiscard]] std::uint64_t sum_of_ranks(std::uint64_t value);
[[nodiscard]] std::uint64_t largest_of_ranks(std::uint64_t value);

/// Seconds that `action` takes on the slowest rank, started together.
[[nodiscard]] double slowest_seconds(const std::function<void()>& action);

/// What one run came to.
struct Outcome {
  Outcome(double run_seconds, bool good = true, Report all_ranks = {})
      : seconds(run_seconds), verified(good), report(std::move(all_ranks)) {}
  double seconds;  ///< the slowest rank's
  bool verified;   ///< on all ranks
  Report report;   ///< summed over all ranks; nothing for a peer
};

/// Seconds of a move on the slowest rank, and whether it came to what it had to.
/// @param move      Returns the report of this rank, or nothing.
/// @param is_right  Whether it did on this rank.
template <class Move, class IsRight>
[[nodiscard]] Outcome timed(Move&& move, IsRight&& is_right) {
  Report report;
  const double seconds = slowest_seconds([&] {
    if constexpr (std::is_void_v<std::invoke_result_t<Move&>>)
      move();
    else
      report = move();
  });
  const bool good = on_all_ranks(is_right());
  return {seconds, good, summed_over_ranks(report, MPI_COMM_WORLD)};
}

/// How often this process has read or written the memory of another one with CMA, cross-memory
/// attach [local]. KNEM and XPMEM, which MPI can use instead where their kernel modules are loaded,
/// are not counted; nor is libfabric, which does not call the C library for it.
/// Nothing if it cannot be known, because MPI does not find the functions that count.
[[nodiscard]] std::optional<std::uint64_t> single_copy_calls();

[[nodiscard]] double median(std::vector<double> values);
/// Which of the values is the median, or the lower one of two in the middle. Not empty.
[[nodiscard]] std::size_t middle_of(const std::vector<double>& values);

/// Scattered over 64 bits: summed over all ranks, these show whether a number was lost or doubled.
[[nodiscard]] constexpr std::uint64_t mixed(std::uint64_t number) {
  std::uint64_t mixed = (number + 1) * 0x9E3779B97F4A7C15ULL;
  mixed ^= mixed >> 31;
  return mixed * 0xBF58476D1CE4E5B9ULL;
}

/// A bijection of [0, size) that looks random: a Feistel network on the next even number of bits,
/// walked until it falls into the range. So no rank needs the global map.
[[nodiscard]] inline std::uint64_t scatter_index(std::uint64_t index, std::uint64_t size) {
  if (size < 2) return index;
  const int half_bits = (static_cast<int>(std::bit_width(size - 1)) + 1) / 2;
  const std::uint64_t half_mask = (std::uint64_t{1} << half_bits) - 1;
  do {
    std::uint64_t left = index >> half_bits;
    std::uint64_t right = index & half_mask;
    for (std::uint64_t round = 1; round <= 4; ++round) {
      std::uint64_t mixed = (right + round * 0x9E3779B97F4A7C15ULL) * 0xBF58476D1CE4E5B9ULL;
      mixed ^= mixed >> 29;
      const std::uint64_t next = left ^ (mixed & half_mask);
      left = right;
      right = next;
    }
    index = left << half_bits | right;
  } while (index >= size);
  return index;
}

/// The bytes of a block: a word of its own, and words that follow from it and from their place.
class Content {
 public:
  explicit Content(std::uint64_t first_word) : first_word_(first_word) {}

  /// The part that begins `at` bytes behind the beginning of the block.
  void write(std::byte* part, std::size_t bytes, std::size_t at = 0) const {
    for_each_word(bytes, at, [&](std::size_t k, const std::uint64_t& word, std::size_t size) {
      std::memcpy(part + k, &word, size);
    });
  }
  [[nodiscard]] bool matches(const std::byte* part, std::size_t bytes, std::size_t at = 0) const {
    bool good = true;
    for_each_word(bytes, at, [&](std::size_t k, const std::uint64_t& word, std::size_t size) {
      good = good && std::memcmp(part + k, &word, size) == 0;
    });
    return good;
  }

 private:
  template <class Action>
  void for_each_word(std::size_t bytes, std::size_t at, Action&& action) const {
    for (std::size_t k = 0; k < bytes; k += sizeof first_word_) {
      const std::uint64_t word = first_word_ ^ (at + k) * 0x9E3779B97F4A7C15ULL;
      action(k, word, std::min(bytes - k, sizeof word));
    }
  }

  std::uint64_t first_word_;
};

constexpr std::align_val_t page{4096};
struct Deallocate {
  void operator()(std::byte* memory) const { ::operator delete(memory, page); }
};
/// Whole pages, not initialised: the peers must not pay for first touches that their users avoid,
/// nor for a distance between two buffers that memcpy is slow at.
using Bytes = std::unique_ptr<std::byte, Deallocate>;
[[nodiscard]] Bytes allocate(std::uint64_t bytes);

/// Where arrays that Valet moves blocks in lie: in whole pages of the rank, or of the node.
enum class Storage { ordinary, node };

/// Such an array. Not initialised; entries stay where they are when it is moved.
template <class T = std::byte>
class Array : public std::span<T> {
 public:
  /// Collective over MPI_COMM_WORLD.
  Array(std::uint64_t n, Storage storage) {
    if (storage == Storage::node)
      node_ = node_array<T>(MPI_COMM_WORLD, n);
    else
      ordinary_ = allocate(n * sizeof(T));
    std::span<T>::operator=({ordinary_ ? reinterpret_cast<T*>(ordinary_.get()) : node_.data(), n});
  }

 private:
  Bytes ordinary_;
  NodeArray<T> node_;
};

/// What MPI_Alltoallv is told of one side: how much for each rank, and where it begins.
struct Counts {
  explicit Counts(std::vector<int> of_ranks);
  explicit Counts(const std::vector<std::uint64_t>& of_ranks);
  [[nodiscard]] std::uint64_t all() const {
    return static_cast<std::uint64_t>(begins.back()) + static_cast<std::uint64_t>(counts.back());
  }
  std::vector<int> counts, begins;
};
/// How many of the destinations each rank is.
[[nodiscard]] std::vector<std::uint64_t> count_by_rank(std::span<const int> destinations);
/// What comes from each rank where this leaves. Collective over MPI_COMM_WORLD, as the next one.
[[nodiscard]] Counts arriving(const Counts& leaving);
void alltoallv(const void* from, const Counts& leaving, void* to, const Counts& coming,
               MPI_Datatype type);

/// The datatype of a block.
class BlockType {
 public:
  explicit BlockType(std::size_t bytes);
  BlockType(const BlockType&) = delete;
  BlockType& operator=(const BlockType&) = delete;
  ~BlockType() { MPI_Type_free(&type_); }
  [[nodiscard]] MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

/// A peer that moves data out of place, through buffers. Collective over MPI_COMM_WORLD.
template <class Buffers>
class OutOfPlace {
 public:
  virtual ~OutOfPlace() = default;

  /// Into buffers that are at hand and have been touched.
  Outcome run_warm() {
    if (!warm_) exchange(warm_.emplace(make_buffers()));  // touches every page
    return timed([this] { exchange(*warm_); }, [this] { return verified(*warm_); });
  }
  /// The same when nothing is at hand: buffers are allocated, and given back.
  [[nodiscard]] Outcome run_cold() const {
    std::optional<Buffers> buffers;
    Outcome outcome = timed([&] { exchange(buffers.emplace(make_buffers())); },
                            [&] { return verified(*buffers); });
    outcome.seconds += slowest_seconds([&] { buffers.reset(); });
    return outcome;
  }

 private:
  [[nodiscard]] virtual Buffers make_buffers() const = 0;
  virtual void exchange(Buffers& buffers) const = 0;
  /// Whether this rank has all that comes to it.
  [[nodiscard]] virtual bool verified(const Buffers&) const { return true; }

  std::optional<Buffers> warm_;
};

/// What MPI_Alltoallv of blocks needs: where they arrive, and where they are packed.
struct BlockBuffers {
  Bytes received, packed;
};

/// MPI_Alltoallv of blocks into a second buffer, the peer of every measurement.
class Alltoallv final : public OutOfPlace<BlockBuffers> {
 public:
  /// Blocks in the order of their ranks.
  /// @param send_blocks  For each rank, blocks that this rank sends to it, itself included.
  /// @param blocks       Must outlive this, as what follows.
  Alltoallv(const std::vector<std::uint64_t>& send_blocks, std::size_t block_bytes,
            const void* blocks);
  /// Blocks in any order; packed first unless all ranks have them in the order of their ranks.
  /// @param destinations  Rank of each block.
  Alltoallv(std::span<const int> destinations, std::size_t block_bytes, const void* blocks);

  /// Bytes of the buffers of run_warm() on this rank.
  [[nodiscard]] std::uint64_t bytes() const { return received_bytes() + packed_bytes(); }

 private:
  [[nodiscard]] std::uint64_t received_bytes() const { return coming_.all() * block_bytes_; }
  [[nodiscard]] std::uint64_t packed_bytes() const { return unpacked_.size() * block_bytes_; }
  [[nodiscard]] BlockBuffers make_buffers() const override {
    return {allocate(received_bytes()), allocate(packed_bytes())};
  }
  void exchange(BlockBuffers& buffers) const override;

  std::size_t block_bytes_;
  const std::byte* blocks_;
  BlockType block_;
  Counts leaving_, coming_;
  std::span<const int> unpacked_;  ///< destinations of blocks in any order
};

}  // namespace valet::bench
