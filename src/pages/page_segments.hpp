// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Bytes for several ranks into pages of one rank each, inside the memory that they are in.
///
/// The bytes for one rank, run after run, are a segment. The rank that gets it says where it will
/// begin in its memory, modulo the page. So the segment is cut where pages of that memory begin: a
/// head that fills the rest of the page in which it begins, whole pages, a tail. Heads and tails
/// wait in scratch until all pages are where they belong. Whole pages are what moves, as blocks of
/// one size; page_move.hpp does that.
///
/// As in-place samplesort classifies (M. Axtmann, S. Witt, D. Ferizovic, P. Sanders, "In-Place
/// Parallel Super Scalar Samplesort (IPS4o)", ESA 2017, section 4.1): one pass from front to back
/// appends every run to the buffer of its segment; a page that is full is written to the front of
/// the memory, behind those that were written before.
///
/// Nothing is overwritten that is still to be read. When a page is full, r bytes have been read and
/// w pages written. All that was read is in these pages, in heads, or in buffers, the full one
/// among them: w * page + page <= r. So it is written to bytes that have been read. Where a page is
/// a part of one run it is not read into a buffer first: it moves from where it is, at or above w *
/// page, to w * page, the lower bytes first.
///
/// The way back is the same pass run backwards in time: runs are taken from the end of segments and
/// written from the back of the memory to its front. Then it is the bytes still to be written that
/// hold all pages still to be read, by the same count.
///
/// Memory. A head is less than a page, and so is a buffer: two pages a segment, this rank's own
/// included. A segment without whole pages begins in one page and ends in it or in the next: it is
/// less than two pages, and all head. Where each page went is 8 bytes a page.

#include "base/assert.hpp"
#include "pages/page_cut.hpp"
#include "storage/copy.hpp"
#include <valet/ledger.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace valet::pages {

/// The segments of one memory on one rank. All functions are local.
class PageSegments {
 public:
  /// @param are_single_runs  Each segment is appended at once, so that only its tail is buffered.
  PageSegments(Ledger& ledger, std::uint64_t page_bytes, bool are_single_runs = false)
      : ledger_(ledger),
        page_bytes_(page_bytes),
        are_single_runs_(are_single_runs),
        segments_(ledger),
        states_(ledger) {}

  /// @throws std::bad_alloc.
  void reserve(std::size_t count) {
    segments_.reserve(count);
    states_.reserve(count);
  }
  /// Appends a segment for a rank above all so far.
  /// @param begin  Where it will start, modulo the page.
  void add(int rank, std::uint64_t bytes, std::uint64_t begin) {
    Segment& segment = segments_.emplace_back();
    states_.emplace_back();
    segment.rank = rank;
    segment.begin = begin;
    cut(segment, bytes);
  }
  /// After other beginnings have been written to the segments.
  void cut_again() {
    pages_ = fragment_bytes_ = 0;
    for (Segment& segment : segments_) cut(segment, segment.bytes(page_bytes_));
  }

  /// What the lists of a segment take beside those of its pages.
  static constexpr std::size_t bytes_of_segment = sizeof(Segment) + 5 * sizeof(std::uint64_t);

  [[nodiscard]] std::span<Segment> segments() { return segments_; }
  [[nodiscard]] std::span<const Segment> segments() const { return segments_; }
  /// The segments and where their pages stand, as far as that is listed.
  [[nodiscard]] PageSide side() { return {segments_, {slots_.data(), slots_.size()}}; }
  /// Scratch for heads and buffers of all segments.
  [[nodiscard]] std::uint64_t fragment_bytes() const { return fragment_bytes_; }

  /// @name The pass without the data: finds where each page will stand
  /// @{

  /// @throws std::bad_alloc.
  void start_list() {
    slots_ = Array<std::uint64_t>(ledger_, static_cast<std::size_t>(pages_));
    next_slot_ = 0;
    for (std::size_t s = 0; s < states_.size(); ++s) {
      const Segment& segment = segments_[s];
      states_[s].left = segment.bytes(page_bytes_);
      states_[s].room = segment.head_bytes + page_bytes_;  // never full where all is head
      states_[s].page = segment.first_page;
    }
  }
  /// The next bytes of the memory belong to a segment. False where it has not as many left.
  [[nodiscard]] bool list(std::size_t number, std::uint64_t bytes) {
    if (number >= states_.size() || bytes > states_[number].left) return false;
    states_[number].left -= bytes;
    if (bytes >= states_[number].room) bytes = list_pages(number, bytes);
    states_[number].room -= bytes;
    return true;
  }
  /// Whether all segments have all their bytes.
  [[nodiscard]] bool is_complete() const {
    return std::ranges::all_of(states_, [](const SegmentState& state) { return state.left == 0; });
  }
  void free_list() { slots_ = {}; }
  /// @}

  /// @name The pass with the data
  /// @{

