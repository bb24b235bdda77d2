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
#include <optional>
#include <span>

namespace valet::operations {

/// One all-to-all on one rank, counts known and agreed upon.
class PageExchange {
 public:
  /// @param state     Of a plan to be: channel, ledger and options are used.
  /// @param data      The buffer.
  /// @param sent, received  Bytes for and from each rank, P entries.
  /// @param page_bytes      Equal on all ranks.
  PageExchange(std::unique_ptr<plan::State> state, std::span<std::byte> data,
               std::uint64_t page_bytes, Array<std::uint64_t> sent, Array<std::uint64_t> received);

  /// Moves everything. Collective, blocking.
  /// @param any_order  The segments may end in any order, of pages too.
  /// @param progress   Of all bytes that leave and arrive; nothing where nobody wants to know.
  Report run(bool any_order, std::optional<ProgressMeter> progress);

 private:
  struct Segment {
    int rank = 0;
    std::uint64_t begin = 0;  ///< bytes into the buffer
    PageCut cut;
    std::uint64_t staging_offset = 0;  ///< of its fragments, whole words
    std::uint64_t message_blocks = 1;
    std::uint64_t first_slot = 0;  ///< of its pages, as they arrive in order
  };
  struct PagesOut;
  struct PagesIn;

  void list_segments(Vector<Segment>& segments, std::span<const std::uint64_t> bytes);
  void tell_cuts();
  [[nodiscard]] Array<std::byte> make_staging(Vector<Segment>& segments);
  void stage_fragments();
  void exchange_fragments();
  [[nodiscard]] std::uint64_t fragment_bytes() const;
  [[nodiscard]] std::uint64_t page_slots() const;
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
