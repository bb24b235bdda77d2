// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/memory_reserve.hpp"
#include "plan/plan_state.hpp"
#include <valet/ledger.hpp>
#include <valet/slots.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace valet::engine {

/// Tells the application which slots of a rank that ends without blocks are not used any more: a
/// rank to which nothing comes needs no slot that a block has left. All functions are local.
class VacatedSlots {
 public:
  /// Memory: 4 bytes a run, at most a quarter of a byte a slot and 4. @throws std::bad_alloc.
  VacatedSlots(Ledger& ledger, const plan::Flows& flows, std::uint64_t block_bytes,
               const plan::ReleasedSlots& released)
      : released_(released),
        slots_(flows.slots),
        run_slots_(std::max(least_run_slots, run_bytes / block_bytes)),
        blocks_left_(ledger, static_cast<std::size_t>((slots_ + run_slots_ - 1) / run_slots_)) {
    std::ranges::fill(blocks_left_, 0U);
    for (const SlotIndex slot : flows.exports) ++blocks_left_[slot / run_slots_];
  }

  /// Blocks have left these slots.
  void leave(SlotList slots) {
    for (const SlotIndex slot : slots)
      if (--blocks_left_[slot / run_slots_] == 0) tell_around(slot / run_slots_);
  }
  /// Nothing is on its way any more: all slots are free.
  void finish() { tell(0, slots_); }

 private:
  static constexpr std::uint64_t run_bytes = std::uint64_t{1} << 20, least_run_slots = 16;
  /// Runs that are told again on either side. The part of a run in a short field may be less than a
  /// page, which can be given back with its neighbours only.
  static constexpr std::size_t neighbours = 64;

  void tell_around(std::size_t run) {
    std::size_t first = run, last = run;
    while (first > 0 && run - first < neighbours && blocks_left_[first - 1] == 0) --first;
    while (last + 1 < blocks_left_.size() && last - run < neighbours && blocks_left_[last + 1] == 0)
      ++last;
    const std::uint64_t begin = first * run_slots_;
    tell(begin, std::min((last + 1) * run_slots_, slots_) - begin);
  }
  void tell(std::uint64_t first, std::uint64_t slots) {
    const detail::LeaveReserve leave;
    released_.failure.attempt(released_.name, [&] { released_.tell(first, slots); });
  }

  const plan::ReleasedSlots released_;
  std::uint64_t slots_;
  std::uint64_t run_slots_;
  Array<std::uint32_t> blocks_left_;  ///< in each run
};

}  // namespace valet::engine
