// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Brings a rank's part into pages that belong to one peer each, inside its own memory, and back.
///
/// The elements for a peer are a segment of pages/page_segments.hpp that begins where a page does.
/// The order in which pages fill is known from the layouts. So the way back is the same pass run
/// backwards in time, with pages that came from others in the places where this rank would have
/// written them.

#include "geometry/intersection.hpp"
#include "geometry/owner_walk.hpp"
#include "observe/observer.hpp"
#include "operations/layout/layout_call.hpp"
#include "pages/page_segments.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace valet::layout {

class OwnerSegments : public pages::PageSegments {
 public:
  /// Finds where pages stand. @throws std::bad_alloc.
  OwnerSegments(Ledger& ledger, const GridSide& mine, const GridSide& theirs, IndexOrder order,
                std::size_t element_bytes, std::size_t page_bytes)
      : PageSegments(ledger, page_bytes),
        ledger_(ledger),
        mine_(mine),
        theirs_(theirs),
        order_(order),
        element_bytes_(element_bytes),
        page_bytes_(page_bytes) {
    if (mine_.elements() == 0) return;
    list_peers();
    start_list();
    for_each_piece<Direction::forward>(
        [&](std::size_t segment, std::uint64_t bytes) { static_cast<void>(list(segment, bytes)); });
  }

  /// Bytes that the lists of such an object take, for `peers` peers, `pages` pages and `ranks`
  /// ranks of theirs.
  [[nodiscard]] static std::uint64_t list_bytes(std::uint64_t peers, std::uint64_t pages,
                                                std::uint64_t ranks) {
    return peers * (bytes_of_segment + sizeof(GridPeer)) + pages * sizeof(std::uint64_t) +
           ranks * sizeof(std::int32_t);
  }

  /// For what fills no page: the last elements for a peer. @throws std::bad_alloc.
  void allocate_buffers() {
    buffers_ = Array<std::byte>(ledger_, static_cast<std::size_t>(fragment_bytes()));
    provide(buffers_);
  }
  void free_buffers() { buffers_ = {}; }

  /// Into pages; what fills none is then in the buffers. The observer counts bytes.
  void into_pages(std::byte* part, const observe::Observer& observer) {
    if (segments().empty()) return;
    start(part, buffers_);
    move_pieces<Direction::forward>(
        observer, [&](std::size_t segment, std::uint64_t bytes) { append(segment, bytes); });
  }
  /// From pages, with the fragments in the buffers. Likewise.
  void from_pages(std::byte* part, const observe::Observer& observer) {
    if (segments().empty()) return;
    start_back(part, static_cast<std::uint64_t>(mine_.elements()) * element_bytes_);
    move_pieces<Direction::backward>(
        observer, [&](std::size_t segment, std::uint64_t bytes) { take(segment, bytes); });
  }

 private:
  struct GridPeer {
    int rank = 0;  ///< in the communicator
    int grid_rank = 0;
    std::uint64_t elements = 0;
  };

  /// Calls action(stream, bytes) for the elements of the part that follow each other in memory and
  /// go to the same peer.
  template <Direction direction, class Action>
  void for_each_piece(Action&& action) const {
    walk_owners<direction>(mine_.layout(), mine_.grid_rank, theirs_.layout(), order_,
                           [&](int grid_rank, std::int64_t length) {
                             const auto g = static_cast<std::size_t>(grid_rank);
                             action(static_cast<std::size_t>(segment_of_[g]),
                                    static_cast<std::uint64_t>(length) * element_bytes_);
                           });
  }

  /// The same with the data. The observer counts bytes, a page of them at a time.
  template <Direction direction, class Action>
  void move_pieces(const observe::Observer& observer, Action&& action) const {
    std::uint64_t moved = 0;
    for_each_piece<direction>([&](std::size_t segment, std::uint64_t bytes) {
      action(segment, bytes);
      moved += bytes;
      if (moved >= page_bytes_) observer.moved(std::exchange(moved, 0));
    });
    observer.moved(moved);
  }

  void list_peers() {
    const Intersection shared(ledger_, mine_.layout(), mine_.grid_rank, theirs_.layout());
    const int end = theirs_.layout().ranks();
    std::size_t count = 0;
    for (int g = shared.next_peer(0); g < end; g = shared.next_peer(g + 1)) ++count;
    Vector<GridPeer> peers(ledger_);
    peers.reserve(count);
    for (int g = shared.next_peer(0); g < end; g = shared.next_peer(g + 1))
      peers.push_back(
          {theirs_.communicator_rank(g), g, static_cast<std::uint64_t>(shared.elements(g))});
    std::ranges::sort(peers, {}, &GridPeer::rank);
    reserve(count);
    segment_of_ = Array<std::int32_t>(ledger_, static_cast<std::size_t>(end));
    for (std::size_t p = 0; p < count; ++p) {
      segment_of_[static_cast<std::size_t>(peers[p].grid_rank)] = static_cast<std::int32_t>(p);
      add(peers[p].rank, peers[p].elements * element_bytes_, 0);
    }
  }

  Ledger& ledger_;
  const GridSide& mine_;
  const GridSide& theirs_;
  IndexOrder order_;
  std::size_t element_bytes_, page_bytes_;
  Array<std::int32_t> segment_of_;  ///< by rank of their grid
  Array<std::byte> buffers_;
};

}  // namespace valet::layout
