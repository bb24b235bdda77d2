// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Order::any: in which order the blocks of several flows arrive at a rank, and leave it.
///
/// A flow is cut into grains, and the grains of all flows of a rank are ordered by the fraction of
/// their flow that has been delivered in the middle of the grain. Both ends of a flow compute the
/// same key for a grain, so all ranks move along one order without a message. Pure.

#include <valet/export.hpp>
#include <valet/ledger.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace valet::schedule {

/// Blocks of a grain. Part of the definition of Order::any: it may depend on nothing that is a
/// matter of speed or memory.
///
/// The longer a grain, the longer messages can be that go from slots to slots; the shorter, the
/// fewer blocks have to wait for their slots: those of half a grain for each neighbour. No message
/// crosses a grain, and what waits is listed by grains, so how many ranks there are beside the
/// neighbours must not matter.
/// @param degree  Other ranks that a rank sends to, on average; the same on all ranks.
[[nodiscard]] constexpr std::uint64_t grain_blocks(std::size_t block_bytes, std::uint64_t degree) {
  constexpr std::size_t small_block = 4096;
  constexpr std::size_t small_bytes = std::size_t{32} << 10, large_bytes = std::size_t{128} << 10;
  constexpr std::size_t all_bytes = std::size_t{1} << 20;
  const std::size_t most = block_bytes < small_block ? small_bytes : large_bytes;
  const std::size_t bytes = std::min(most, all_bytes / (degree + 1));
  return std::max<std::uint64_t>(1, bytes / std::max<std::size_t>(1, block_bytes));
}

/// Imports that wait aside and land last, so that those behind them find their slots left long
/// before they come and can be received there. Only where holes are dense: elsewhere blocks are
/// unpacked one by one anyway. Part of the definition of Order::any.
/// @param runs  Runs of neighbouring slots that the exports of each flow stand in.
/// @param free  Holes that are free at first, which serve as well.
[[nodiscard]] constexpr std::uint64_t shift_blocks(std::size_t block_bytes, std::uint64_t imports,
                                                   std::uint64_t exports, std::uint64_t runs,
                                                   std::uint64_t free) {
  constexpr std::size_t dense_bytes = std::size_t{64} << 10;
  constexpr std::size_t shift_bytes = std::size_t{512} << 10;
  if (exports * std::max<std::size_t>(1, block_bytes) < runs * dense_bytes) return 0;
  const std::uint64_t wished = std::min<std::uint64_t>(
      std::max<std::size_t>(1, shift_bytes / std::max<std::size_t>(1, block_bytes)),
      std::min(imports, exports) / 8);
  // Messages are half as long: of less than that each costs more than unpacking what it brings.
  if (wished * block_bytes < 2 * dense_bytes) return 0;
  return wished - std::min(wished, free);
}

/// Which of several flows goes first at the same fraction: no two distances have the same turn. All
/// ranks take the same distance at a time, so that nobody is the next of many. Distances that
/// follow each other are far apart (multiplicative hashing: Knuth, The Art of Computer Programming,
/// volume 3, section 6.4), so that at any time blocks are on their way to ranks near and far, over
/// all links of the network: in the order of the distances a transpose took 1.4 times as long on a
/// simulated torus of 128 ranks, and 1.5 times on a fat tree of 256.
/// @param distance  From the sender to the receiver, around the ring of all ranks.
[[nodiscard]] constexpr std::uint32_t turn_of(std::uint32_t distance) {
  return distance * 2654435769U;  // 2^32 over the golden ratio; odd
}

/// The position of a grain [begin, end) of a flow of `total` blocks in the order of all: the
/// fraction (begin + end) / (2 total), then the turn of the flow, then the position in the flow.
/// Exact.
struct GrainKey {
  std::uint64_t twice_middle = 0;  ///< begin + end
  std::uint64_t total = 1;
  std::uint32_t turn = 0;  ///< turn_of() the distance of the ranks

