// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Blocks of different sizes into pages, inside the memory that they are in.
///
/// The bytes for one rank, block after block, are a stream. The rank that gets it says where it
/// will begin in its arena, modulo the page. So the stream is cut where pages of that arena begin:
/// a head that fills the rest of the page in which it begins, whole pages, a tail. Heads and tails
/// wait in scratch until all pages are where they belong. Whole pages are what moves, as blocks of
/// one size, each to a slot that is known from the counts: the first whole page of the segment and
/// its number in the stream.
///
/// As in-place samplesort classifies (M. Axtmann, S. Witt, D. Ferizovic, P. Sanders, "In-Place
/// Parallel Super Scalar Samplesort (IPS4o)", ESA 2017, section 4.1): one pass from front to back
/// appends every block to the buffer of its stream; a page that is full is written to the front of
/// the arena, behind those that were written before.
///
/// Nothing is overwritten that is still to be read. When a page is full, r bytes have been read and
/// w pages written. All that was read is in these pages, in heads, or in buffers, the full one
/// among them: w * page + page <= r. So it is written to bytes that have been read. Where a page is
/// a part of one block it is not read into a buffer first: it moves from where it is, at or above
/// w * page, to w * page, the lower bytes first.
///
/// Memory. A head is less than a page, and so is a buffer: two pages a stream, this rank's own
/// included. A stream without whole pages begins in one page and ends in it or in the next: it is
/// less than two pages, and all head. Where each page went is 8 bytes a page.
///
/// Completeness. Before, whole pages of all streams stand packed from slot 0 on, in slots of the
/// arena; afterwards each has a slot of its own that lies within the bytes that the rank ends with,
/// hence within the arena, too. So pages are an injective map to slots, with one page of scratch as
/// the slot that has to be free: what engine/stream/stream.hpp shows holds, whatever is
/// free in the arena, nothing included. When all pages are in their slots, the bytes of heads and
/// tails lie in slots of no page: nobody's any more, so they are received straight into place.

#include "operations/alltoall/pages.hpp"
#include <valet/ledger.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace valet::ragged {

/// What goes to a rank or comes from it.
struct Segment : operations::PageCut {
  int rank = 0;
  std::uint64_t bytes = 0;
  std::uint64_t begin = 0;           ///< in the arena of the receiver; outgoing: modulo the page
  std::uint64_t message_blocks = 1;  ///< incoming: the size of its messages, in pages
  std::uint64_t first_listed = 0;    ///< outgoing: in the list of where pages stand
  std::uint64_t done = 0;            ///< outgoing: bytes, or pages
  std::byte* fragments = nullptr;    ///< outgoing: the head, and behind it the buffer
  std::byte* next = nullptr;         ///< outgoing: where the next byte goes
};

/// The streams of one arena on one rank. All functions are local.
class PageStreams {
 public:
  PageStreams(Ledger& ledger, std::uint64_t page_bytes)
      : ledger_(ledger), page_bytes_(page_bytes), segments_(ledger) {}

  /// @throws std::bad_alloc.
  void reserve(std::size_t streams) { segments_.reserve(streams); }
  /// Appends a stream for a rank above all so far.
  /// @param begin  Where it will start, modulo the page.
  void add(int rank, std::uint64_t bytes, std::uint64_t begin);

  [[nodiscard]] std::span<Segment> segments() { return segments_; }
  /// Of all streams together.
  [[nodiscard]] std::uint64_t pages() const { return pages_; }
  /// Scratch for heads and buffers of all streams.
  [[nodiscard]] std::uint64_t fragment_bytes() const { return fragment_bytes_; }

  /// @name The pass without the data: finds where each page will stand
  /// @{

  /// @throws std::bad_alloc.
  void start_list();
  /// The next bytes of the arena belong to a stream. False where it has not as many left.
  [[nodiscard]] bool list(std::size_t stream, std::uint64_t bytes);
  /// Whether all streams have all their bytes.
  [[nodiscard]] bool is_complete() const;
  /// The slot of the k-th page of a stream.
  [[nodiscard]] std::uint64_t slot(const Segment& stream, std::uint64_t k) const {
    return slots_[stream.first_listed + k];
  }
  void free_list() { slots_ = {}; }
  /// @}

  /// @name The pass with the data
  /// @{

  /// @param scratch  fragment_bytes(); keeps heads and tails.
  void start(std::byte* data, std::span<std::byte> scratch);
  /// The next bytes of the arena belong to a stream. As list() was told.
  void append(std::size_t stream, std::uint64_t bytes);
  /// @}

  /// Head and tail of a stream when all is appended, one behind the other.
  [[nodiscard]] static std::span<const std::byte> fragments_of(const Segment& stream) {
    return {stream.fragments, static_cast<std::size_t>(stream.fragment_bytes())};
  }

 private:
  void write_page(const std::byte* from);

  Ledger& ledger_;
  std::uint64_t page_bytes_;
  Vector<Segment> segments_;
  std::uint64_t pages_ = 0;
  std::uint64_t fragment_bytes_ = 0;
  std::uint64_t next_slot_ = 0;
  Array<std::uint64_t> slots_;
  const std::byte* from_ = nullptr;  ///< the next byte to read
  std::byte* page_ = nullptr;        ///< where the next page goes
};

}  // namespace valet::ragged
