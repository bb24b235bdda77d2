// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Pages: memory seen as slots of equal size, and how bytes in a row lie on them. Pure.

#include <cstdint>
#include <span>

namespace valet::pages {

/// How bytes in a row lie on the pages of the memory that they are in: a head, whole pages, a tail.
struct PageCut {
  std::uint64_t head_bytes = 0;  ///< before the first whole page; all where there is none
  std::uint64_t first_page = 0;
  std::uint64_t pages = 0;
  std::uint64_t tail_bytes = 0;

  [[nodiscard]] std::uint64_t fragment_bytes() const { return head_bytes + tail_bytes; }
  /// Scratch of a segment that is appended bit by bit: its head, and a buffer for a page or the
  /// tail.
  [[nodiscard]] std::uint64_t buffered_bytes(std::uint64_t page_bytes) const {
    return pages == 0 ? fragment_bytes() : head_bytes + page_bytes;
  }
};

/// Cuts `bytes` bytes that start `begin` bytes into the memory. Head and tail together are below
/// two pages.
[[nodiscard]] constexpr PageCut cut_into_pages(std::uint64_t begin, std::uint64_t bytes,
                                               std::uint64_t page_bytes) {
  const std::uint64_t end = begin + bytes;
  const std::uint64_t first = (begin + page_bytes - 1) / page_bytes;
  const std::uint64_t last = end / page_bytes;
  if (last <= first) return {.head_bytes = bytes, .first_page = first, .pages = 0, .tail_bytes = 0};
  return {.head_bytes = first * page_bytes - begin,
          .first_page = first,
          .pages = last - first,
          .tail_bytes = end - last * page_bytes};
}

/// What goes to a rank or comes from it. PageCut::first_page is the slot of its first page; where
/// slots are listed, its index in the list.
struct Segment : PageCut {
  int rank = 0;
  std::uint32_t message_pages = 1;  ///< incoming: no message crosses a multiple of this
  std::uint64_t begin = 0;          ///< in the memory of the receiver; outgoing: modulo the page

  [[nodiscard]] std::uint64_t bytes(std::uint64_t page_bytes) const {
    return head_bytes + pages * page_bytes + tail_bytes;
  }
};

/// The segments of one direction, ascending by rank, this one among them, and the slots of their
/// pages.
struct PageSide {
  std::span<Segment> segments;
  std::span<const std::uint64_t> listed = {};  ///< empty where pages stand one behind the other

  [[nodiscard]] std::uint64_t slot(const Segment& segment, std::uint64_t k) const {
    return listed.empty() ? segment.first_page + k : listed[segment.first_page + k];
  }
};

/// The sum of a member over the peers that are not this rank.
template <class Peer, class Owner>
[[nodiscard]] std::uint64_t sum_of_others(std::span<Peer> peers, int rank,
                                          std::uint64_t Owner::*member) {
  std::uint64_t sum = 0;
  for (const Peer& peer : peers) sum += peer.rank == rank ? 0 : peer.*member;
  return sum;
}
/// Bytes of others that are not on pages, and travel apart from them.
[[nodiscard]] inline std::uint64_t fragment_bytes_of_others(std::span<const Segment> segments,
                                                            int rank) {
  return sum_of_others(segments, rank, &PageCut::head_bytes) +
         sum_of_others(segments, rank, &PageCut::tail_bytes);
}

}  // namespace valet::pages
