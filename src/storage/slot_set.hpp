// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// A set of slots, kept as a bitmap with a summary bit per word and read as runs of consecutive
/// slots. Memory: one bit a slot and 1/64 of that for the summary.

#include "base/assert.hpp"
#include <valet/ledger.hpp>
#include <valet/slots.hpp>

#include <cstdint>
#include <span>

namespace valet::storage {

/// Consecutive slots [first, first + count).
struct SlotRun {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

/// A set of slots out of [0, slots()). All operations are local.
class VALET_EXPORT SlotSet {
 public:
  SlotSet() = default;
  /// The empty set within `slots` slots.
  SlotSet(Ledger& ledger, std::uint64_t slots);
  /// What it takes for so many slots.
  [[nodiscard]] static constexpr std::uint64_t bytes_for(std::uint64_t slots) {
    const std::uint64_t words = (slots + 63) / 64;
    return (words + (words + 63) / 64) * sizeof(std::uint64_t);
  }

  [[nodiscard]] std::uint64_t slots() const noexcept { return slots_; }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] bool contains(std::uint64_t slot) const noexcept {
    return (words_[slot / 64] >> (slot % 64) & 1U) != 0;
  }

  /// Adds a slot that is not in the set, or removes one that is.
  void insert(std::uint64_t slot) {
    VALET_ASSERT(slot < slots_ && !contains(slot));
    words_[slot / 64] |= std::uint64_t{1} << (slot % 64);
    summary_[slot / 4096] |= std::uint64_t{1} << (slot / 64 % 64);
    ++count_;
  }
  void erase(std::uint64_t slot) {
    VALET_ASSERT(slot < slots_ && contains(slot));
    const std::uint64_t rest = words_[slot / 64] &= ~(std::uint64_t{1} << (slot % 64));
    if (rest == 0) summary_[slot / 4096] &= ~(std::uint64_t{1} << (slot / 64 % 64));
    --count_;
  }
  /// Adds ascending slots that are not in the set.
  void insert_ascending(SlotList members) {
    for (std::size_t k = 0; k < members.size();) {
      const std::uint64_t word = members[k] / 64;
      std::uint64_t bits = 0;
      for (; k < members.size() && members[k] / 64 == word; ++k)
        bits |= std::uint64_t{1} << (members[k] % 64);
      VALET_ASSERT((words_[word] & bits) == 0);
      words_[word] |= bits;
      summary_[word / 64] |= std::uint64_t{1} << (word % 64);
    }
    count_ += members.size();
  }
  /// The same for every slot of a run.
  void insert(SlotRun run);
  void erase(SlotRun run);
  /// The members in [64*word, 64*word + 64) as bits.
  [[nodiscard]] std::uint64_t word(std::uint64_t word) const noexcept { return words_[word]; }
  /// Replaces the members in [64*word, 64*word + 64) by the ones of `bits`.
  void set_word(std::uint64_t word, std::uint64_t bits) noexcept;
  /// This set and, as further members, the slots from slots() to `slots`.
  [[nodiscard]] SlotSet grown(Ledger& ledger, std::uint64_t slots) const;
  /// Removes all members.
  void clear();
  /// Makes this set equal to another of the same number of slots.
  void assign(const SlotSet& other);

  /// The lowest member at or above `from`; slots() when there is none.
  [[nodiscard]] std::uint64_t next(std::uint64_t from) const noexcept;
  /// The lowest slot at or above `from` that is not a member; slots() when there is none.
  [[nodiscard]] std::uint64_t next_absent(std::uint64_t from) const noexcept {
    return next_absent(from, slots_);
  }
  /// The same below `limit`, at most slots(); `limit` when there is none.
  [[nodiscard]] std::uint64_t next_absent(std::uint64_t from, std::uint64_t limit) const noexcept;
  /// The highest member below `end`; slots() when there is none.
  [[nodiscard]] std::uint64_t previous(std::uint64_t end) const noexcept;
  /// The first run of members at or above `from`, cut at `most` slots; empty when there is none.
  [[nodiscard]] SlotRun next_run(std::uint64_t from, std::uint64_t most) const noexcept;

  /// The slot behind the `size` lowest members at or above `from`; the set must have that many.
  [[nodiscard]] std::uint64_t skip(std::uint64_t from, std::uint64_t size) const;
  /// Writes the `size` lowest members at or above `from` in ascending order; the set must have that
  /// many. Returns the slot behind the last one.
  std::uint64_t list(std::uint64_t from, std::uint64_t size, SlotIndex* members) const;
  /// Removes the highest members, as many as the list is long, and lists them, highest first; the
  /// set must have that many. One search for all of them.
  void take_highest(std::span<SlotIndex> members);

 private:
  template <class Action>
  void for_each_word(SlotRun run, Action&& action);
  void note_word(std::uint64_t word) noexcept;

  std::uint64_t slots_ = 0;
  std::uint64_t count_ = 0;
  Array<std::uint64_t> words_;
  Array<std::uint64_t> summary_;  // bit w: words_[w] is not zero
};

}  // namespace valet::storage
