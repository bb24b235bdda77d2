// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What one rank knows of a validated map: which blocks it sends to whom, how many it gets from
/// whom, and in which slot everything ends. No MPI in here.
///
/// Memory a slot: `exports` 4 bytes a leaving block; where final slots are listed
/// `arrivals` 4 bytes an arriving block; 8 a block that changes its slot inside the rank, but for
/// fill and stable; two bitmaps at most.

#include "base/assert.hpp"
#include "storage/slot_set.hpp"
#include <valet/ledger.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace valet::plan {

/// How final slots follow from the map (Options::order, or given by the map itself).
enum class Form { any, fill, stable, slots };

/// What decides the slots of Form::any beside the flows; see plan/any_order.hpp.
struct AnyOrder {
  std::uint64_t grain = 1;    ///< blocks
  int rank = 0;               ///< this one
  int ranks = 1;              ///< of the communicator
  std::uint64_t shift = 0;    ///< first imports, which wait aside and take the last holes
  std::uint64_t in_wait = 0;  ///< of the others, that wait for their holes at once, at most
  bool is_listed = false;     ///< Flows::arrivals has the slots, for methods that ask in any order
};

/// Blocks for one other rank: exports[first, first + count), ascending by slot.
struct Outgoing {
  int rank = 0;
  std::uint32_t count = 0;
  SlotIndex first = 0;
};

/// Blocks from one other rank. Their final slots are read with a cursor, see final_slots().
struct Incoming {
  int rank = 0;
  std::uint32_t count = 0;
  SlotIndex cursor = 0;              ///< at the first block
  std::uint32_t message_blocks = 0;  ///< no message of the sender crosses a multiple of this
};

/// Position of the first flow whose rank is at least `rank`, in a list that ascends by rank. O(log
/// n).
template <class FlowList>
[[nodiscard]] std::size_t flow_from(const FlowList& flows, int rank) {
  using Flow = std::ranges::range_value_t<FlowList>;
  return static_cast<std::size_t>(std::ranges::lower_bound(flows, rank, {}, &Flow::rank) -
                                  flows.begin());
}

struct Flows {
  explicit Flows(Ledger& ledger) : outgoing(ledger), incoming(ledger) {}

  Form form = Form::fill;
  std::uint64_t slots = 0;  ///< the slots that this plan speaks of: all of them, or required_slots
  std::uint64_t slots_before = 0;    ///< of the storage that was planned for
  std::uint64_t blocks_before = 0;   ///< those that are kept
  std::uint64_t blocks_dropped = 0;  ///< those that are not
  std::uint64_t blocks_after = 0;
  std::uint64_t blocks_resident = 0;
  std::uint64_t blocks_arriving = 0;
  std::uint64_t message_blocks = 0;  ///< of this rank's messages, as receivers have been told
  std::size_t eager_bytes = 0;       ///< MPI sends as many to other nodes at once; 0: not known
  Vector<Outgoing> outgoing;         ///< ascending by rank
  Vector<Incoming> incoming;         ///< ascending by rank
  Array<SlotIndex> exports;          ///< slots, by (destination, slot)
  storage::SlotSet initially_free;
  storage::SlotSet holes;  ///< fill, stable: free once everything that leaves has left
  AnyOrder any;
  std::uint64_t residents_at = 0;  ///< stable: arrivals that end before the blocks that stay
  Array<SlotIndex> arrivals;       ///< slots, any where listed: final slot by (source, old slot)
  Array<SlotIndex> resident_from,
      resident_to;  ///< slots, any: blocks that change their slot inside this rank

  /// Whether blocks are to land in the order of plan/any_order.hpp, and in no other.
  [[nodiscard]] bool in_order() const { return form == Form::any && !any.is_listed; }

  /// Indices for each slot that are promised at most (Report::extra_bytes_bound).
  [[nodiscard]] std::uint64_t words_per_slot() const {
    if (in_order()) return 2;
    return form == Form::slots || form == Form::any ? 4 : 3;
  }

