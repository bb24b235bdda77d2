// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Who is served next when everybody is to advance in proportion: the peer of whose total the
/// smallest fraction has been served. Then the free memory of every rank moves along a straight
/// line between its first and its last value, and no rank runs dry.

#include <valet/ledger.hpp>

#include <algorithm>
#include <cstdint>

namespace valet::schedule {

/// A heap of peers 0 to n-1. Ties go to the lower number. O(log n) an operation, 8 bytes a peer.
class ProportionalQueue {
 public:
  ProportionalQueue(Ledger& ledger, std::size_t peers) : heap_(ledger) { heap_.reserve(peers); }

  /// What it takes for so many peers.
  [[nodiscard]] static constexpr std::uint64_t bytes_for(std::size_t peers) {
    return peers * sizeof(Entry);
  }

  void clear() { heap_.clear(); }
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] std::uint32_t top() const { return heap_.front().peer; }

  /// Enters a peer that is not in the queue and has been served `served` of `total` > 0.
  void push(std::uint32_t peer, std::uint64_t served, std::uint64_t total) {
    heap_.push_back({static_cast<float>(served) / static_cast<float>(total), peer});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }

  std::uint32_t pop() {
    const std::uint32_t peer = top();
    std::pop_heap(heap_.begin(), heap_.end(), later);
    heap_.pop_back();
    return peer;
  }

 private:
  struct Entry {
    float fraction;
    std::uint32_t peer;
  };
  static bool later(const Entry& a, const Entry& b) {
    return a.fraction != b.fraction ? a.fraction > b.fraction : a.peer > b.peer;
  }

  Vector<Entry> heap_;
};

}  // namespace valet::schedule