  [[nodiscard]] friend bool operator<(const GrainKey& a, const GrainKey& b) {
    __extension__ using Wide = unsigned __int128;
    const Wide left = Wide{a.twice_middle} * b.total, right = Wide{b.twice_middle} * a.total;
    return left != right ? left < right : a.turn < b.turn;
  }
};

/// Consecutive blocks of a flow.
struct FlowRun {
  std::uint32_t flow = 0;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

/// The blocks of some flows in the order of their grains. 24 bytes a flow; O(log flows) a step.
class VALET_EXPORT GrainOrder {
 public:
  /// @param grain  Blocks of a grain; the last one of a flow may be shorter.
  GrainOrder(Ledger& ledger, std::size_t flows, std::uint64_t grain)
      : grain_(grain), heap_(ledger) {
    heap_.reserve(flows);
  }

  /// What it takes for so many flows.
  [[nodiscard]] static constexpr std::uint64_t bytes_for(std::size_t flows) {
    return flows * sizeof(Entry);
  }

  void clear() { heap_.clear(); }
  /// Enters a flow of at least one block.
  void add(std::uint32_t flow, std::uint64_t total, std::uint32_t distance) {
    heap_.push_back({0, total, flow, turn_of(distance)});
    std::push_heap(heap_.begin(), heap_.end(), Later{grain_});
  }

  [[nodiscard]] bool empty() const { return heap_.empty(); }
  /// The key of the next block's grain. Not empty.
  [[nodiscard]] GrainKey key() const { return key_of(heap_.front(), grain_); }
  /// The blocks of the next block's grain that are left. Not empty.
  [[nodiscard]] FlowRun front() const {
    const Entry& entry = heap_.front();
    return {entry.flow, entry.first, end_of_grain(entry, grain_) - entry.first};
  }
  /// The next blocks that are of one flow, `most` of them at most. Not empty.
  [[nodiscard]] FlowRun front(std::uint64_t most) const {
    const Entry& entry = heap_.front();
    std::uint64_t end = end_of_grain(entry, grain_);
    if (heap_.size() == 1) end = entry.total;
    while (end - entry.first < most && end < entry.total) {
      const Entry next{end, entry.total, entry.flow, entry.turn};
      const auto is_before = [&](std::size_t child) {
        return child >= heap_.size() || key_of(next, grain_) < key_of(heap_[child], grain_);
      };
      if (!is_before(1) || !is_before(2)) break;
      end = end_of_grain(next, grain_);
    }
    return {entry.flow, entry.first, std::min(most, end - entry.first)};
  }
  /// Passes as many blocks, no more than the last front() had.
  void advance(std::uint64_t count) {
    const std::uint64_t end = heap_.front().first + count;
    const bool same_grain = end < end_of_grain(heap_.front(), grain_);
    if (same_grain || (heap_.size() == 1 && end < heap_.front().total)) {
      heap_.front().first = end;
      return;
    }
    std::pop_heap(heap_.begin(), heap_.end(), Later{grain_});
    heap_.back().first = end;
    if (end == heap_.back().total)
      heap_.pop_back();
    else
      std::push_heap(heap_.begin(), heap_.end(), Later{grain_});
  }

 private:
  struct Entry {
    std::uint64_t first, total;
    std::uint32_t flow, turn;
  };
  struct Later {
    std::uint64_t grain;
    bool operator()(const Entry& a, const Entry& b) const {
      return key_of(b, grain) < key_of(a, grain);
    }
  };
  [[nodiscard]] static std::uint64_t end_of_grain(const Entry& entry, std::uint64_t grain) {
    return std::min(entry.total, entry.first - entry.first % grain + grain);
  }
  [[nodiscard]] static GrainKey key_of(const Entry& entry, std::uint64_t grain) {
    const std::uint64_t begin = entry.first - entry.first % grain;
    return {begin + end_of_grain(entry, grain), entry.total, entry.turn};
  }

  std::uint64_t grain_;
  Vector<Entry> heap_;
};

}  // namespace valet::schedule
