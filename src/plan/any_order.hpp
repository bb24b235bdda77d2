// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Order::any: import k of a rank takes its hole k. Holes are the slots below the final count that
/// are free at first, ascending, and then those that exports leave, in the order of their grains;
/// imports are in the order of theirs. So an import comes when its hole has just been left, nothing
/// has to be copied twice, and no slot is ever sent.
///
/// Where holes are long runs the first AnyOrder::shift imports take the last holes, and the others
/// the holes before them: these are left before their imports come, so that messages go straight
/// from slots to slots.

#include "plan/flows.hpp"
#include "schedule/grains.hpp"
#include <valet/export.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace valet::plan {

/// The flows of one direction, ready to be passed in the order of their grains.
template <class FlowList, class Distance>
void enter_flows(schedule::GrainOrder& order, const FlowList& flows, Distance&& distance) {
  order.clear();
  for (std::uint32_t f = 0; f < flows.size(); ++f)
    order.add(f, flows[f].count, static_cast<std::uint32_t>(distance(flows[f].rank)));
}

/// The imports of a rank in their order; runs name flows by their index in Flows::incoming.
inline void enter_imports(schedule::GrainOrder& order, const Flows& flows) {
  const AnyOrder& any = flows.any;
  enter_flows(order, flows.incoming,
              [&](int source) { return (any.rank - source + any.ranks) % any.ranks; });
}

/// The exports of a rank in their order; runs name flows by their index in Flows::outgoing.
inline void enter_exports(schedule::GrainOrder& order, const Flows& flows) {
  const AnyOrder& any = flows.any;
  enter_flows(order, flows.outgoing,
              [&](int destination) { return (destination - any.rank + any.ranks) % any.ranks; });
}

/// The holes of a rank, one after another. Allocates 24 bytes for each rank that it sends to.
class HoleWalk {
 public:
  HoleWalk(Ledger& ledger, const Flows& flows)
      : flows_(flows),
        order_(ledger, flows.in_order() ? flows.outgoing.size() : 0, flows.any.grain) {
    if (flows.in_order()) restart();
  }

  void restart() {
    next_free_ = flows_.initially_free.next(0);
    enter_exports(order_, flows_);
  }

  /// Lists the next holes, as many as `slots` has room for and as are free: blocks_left(f) is how
  /// many blocks of outgoing flow f have left. Returns how many.
  template <class BlocksLeft>
  std::size_t take(std::span<SlotIndex> slots, BlocksLeft&& blocks_left) {
    std::size_t taken = 0;
    for (; taken < slots.size() && next_free_ < flows_.blocks_after;
         next_free_ = flows_.initially_free.next(next_free_ + 1))
      slots[taken++] = static_cast<SlotIndex>(next_free_);
    while (taken < slots.size() && !order_.empty()) {
      const schedule::FlowRun run = order_.front(slots.size() - taken);
      const std::uint64_t left = blocks_left(run.flow);
      if (left <= run.first) break;
      const std::uint64_t passed = std::min(run.count, left - run.first);
      const SlotIndex* const exports =
          flows_.exports.begin() + flows_.outgoing[run.flow].first + run.first;
      // They ascend, and what is above the final count will not be occupied.
      const SlotIndex* const end =
          exports[passed - 1] < flows_.blocks_after
              ? exports + passed
              : std::lower_bound(exports, exports + passed, flows_.blocks_after);
      std::copy(exports, end, slots.data() + taken);
      taken += static_cast<std::size_t>(end - exports);
      order_.advance(passed);
    }
    return taken;
  }
  /// The next holes that are free and next to each other, `most` of them at most.
  template <class BlocksLeft>
  [[nodiscard]] storage::SlotRun next_run(std::uint64_t most, BlocksLeft&& blocks_left) {
    if (next_free_ < flows_.blocks_after)
      return flows_.initially_free.next_run(next_free_,
                                            std::min(most, flows_.blocks_after - next_free_));
    while (!order_.empty()) {
      const schedule::FlowRun run = order_.front(most);
      const std::uint64_t left = blocks_left(run.flow);
      if (left <= run.first) break;
      const SlotIndex* const slots =
          flows_.exports.begin() + flows_.outgoing[run.flow].first + run.first;
      const std::uint64_t passed = std::min(run.count, left - run.first);
      std::uint64_t count = 0;
      while (count < passed && slots[count] == slots[0] + count &&
             slots[count] < flows_.blocks_after)
        ++count;
      if (count > 0) return {slots[0], count};
      // Exports ascend, so the rest of this run is above the final count, too.
      order_.advance(passed);
    }
    return {};
  }
  /// Passes as many holes as next_run() had.
  void pass(std::uint64_t count) {
    if (next_free_ < flows_.blocks_after)
      next_free_ = flows_.initially_free.next(next_free_ + count);
    else
      order_.advance(count);
  }
  /// As take() above, where all exports have left or will have.
  std::size_t take(std::span<SlotIndex> slots) {
    return take(slots, [](std::uint32_t) { return ~std::uint64_t{0}; });
  }

 private:
  const Flows& flows_;
  schedule::GrainOrder order_;
  std::uint64_t next_free_ = 0;
};

/// Calls land(run, slots) for all imports, in the order in which they take their holes; all exports
/// have left or will have.
/// @param imports, holes  Over `flows`; passed from their beginning on.
template <class Land>
void for_each_landing(const Flows& flows, schedule::GrainOrder& imports, HoleWalk& holes,
                      Land&& land) {
  std::array<SlotIndex, 1024> slots;
  holes.restart();
  const auto land_from_to = [&](std::uint64_t first, std::uint64_t last) {
    enter_imports(imports, flows);
    for (std::uint64_t number = 0; number < last;) {
      const std::uint64_t most = (number < first ? first : last) - number;
      const schedule::FlowRun run = imports.front(std::min<std::uint64_t>(slots.size(), most));
      if (number >= first) {
        const auto taken = std::span(slots).first(run.count);
        holes.take(taken);
        land(run, SlotList(taken));
      }
      imports.advance(run.count);
      number += run.count;
    }
  };
  land_from_to(flows.any.shift, flows.blocks_arriving);
  land_from_to(0, flows.any.shift);
}

/// Lists the blocks that change their slot inside this rank: those at and above the final count
/// take the holes that no import takes. Then decides on the shift, and counts the blocks that have
/// to wait at once.
/// @param flows  Exports and imports are known.
/// @param holes  Slots that are free once everything that leaves has left; over flows.slots.
VALET_EXPORT void complete_any_order(Ledger& ledger, Flows& flows, const storage::SlotSet& holes,
                                     std::size_t block_bytes);

/// Lists the final slot of every import, for methods that do not take them in order.
/// @throws std::bad_alloc.
void list_arrivals(Ledger& ledger, Flows& flows);

}  // namespace valet::plan
