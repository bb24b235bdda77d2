// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "plan/flows.hpp"
#include <valet/ledger.hpp>
#include <valet/slots.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace valet::engine {

/// Tells the application which slots of a rank that ends without blocks are not used any more, in
/// runs that fill pages: a rank to which nothing comes needs no slot that a block has left. All
/// functions are local.
class VacatedSlots {
 public:
  using Tell = std::function<void(std::uint64_t first, std::uint64_t slots)>;

  /// Memory: 4 bytes a run. @throws std::bad_alloc.
  /// @param tell  Does not throw; outlives this.
  VacatedSlots(Ledger& ledger, const plan::Flows& flows, std::uint64_t block_bytes,
               const Tell& tell)
      : tell_(tell),
        slots_(flows.slots),
        run_slots_(std::max<std::uint64_t>(1, run_bytes / block_bytes)),
        blocks_left_(ledger, static_cast<std::size_t>((slots_ + run_slots_ - 1) / run_slots_)) {
    std::ranges::fill(blocks_left_, 0U);
    for (const SlotIndex slot : flows.exports) ++blocks_left_[slot / run_slots_];
  }

  /// Blocks have left these slots.
  void leave(SlotList slots) {
    for (const SlotIndex slot : slots)
      if (--blocks_left_[slot / run_slots_] == 0) tell_run(slot / run_slots_);
  }
  /// Nothing is on its way any more: tells the rest.
  void finish() {
    for (std::size_t run = 0; run < blocks_left_.size(); ++run)
      if (blocks_left_[run] != told) tell_run(run);
  }

 private:
  static constexpr std::uint64_t run_bytes = std::uint64_t{1} << 20;
  static constexpr std::uint32_t told = ~std::uint32_t{0};

  void tell_run(std::size_t run) {
    blocks_left_[run] = told;
    const std::uint64_t first = run * run_slots_;
    tell_(first, std::min(run_slots_, slots_ - first));
  }

  const Tell& tell_;
  std::uint64_t slots_;
  std::uint64_t run_slots_;
  Array<std::uint32_t> blocks_left_;  ///< in each run
};

}  // namespace valet::engine
