// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The steps of merge_in_place with constant extra space; in_place_merge.hpp says why they are
/// right and linear.

#include <algorithm>
#include <iterator>
#include <utility>

namespace valet::detail {

template <class Iterator, class Less>
class ConstantSpaceMerge {
 public:
  ConstantSpaceMerge(Iterator first, Iterator middle, Iterator last, Less less)
      : first_(first), middle_(middle), last_(last), less_(less) {}

  void run() {
    if (!trim()) return;
    const Distance n = last_ - first_;
    block_ = root(n);
    const Distance wanted = block_ + n / block_;
    if (middle_ - first_ <= wanted) return merge_by_rotations(first_, middle_, last_);
    keys_ = collect_keys(wanted);
    buffered_ = keys_ == wanted;
    if (!buffered_) block_ = (n + keys_ - 1) / keys_;
    sort_blocks();
    const Distance after_tail = place_tail();
    merge_blocks(after_tail);
    restore_keys();
  }

 private:
  using Distance = typename std::iterator_traits<Iterator>::difference_type;

  /// A sorted part of one of the two sequences.
  struct Part {
    Iterator begin, end;
    bool of_first = true;
  };

  /// The least whole number whose square is n or more.
  static Distance root(Distance n) {
    Distance low = 1, high = 1;
    while (high * high < n) high *= 2;
    while (low < high) {
      const Distance half = low + (high - low) / 2;
      if (half * half < n)
        low = half + 1;
      else
        high = half;
    }
    return low;
  }

  /// Leaves out what is in its place already; false when that is everything.
  bool trim() {
    if (first_ == middle_ || middle_ == last_) return false;
    first_ = std::upper_bound(first_, middle_, *middle_, less_);
    if (first_ == middle_) return false;
    last_ = std::lower_bound(middle_, last_, *std::prev(middle_), less_);
    return middle_ != last_;
  }

  /// For a first sequence with few elements or keys: its rest is moved once for each of its keys.
  void merge_by_rotations(Iterator first, Iterator middle, Iterator last) {
    while (first != middle && middle != last) {
      const Iterator stop = std::lower_bound(middle, last, *first, less_);
      first = std::rotate(first, middle, stop);
      middle = stop;
      if (middle != last) first = std::upper_bound(first, middle, *middle, less_);
    }
  }

  /// Brings the first element of each of at most `wanted` keys of the first sequence to its front,
  /// in order. Those found so far travel along: O(n + wanted^2) swaps.
  Distance collect_keys(Distance wanted) {
    Iterator group = first_;
    Distance found = 1;
    for (Iterator next = first_ + 1; next != middle_ && found < wanted; ++next) {
      if (!less_(*(group + (found - 1)), *next)) continue;
      group = std::rotate(group, group + found, next);
      ++found;
    }
    std::rotate(first_, group, group + found);
    return found;
  }

  [[nodiscard]] Iterator block(Distance k) const { return blocks_ + k * block_; }

  /// Sorts the whole blocks of both sequences by their first elements. Key k at the front goes
  /// with block k and decides between equals; those before `boundary_` are of the first sequence.
  void sort_blocks() {
    const Distance rest = middle_ - (first_ + keys_);
    blocks_ = first_ + keys_ + rest % block_;
    const Distance count = rest / block_ + (last_ - middle_) / block_;
    boundary_ = rest / block_;
    for (Distance k = 0; k < count; ++k) {
      Distance least = k;
      for (Distance other = k + 1; other < count; ++other)
        if (less_(*block(other), *block(least)) ||
            (!less_(*block(least), *block(other)) && less_(first_[other], first_[least])))
          least = other;
      if (least == k) continue;
      std::swap_ranges(block(k), block(k + 1), block(least));
      std::iter_swap(first_ + k, first_ + least);
      if (boundary_ == k)
        boundary_ = least;
      else if (boundary_ == least)
        boundary_ = k;
    }
    whole_blocks_ = count;
  }

  [[nodiscard]] bool is_of_first(Distance k) const {
    // Without blocks of the second sequence there is no key of one.
    return boundary_ >= whole_blocks_ || less_(first_[k], first_[boundary_]);
  }

