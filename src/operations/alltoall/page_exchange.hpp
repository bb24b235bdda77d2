// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The all-to-all through STREAM: elements move in pages.
///
/// A segment rarely starts or ends where a page does. So its whole pages move as blocks of a
/// storage, by the machinery of maps, and the fragments before and behind them, below two pages a
/// segment, move through scratch. Whole pages land packed at the front of the buffer by source;
/// since fragments only add bytes, no page then is behind its final place, and one pass from the
/// last segment to the first puts everything where it belongs.

#include "operations/alltoall/pages.hpp"
#include "plan/plan_state.hpp"

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
  /// @param wish       Who wants to know the progress: of `elements`, that leave and arrive, of
  ///                   `element_bytes` each.
  Report run(bool any_order, const observe::ProgressWish& wish, std::uint64_t elements,
             std::uint64_t element_bytes);

 private:
  /// What goes to a rank or comes from it. `first_page` is where its pages stand, or belong.
  struct Segment : PageCut {
    int rank = 0;
    std::uint64_t begin = 0;           ///< bytes into the buffer
    std::uint64_t staging_offset = 0;  ///< where its fragments begin, whole words
    std::uint64_t message_blocks = 1;
  };

  [[nodiscard]] Vector<Segment> list_segments(const Array<std::uint64_t>& counts,
                                              std::size_t element_bytes);
  void exchange_cuts();
  [[nodiscard]] Array<std::byte> make_staging(Vector<Segment>& segments);
  void stage_fragments();
  void exchange_fragments();
  [[nodiscard]] std::uint64_t fragment_bytes() const;
  void build_flows(bool any_order, std::uint64_t slots);
  Report move_pages(bool any_order);
  void finalize_in_order();
  void append_fragments(std::uint64_t begin);

  Plan plan_;  ///< first: its ledger counts all below
  plan::State& state_;
  Ledger& ledger_;
  int rank_;
  std::span<std::byte> data_;
  std::uint64_t page_bytes_;
  Vector<Segment> outgoing_, incoming_;  ///< ascending by rank, the own one in both
  Array<std::byte> staging_out_, staging_in_;
};

}  // namespace valet::operations