  /// @param scratch  fragment_bytes(); keeps heads and tails.
  void start(std::byte* data, std::span<std::byte> scratch) {
    provide(scratch);
    from_ = to_ = data;
  }
  /// The next bytes of the memory belong to a segment. As list() was told, or one segment after the
  /// other.
  void append(std::size_t number, std::uint64_t bytes) {
    std::byte*& next = states_[number].next;
    std::byte* const buffer = states_[number].fragments + segments_[number].head_bytes;
    // A segment without whole pages is all head, and never full.
    std::byte* const full = buffer + page_bytes_;
    while (bytes > 0) {
      if (next == buffer && bytes >= page_bytes_) {
        write_page(from_);
        from_ += page_bytes_;
        bytes -= page_bytes_;
        continue;
      }
      // The head goes up to the buffer, so that the page behind it may move from where it is.
      std::byte* const end = next < buffer ? buffer : full;
      const std::uint64_t part = std::min(bytes, static_cast<std::uint64_t>(end - next));
      detail::copy_bytes(next, from_, part);
      next += part;
      from_ += part;
      bytes -= part;
      if (next != full) continue;
      detail::copy_bytes(to_, buffer, page_bytes_);
      to_ += page_bytes_;
      next = buffer;
    }
  }
  /// The next bytes of the memory belong to none, and are lost.
  void skip(std::uint64_t bytes) { from_ += bytes; }
  /// Head and tail of a segment when all is appended, one behind the other.
  [[nodiscard]] std::span<std::byte> fragments_of(const Segment& segment) {
    return {states_[static_cast<std::size_t>(&segment - segments_.data())].fragments,
            static_cast<std::size_t>(segment.fragment_bytes())};
  }
  /// @}

  /// @name The pass with the data, backwards
  /// For segments that are listed and begin where a page does.
  /// @{

  /// @param scratch  fragment_bytes(); fragments_of() a segment then are its tail, which is to be
  ///                 brought there before the pass.
  void provide(std::span<std::byte> scratch) {
    VALET_ASSERT(scratch.size() >= fragment_bytes_);
    std::byte* fragments = scratch.data();
    for (std::size_t s = 0; s < segments_.size(); ++s) {
      states_[s].next = states_[s].fragments = fragments;
      fragments += scratch_of(segments_[s]);
    }
  }
  void start_back(std::byte* data, std::uint64_t bytes) {
    data_ = data;
    to_ = data + bytes;
    for (std::size_t s = 0; s < segments_.size(); ++s) {
      VALET_ASSERT(segments_[s].begin == 0 && segments_[s].pages * segments_[s].head_bytes == 0);
      states_[s].page = segments_[s].first_page + segments_[s].pages;
      states_[s].next = states_[s].fragments + segments_[s].fragment_bytes();
    }
  }
  /// The last bytes of a segment that are left come before those of the last call.
  void take(std::size_t number, std::uint64_t bytes) {
    std::byte* const buffer = states_[number].fragments;
    std::byte*& next = states_[number].next;
    while (bytes > 0) {
      if (next == buffer) {
        const std::byte* const page = data_ + slots_[--states_[number].page] * page_bytes_;
        if (bytes >= page_bytes_) {
          to_ -= page_bytes_;
          bytes -= page_bytes_;
          if (to_ != page) std::memmove(to_, page, page_bytes_);
          continue;
        }
        detail::copy_bytes(buffer, page, page_bytes_);
        next = buffer + page_bytes_;
      }
      const std::uint64_t part = std::min(bytes, static_cast<std::uint64_t>(next - buffer));
      next -= part;
      to_ -= part;
      bytes -= part;
      detail::copy_bytes(to_, next, part);
    }
  }
  /// @}

 private:
  struct SegmentState {
    std::uint64_t left = 0;          ///< bytes to be listed
    std::uint64_t room = 0;          ///< bytes until the next page is full
    std::uint64_t page = 0;          ///< the next to be full; backwards: behind the next
    std::byte* fragments = nullptr;  ///< the head, and behind it the buffer
    std::byte* next = nullptr;       ///< where the next byte goes; backwards: behind the last left
  };
  void cut(Segment& segment, std::uint64_t bytes) {
    static_cast<PageCut&>(segment) = cut_into_pages(segment.begin, bytes, page_bytes_);
    segment.first_page = pages_;
    pages_ += segment.pages;
    fragment_bytes_ += scratch_of(segment);
  }
  /// For its head and a buffer.
  [[nodiscard]] std::uint64_t scratch_of(const Segment& segment) const {
    return are_single_runs_ ? segment.fragment_bytes() : segment.buffered_bytes(page_bytes_);
  }
  /// Lists the pages that these bytes fill; returns those that begin another one.
  std::uint64_t list_pages(std::size_t number, std::uint64_t bytes) {
    SegmentState& filled = states_[number];
    bytes -= filled.room;
    for (std::uint64_t full = 1 + bytes / page_bytes_; full > 0; --full)
      slots_[filled.page++] = next_slot_++;
    filled.room = page_bytes_;
    return bytes % page_bytes_;
  }
  /// To the front, where at least a page has been read. What is read next may overlap with it.
  void write_page(const std::byte* from) {
    if (to_ != from) std::memmove(to_, from, page_bytes_);
    to_ += page_bytes_;
  }

  Ledger& ledger_;
  std::uint64_t page_bytes_;
  bool are_single_runs_;
  Vector<Segment> segments_;
  Vector<SegmentState> states_;
  std::uint64_t pages_ = 0;
  std::uint64_t fragment_bytes_ = 0;
  std::uint64_t next_slot_ = 0;
  Array<std::uint64_t> slots_;
  std::byte* data_ = nullptr;
  const std::byte* from_ = nullptr;  ///< the next byte to read
  std::byte* to_ = nullptr;          ///< where the next page goes; backwards: behind the next bytes
};

}  // namespace valet::pages