  /// Moves the last, short block of the second sequence before the blocks of the first that follow
  /// it. Returns how many these are.
  Distance place_tail() {
    const Iterator tail = block(whole_blocks_);
    Distance behind = 0;
    if (tail == last_) return 0;
    while (behind < whole_blocks_ && less_(*tail, *block(whole_blocks_ - behind - 1))) ++behind;
    std::rotate(block(whole_blocks_ - behind), tail, last_);
    return behind;
  }

  /// Merges blocks from left to right. What is carried along is the rest of one block; everything
  /// to its left is final, but for the buffer, which is directly to its left.
  void merge_blocks(Distance after_tail) {
    const Distance tail = (last_ - blocks_) - whole_blocks_ * block_;
    Part rest{first_ + keys_, blocks_, true};
    for (Distance k = 0; k < whole_blocks_ - after_tail; ++k) add(rest, block_, is_of_first(k));
    if (tail > 0) add(rest, tail, false);
    for (Distance k = 0; k < after_tail; ++k) add(rest, block_, true);
    if (buffered_) move_past_buffer(rest);
  }

  void add(Part& rest, Distance size, bool of_first) {
    const Part next{rest.end, rest.end + size, of_first};
    if (rest.begin == rest.end || rest.of_first == of_first) {
      if (buffered_) move_past_buffer(rest);
      rest = next;
    } else if (buffered_) {
      rest = merge_through_buffer(rest, next);
    } else {
      rest = merge_few_keys(rest, next);
    }
  }

  void move_past_buffer(const Part& part) {
    for (Iterator at = part.begin; at != part.end; ++at) std::iter_swap(at - block_, at);
  }

  /// Whether `right` goes before `left`; of equals the one of the first sequence does.
  template <class Element>
  bool goes_first(const Element& right, const Element& left, bool left_of_first) const {
    return left_of_first ? less_(right, left) : !less_(left, right);
  }

  /// Returns what is left of one of the two when the other is used up.
  Part merge_through_buffer(const Part& left, const Part& right) {
    Iterator out = left.begin - block_;
    Iterator l = left.begin, r = right.begin;
    while (l != left.end && r != right.end)
      std::iter_swap(out++, goes_first(*r, *l, left.of_first) ? r++ : l++);
    if (l == left.end) return {r, right.end, right.of_first};
    // A part of the buffer is to the right of what is left.
    Iterator from = left.end, to = right.end;
    while (from != l) std::iter_swap(--from, --to);
    return {to, right.end, left.of_first};
  }

  /// The same by rotations: at most one more than the keys of the first sequence in these blocks.
  Part merge_few_keys(const Part& left, const Part& right) {
    Iterator l = left.begin, r = right.begin;
    const auto stays = [&](const auto& element) { return !goes_first(*r, element, left.of_first); };
    const auto passes = [&](const auto& element) { return goes_first(element, *l, left.of_first); };
    while (true) {
      l = std::partition_point(l, r, stays);
      if (l == r) return {r, right.end, right.of_first};
      const Iterator stop = std::partition_point(r, right.end, passes);
      l = std::rotate(l, r, stop);
      r = stop;
      if (r == right.end) return {l, r, left.of_first};
    }
  }

  void insertion_sort(Iterator begin, Iterator end) {
    for (Iterator at = begin; at != end; ++at)
      std::rotate(std::upper_bound(begin, at, *at, less_), at, at + 1);
  }

  /// Keys are distinct, so sorting brings back their order; each goes before its equals.
  void restore_keys() {
    if (buffered_) {
      insertion_sort(last_ - block_, last_);
      std::rotate(first_ + keys_ - block_, last_ - block_, last_);
    }
    insertion_sort(first_, first_ + std::min(keys_, whole_blocks_));
    merge_by_rotations(first_, first_ + keys_, last_);
  }

  Iterator first_, middle_, last_;
  Less less_;
  Iterator blocks_{};  ///< where whole blocks begin
  Distance block_ = 1;
  Distance keys_ = 0;
  Distance whole_blocks_ = 0;
  Distance boundary_ = 0;
  bool buffered_ = false;
};

}  // namespace valet::detail
