// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/ledger.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <numeric>

namespace valet::schedule {

/// Numbers of blocks by peer and target, ascending; in an array of their own, as apportion() reads
/// them.
struct KeyedCounts {
  /// Blocks of a rank that go to `peer`, or come from it, and belong to `target`.
  struct Key {
    std::uint32_t peer = 0;
    std::uint32_t target = 0;
    auto operator<=>(const Key&) const = default;  // NOLINT(modernize-use-nullptr)
  };

  explicit KeyedCounts(Ledger& ledger) : keys(ledger), counts(ledger) {}

  void reserve(std::size_t size) {
    keys.reserve(size);
    counts.reserve(size);
  }
  void clear() {
    keys.clear();
    counts.clear();
  }
  /// Enters a key above all so far.
  void append(Key key, std::uint64_t blocks) {
    keys.push_back(key);
    counts.push_back(blocks);
  }

  /// Adds to the count of a key, which is entered where it is new. Sums are modulo 2^64. The memory
  /// is that of the most keys there ever were, and grows by one: who has a limit can reckon with
  /// it.
  void add(Key key, std::uint64_t blocks) {
    const auto found = std::lower_bound(keys.begin(), keys.end(), key);
    const auto at = found - keys.begin();
    if (found == keys.end() || *found != key) {
      if (keys.size() == keys.capacity()) keys.reserve(keys.size() + 1);
      if (counts.size() == counts.capacity()) counts.reserve(counts.size() + 1);
      keys.insert(keys.begin() + at, key);
      counts.insert(counts.begin() + at, 0);
    }
    counts[static_cast<std::size_t>(at)] += blocks;
  }

  /// The position of the first entry of a peer, or of those above it.
  [[nodiscard]] std::size_t find_peer(std::uint32_t peer) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(keys, Key{peer, 0}) - keys.begin());
  }

  void drop_zeros() {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (counts[i] == 0) continue;
      keys[kept] = keys[i];
      counts[kept++] = counts[i];
    }
    keys.erase(keys.begin() + static_cast<std::ptrdiff_t>(kept), keys.end());
    counts.erase(counts.begin() + static_cast<std::ptrdiff_t>(kept), counts.end());
  }

  [[nodiscard]] std::uint64_t sum() const {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  }

  Vector<Key> keys;
  Vector<std::uint64_t> counts;
};

}  // namespace valet::schedule
