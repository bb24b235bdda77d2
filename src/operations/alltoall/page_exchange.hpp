// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The all-to-all by pages: what goes to a rank is a stream of operations/pages/, and the buffer
/// has one after the other.

#include "pages/page_move.hpp"
#include "pages/page_streams.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace valet::operations {

/// One all-to-all on one rank, counts known and agreed upon.
class PageExchange {
 public:
  /// @param state           Of a plan to be: channel, ledger and options are used.
  /// @param data            The buffer.
  /// @param sent, received  Elements for and from each rank, P entries.
  /// @param page_bytes      Equal on all ranks.
  PageExchange(std::unique_ptr<plan::State> state, std::span<std::byte> data,
               std::size_t element_bytes, std::uint64_t page_bytes, Array<std::uint64_t> sent,
               Array<std::uint64_t> received);

  /// Moves everything. Collective, blocking.
  /// @param any_order  The segments may end in any order, of pages too.
  /// @param elements   That leave and arrive, for the progress.
  /// @throws Error out_of_memory on all ranks alike, before anything has moved.
  Report run(bool any_order, std::uint64_t elements);

 private:
  void list_segments(bool any_order);
  void exchange_begins();
  void make_pages();
  void exchange_fragments(bool any_order, std::uint64_t pages_after);

  pages::PageMove pages_;  ///< first: its ledger counts all below
  plan::State& state_;
  Ledger& ledger_;
  int rank_;
  std::span<std::byte> data_;
  std::size_t element_bytes_;
  std::uint64_t page_bytes_;
  Array<std::uint64_t> sent_, received_;
  pages::PageStreams outgoing_;
  Vector<pages::Segment> incoming_;  ///< ascending by rank, the own one among them
  Array<std::byte> fragments_;
};

}  // namespace valet::operations
