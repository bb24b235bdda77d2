// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Brings a rank's part into pages that belong to one peer each, inside its own memory, and back.
///
/// As samplesort in place does it (M. Axtmann, S. Witt, D. Ferizovic, P. Sanders, "In-Place
/// Parallel Super Scalar Samplesort (IPS4o)", ESA 2017, section 4.1, local classification): a pass
/// over the part appends every element to a buffer of its peer; a buffer that is full is written to
/// the front of the part, where as much has been read already. Unlike there the order in which
/// buffers fill is known from the layouts. So the way back is the same pass run backwards in time,
/// with pages that came from others in the places where this rank would have written them.

#include "observe/observer.hpp"
#include "operations/layout/layout_call.hpp"
#include "operations/page_flows.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace valet::layout {

/// A peer of one side: how much is shared, and what does not fill a page.
struct PagePeer {
  int rank = 0;  ///< in the communicator
  int grid_rank = 0;
  std::uint64_t elements = 0;
  std::uint64_t pages = 0;
  std::uint64_t first_page = 0;      ///< in the list of all peers' pages
  std::uint64_t message_blocks = 1;  ///< size of its messages to this rank, in pages
};

class PageSort {
 public:
  /// @param part  Of a rank with a part in the grid of `mine`.
  PageSort(Ledger& ledger, const GridSide& mine, const GridSide& theirs, IndexOrder order,
           std::size_t element_bytes, std::size_t page_bytes);

  /// Bytes that the lists of such an object take, for `peers` peers, `pages` pages and `ranks`
  /// ranks of theirs.
  [[nodiscard]] static std::uint64_t list_bytes(std::uint64_t peers, std::uint64_t pages,
                                                std::uint64_t ranks);

  [[nodiscard]] std::span<PagePeer> peers() { return peers_; }
  [[nodiscard]] std::span<const PagePeer> peers() const { return peers_; }
  [[nodiscard]] std::uint64_t pages() const { return slots_.size(); }
  /// Where the k-th page of a peer stands: pages from the front of the part.
  [[nodiscard]] std::uint64_t slot(const PagePeer& peer, std::uint64_t k) const {
    return slots_[peer.first_page + k];
  }
  /// What does not fill a page: the last elements for a peer.
  [[nodiscard]] std::size_t fragment_bytes(const PagePeer& peer) const {
    return static_cast<std::size_t>(peer.elements * element_bytes_ - peer.pages * page_bytes_);
  }
  /// The buffer of a peer as far as it is filled, and what makes its last word whole.
  [[nodiscard]] std::span<std::byte> fragment(const PagePeer& peer) {
    const auto p = static_cast<std::size_t>(&peer - peers_.data());
    return {buffers_.data() + p * buffer_stride_, operations::whole_words(fragment_bytes(peer))};
  }

  void allocate_buffers();
  void free_buffers() { buffers_ = {}; }

  /// Into pages; what fills none is then in the buffers. The observer counts each page.
  void to_pages(std::byte* part, const observe::Observer& observer);
  /// From pages, with the fragments in the buffers. The observer counts each page.
  void from_pages(std::byte* part, const observe::Observer& observer);

 private:
  void list_peers();
  void find_slots();

  Ledger& ledger_;
  const GridSide& mine_;
  const GridSide& theirs_;
  IndexOrder order_;
  std::size_t element_bytes_, page_bytes_, buffer_stride_;
  Vector<PagePeer> peers_;          ///< ascending by rank of the communicator
  Array<std::int32_t> peer_of_;     ///< by rank of their grid
  Array<std::uint64_t> slots_;      ///< where all pages end, by peer
  Array<std::uint64_t> filled_;     ///< bytes in the buffer of each peer
  Array<std::uint64_t> next_page_;  ///< for each peer
  Array<std::byte> buffers_;
};

}  // namespace valet::layout