  /// Appends a flow from a rank above those that are listed; its blocks end behind theirs.
  /// @param of_message  Incoming::message_blocks.
  void add_incoming(int rank, std::uint64_t count, std::uint64_t of_message) {
    SlotIndex cursor = 0;
    if (!incoming.empty())
      cursor = advance(incoming.back().cursor, incoming.back().count);
    else if (form == Form::fill)
      cursor = static_cast<SlotIndex>(holes.next(0));
    if (form == Form::stable && cursor == residents_at)
      cursor = static_cast<SlotIndex>(cursor + blocks_resident);
    incoming.push_back(
        {rank, static_cast<SlotIndex>(count), cursor, static_cast<SlotIndex>(of_message)});
    blocks_arriving += count;
    blocks_after = blocks_resident + blocks_arriving;
  }

  /// Lists the moves inside this rank of a map to slots: for_each(move) calls move(from, to) for
  /// each of them, twice alike.
  template <class ForEach>
  void list_local_moves(Ledger& ledger, ForEach&& for_each) {
    std::size_t moves = 0;
    for_each([&](std::uint64_t, std::uint64_t) { ++moves; });
    resident_from = Array<SlotIndex>(ledger, moves);
    resident_to = Array<SlotIndex>(ledger, moves);
    moves = 0;
    for_each([&](std::uint64_t from, std::uint64_t to) {
      resident_from[moves] = static_cast<SlotIndex>(from);
      resident_to[moves++] = static_cast<SlotIndex>(to);
    });
  }

  /// Writes the final slots of the `size` arrivals from `cursor` on; returns the cursor behind.
  SlotIndex final_slots(SlotIndex cursor, std::size_t size, SlotIndex* slots_out) const {
    switch (form) {
      case Form::fill: return static_cast<SlotIndex>(holes.list(cursor, size, slots_out));
      case Form::stable:
        for (std::size_t k = 0; k < size; ++k) slots_out[k] = static_cast<SlotIndex>(cursor + k);
        break;
      case Form::any:
      case Form::slots:
        VALET_ASSERT(cursor <= arrivals.size() && size <= arrivals.size() - cursor);
        std::copy_n(arrivals.begin() + cursor, size, slots_out);
        break;
    }
    return static_cast<SlotIndex>(cursor + size);
  }

  /// The first final slot from `cursor` on, and how many of the at most `most` following arrivals
  /// go to the slots directly behind it.
  [[nodiscard]] storage::SlotRun final_run(SlotIndex cursor, std::uint64_t most) const {
    if (form == Form::fill) return holes.next_run(cursor, most);
    if (form == Form::stable) return {cursor, most};
    VALET_ASSERT(cursor <= arrivals.size() && most <= arrivals.size() - cursor);
    std::uint64_t count = 1;
    while (count < most && arrivals[cursor + count] == arrivals[cursor] + count) ++count;
    return {arrivals[cursor], std::min(count, most)};
  }

  /// The cursor `size` arrivals further on.
  [[nodiscard]] SlotIndex advance(SlotIndex cursor, std::uint64_t size) const {
    return static_cast<SlotIndex>(form == Form::fill ? holes.skip(cursor, size) : cursor + size);
  }

  /// Calls move(from, to) for every block that stays on this rank and changes its slot.
  template <class Move>
  void for_each_local_move(Move&& move) const {
    if (form == Form::slots || form == Form::any) {
      for (std::size_t k = 0; k < resident_from.size(); ++k) move(resident_from[k], resident_to[k]);
      return;
    }
    if (form == Form::stable) {
      std::uint64_t to = residents_at;
      for (std::uint64_t from = holes.next_absent(0); to < residents_at + blocks_resident;
           from = holes.next_absent(from + 1), ++to)
        if (from != to) move(static_cast<SlotIndex>(from), static_cast<SlotIndex>(to));
      return;
    }
    // Arrivals fill the lowest holes; the holes above them and below the final count are filled by
    // the resident blocks at and above it, ascending.
    if (blocks_resident == 0) return;
    std::uint64_t from = holes.next_absent(blocks_after);
    if (from >= slots) return;
    std::uint64_t to = holes.next(advance(0, blocks_arriving));
    while (from < slots) {
      move(static_cast<SlotIndex>(from), static_cast<SlotIndex>(to));
      from = holes.next_absent(from + 1);
      to = holes.next(to + 1);
    }
  }
};

}  // namespace valet::plan
