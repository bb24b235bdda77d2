// SPDX-License-Identifier: BSD-3-Clause
#include "storage/slot_set.hpp"

#include <algorithm>
#include <bit>

namespace valet::storage {
namespace {

constexpr std::uint64_t all_ones = ~std::uint64_t{0};

std::uint64_t words_for(std::uint64_t bits) { return (bits + 63) / 64; }

/// Bits [from, end) of a word, 0 <= from < end <= 64.
std::uint64_t mask_of(std::uint64_t from, std::uint64_t end) {
  return (all_ones >> (64 - (end - from))) << from;
}

std::uint64_t lowest(std::uint64_t word) {
  return static_cast<std::uint64_t>(std::countr_zero(word));
}

std::uint64_t highest(std::uint64_t word) {
  return 63 - static_cast<std::uint64_t>(std::countl_zero(word));
}

}  // namespace

SlotSet::SlotSet(Ledger& ledger, std::uint64_t slots)
    : slots_(slots),
      words_(ledger, words_for(slots)),
      summary_(ledger, words_for(words_for(slots))) {
  std::fill(words_.begin(), words_.end(), 0);
  std::fill(summary_.begin(), summary_.end(), 0);
}

void SlotSet::note_word(std::uint64_t word) noexcept {
  const std::uint64_t bit = std::uint64_t{1} << (word % 64);
  if (words_[word] != 0)
    summary_[word / 64] |= bit;
  else
    summary_[word / 64] &= ~bit;
}

/// Calls action(word, bits) for the words that a run touches.
template <class Action>
void SlotSet::for_each_word(SlotRun run, Action&& action) {
  VALET_ASSERT(run.first <= slots_ && run.count <= slots_ - run.first);
  for (std::uint64_t slot = run.first, end = run.first + run.count; slot < end;) {
    const std::uint64_t word = slot / 64;
    const std::uint64_t stop = std::min(end, (word + 1) * 64);
    action(words_[word], mask_of(slot % 64, stop - word * 64));
    note_word(word);
    slot = stop;
  }
}

void SlotSet::insert(SlotRun run) {
  for_each_word(run, [](std::uint64_t& word, std::uint64_t bits) {
    VALET_ASSERT((word & bits) == 0);
    word |= bits;
  });
  count_ += run.count;
}

void SlotSet::erase(SlotRun run) {
  for_each_word(run, [](std::uint64_t& word, std::uint64_t bits) {
    VALET_ASSERT((word & bits) == bits);
    word &= ~bits;
  });
  count_ -= run.count;
}

void SlotSet::set_word(std::uint64_t word, std::uint64_t bits) noexcept {
  count_ += static_cast<std::uint64_t>(std::popcount(bits));
  count_ -= static_cast<std::uint64_t>(std::popcount(words_[word]));
  words_[word] = bits;
  note_word(word);
}

SlotSet SlotSet::grown(Ledger& ledger, std::uint64_t slots) const {
  SlotSet result(ledger, slots);
  for (std::uint64_t word = 0; word < words_.size(); ++word) result.set_word(word, words_[word]);
  if (slots > slots_) result.insert(SlotRun{slots_, slots - slots_});
  return result;
}

void SlotSet::clear() {
  std::ranges::fill(words_, std::uint64_t{0});
  std::ranges::fill(summary_, std::uint64_t{0});
  count_ = 0;
}

void SlotSet::assign(const SlotSet& other) {
  VALET_ASSERT(slots_ == other.slots_);
  std::copy(other.words_.begin(), other.words_.end(), words_.begin());
  std::copy(other.summary_.begin(), other.summary_.end(), summary_.begin());
  count_ = other.count_;
}

std::uint64_t SlotSet::next(std::uint64_t from) const noexcept {
  if (from >= slots_) return slots_;
  std::uint64_t word = from / 64;
  if (const std::uint64_t rest = words_[word] & (all_ones << (from % 64)); rest != 0)
    return word * 64 + lowest(rest);
  if (++word >= words_.size()) return slots_;
  std::uint64_t group = word / 64;
  std::uint64_t rest = summary_[group] & (all_ones << (word % 64));
  while (rest == 0) {
    if (++group >= summary_.size()) return slots_;
    rest = summary_[group];
  }
  word = group * 64 + lowest(rest);
  return word * 64 + lowest(words_[word]);
}

std::uint64_t SlotSet::next_absent(std::uint64_t from, std::uint64_t limit) const noexcept {
  if (from >= limit) return limit;
  std::uint64_t word = from / 64;
  std::uint64_t rest = ~words_[word] & (all_ones << (from % 64));
  while (rest == 0) {
    if (++word * 64 >= limit) return limit;
    rest = ~words_[word];
  }
  return std::min(limit, word * 64 + lowest(rest));
}

std::uint64_t SlotSet::previous(std::uint64_t end) const noexcept {
  if (end == 0) return slots_;
  std::uint64_t word = (end - 1) / 64;
  if (const std::uint64_t rest = words_[word] & mask_of(0, (end - 1) % 64 + 1); rest != 0)
    return word * 64 + highest(rest);
  if (word == 0) return slots_;
  --word;
  std::uint64_t group = word / 64;
  std::uint64_t rest = summary_[group] & mask_of(0, word % 64 + 1);
  while (rest == 0) {
    if (group == 0) return slots_;
    rest = summary_[--group];
  }
  word = group * 64 + highest(rest);
  return word * 64 + highest(words_[word]);
}

SlotRun SlotSet::next_run(std::uint64_t from, std::uint64_t most) const noexcept {
  const std::uint64_t first = next(from);
  if (first == slots_ || most == 0) return {first, 0};
  const std::uint64_t limit = first + std::min(most, slots_ - first);
  return {first, next_absent(first, limit) - first};
}

std::uint64_t SlotSet::skip(std::uint64_t from, std::uint64_t size) const {
  VALET_ASSERT(size <= count_);
  if (size == 0) return from;
  std::uint64_t word = from / 64;
  std::uint64_t bits = words_[word] & (all_ones << (from % 64));
  while (static_cast<std::uint64_t>(std::popcount(bits)) < size) {
    size -= static_cast<std::uint64_t>(std::popcount(bits));
    bits = words_[++word];
  }
  for (; size > 1; --size) bits &= bits - 1;
  return word * 64 + lowest(bits) + 1;
}

std::uint64_t SlotSet::list(std::uint64_t from, std::uint64_t size, SlotIndex* members) const {
  VALET_ASSERT(size <= count_);
  std::uint64_t written = 0;
  std::uint64_t behind = from;
  while (written < size) {
    const std::uint64_t first = next(behind);
    const std::uint64_t base = first / 64 * 64;
    std::uint64_t rest = words_[first / 64] & (all_ones << (first % 64));
    while (rest != 0 && written < size) {
      const std::uint64_t slot = base + lowest(rest);
      members[written++] = static_cast<SlotIndex>(slot);
      rest &= rest - 1;
      behind = slot + 1;
    }
  }
  return behind;
}

void SlotSet::take_highest(std::span<SlotIndex> members) {
  VALET_ASSERT(members.size() <= count_);
  std::uint64_t end = slots_;
  for (std::size_t written = 0; written < members.size();) {
    const std::uint64_t word = previous(end) / 64;
    std::uint64_t rest = words_[word];
    for (; rest != 0 && written < members.size(); ++written) {
      const std::uint64_t bit = highest(rest);
      members[written] = static_cast<SlotIndex>(word * 64 + bit);
      rest &= ~(std::uint64_t{1} << bit);
    }
    words_[word] = rest;
    note_word(word);
    end = word * 64;  // all of this word are taken, or the list is full
  }
  count_ -= members.size();
}

}  // namespace valet::storage
