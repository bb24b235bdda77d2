// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Brings a rank's part into pages that belong to one peer each, inside its own memory, and back.
///
/// The elements for a peer are a stream of pages/page_streams.hpp that begins where a
/// page does. The order in which pages fill is known from the layouts. So the way back is the same
/// pass run backwards in time, with pages that came from others in the places where this rank would
/// have written them.

#include "observe/observer.hpp"
#include "operations/layout/layout_call.hpp"
#include "pages/page_streams.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace valet::layout {

class OwnerStreams {
 public:
  /// Finds where pages stand. @throws std::bad_alloc.
  OwnerStreams(Ledger& ledger, const GridSide& mine, const GridSide& theirs, IndexOrder order,
               std::size_t element_bytes, std::size_t page_bytes);

  /// Bytes that the lists of such an object take, for `peers` peers, `pages` pages and `ranks`
  /// ranks of theirs.
  [[nodiscard]] static std::uint64_t list_bytes(std::uint64_t peers, std::uint64_t pages,
                                                std::uint64_t ranks);

  [[nodiscard]] std::span<pages::Segment> segments() { return streams_.segments(); }
  [[nodiscard]] std::span<const pages::Segment> segments() const { return streams_.segments(); }
  [[nodiscard]] pages::PageSide side() { return streams_.side(); }
  /// What does not fill a page: the last elements for a peer.
  [[nodiscard]] std::span<std::byte> fragments(const pages::Segment& segment) {
    return streams_.fragments_of(static_cast<std::size_t>(&segment - segments().data()));
  }

  /// For what fills no page. @throws std::bad_alloc.
  void allocate_buffers();
  void free_buffers() { buffers_ = {}; }

  /// Into pages; what fills none is then in the buffers. The observer counts bytes.
  void into_pages(std::byte* part, const observe::Observer& observer);
  /// From pages, with the fragments in the buffers. Likewise.
  void from_pages(std::byte* part, const observe::Observer& observer);

 private:
  void list_peers();

  Ledger& ledger_;
  const GridSide& mine_;
  const GridSide& theirs_;
  IndexOrder order_;
  std::size_t element_bytes_, page_bytes_;
  pages::PageStreams streams_;
  Array<std::int32_t> stream_of_;  ///< by rank of their grid
  Array<std::byte> buffers_;
};

}  // namespace valet::layout
