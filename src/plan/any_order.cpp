// SPDX-License-Identifier: BSD-3-Clause
#include "plan/any_order.hpp"

namespace valet::plan {
namespace {

void list_compaction(Ledger& ledger, Flows& flows, const storage::SlotSet& holes) {
  std::uint64_t above = 0;
  for (std::uint64_t slot = holes.next_absent(flows.blocks_after); slot < flows.slots; ++above)
    slot = holes.next_absent(slot + 1);
  flows.resident_from = Array<SlotIndex>(ledger, above);
  flows.resident_to = Array<SlotIndex>(ledger, above);
  std::uint64_t slot = flows.blocks_after;
  for (SlotIndex& from : flows.resident_from) {
    from = static_cast<SlotIndex>(slot = holes.next_absent(slot));
    ++slot;
  }
  if (above == 0) return;
  HoleWalk walk(ledger, flows);
  std::array<SlotIndex, 1024> taken;
  for (std::uint64_t left = flows.blocks_arriving; left > 0;)
    left -= walk.take(std::span(taken).first(std::min<std::uint64_t>(left, taken.size())));
  walk.take(std::span<SlotIndex>(flows.resident_to.data(), flows.resident_to.size()));
}

/// Holes that are free at first.
std::uint64_t free_holes(const Flows& flows) {
  std::uint64_t free = 0;
  for (std::uint64_t slot = flows.initially_free.next(0); slot < flows.blocks_after; ++free)
    slot = flows.initially_free.next(slot + 1);
  return free;
}

std::uint64_t shift_of(const Flows& flows, std::size_t block_bytes) {
  std::uint64_t runs = flows.outgoing.size();
  for (const Outgoing& flow : flows.outgoing)
    for (std::uint64_t k = flow.first + 1; k < std::uint64_t{flow.first} + flow.count; ++k)
      runs += flows.exports[k] != flows.exports[k - 1] + 1 ? 1 : 0;
  return schedule::shift_blocks(block_bytes, flows.blocks_arriving, flows.exports.size(), runs,
                                free_holes(flows));
}

/// How many blocks wait at once at most, beside the one that is on its way, if all ranks receive in
/// the order of the grains: imports up to a grain less the holes that the exports before it leave.
/// If every rank has room for them and one more, the receiver of the least grain that is not
/// delivered yet can always take its next block, so no rank is ever stuck and nothing is misplaced.
std::uint64_t blocks_in_wait(Ledger& ledger, const Flows& flows) {
  schedule::GrainOrder imports(ledger, flows.incoming.size(), flows.any.grain);
  schedule::GrainOrder exports(ledger, flows.outgoing.size(), flows.any.grain);
  enter_imports(imports, flows);
  enter_exports(exports, flows);
  const auto holes_of = [&](const schedule::FlowRun& run) {
    const SlotIndex* const slots =
        flows.exports.begin() + flows.outgoing[run.flow].first + run.first;
    return static_cast<std::uint64_t>(std::count_if(
        slots, slots + run.count, [&](SlotIndex slot) { return slot < flows.blocks_after; }));
  };
  std::uint64_t most = 0, arrived = 0, free = free_holes(flows);
  for (; !imports.empty(); imports.advance(imports.front().count)) {
    const schedule::GrainKey key = imports.key();
    for (; !exports.empty() && exports.key() < key; exports.advance(exports.front().count))
      free += holes_of(exports.front());
    arrived += imports.front().count;
    std::uint64_t meanwhile = 0;
    if (!exports.empty() && !(key < exports.key())) {
      // The grain of the same key leaves block for block as this one arrives.
      const schedule::FlowRun leaving = exports.front();
      const std::uint64_t others = leaving.count - holes_of(leaving);
      const std::uint64_t steps = std::min(leaving.count, imports.front().count);
      meanwhile = steps - std::min(steps, others);
    }
    most = std::max(most, arrived - std::min(arrived, flows.any.shift + free + meanwhile));
  }
  return most;
}

}  // namespace

void complete_any_order(Ledger& ledger, Flows& flows, const storage::SlotSet& holes,
                        std::size_t block_bytes) {
  list_compaction(ledger, flows, holes);
  flows.any.shift = shift_of(flows, block_bytes);
  flows.any.in_wait = blocks_in_wait(ledger, flows);
}

void list_arrivals(Ledger& ledger, Flows& flows) {
  flows.arrivals = Array<SlotIndex>(ledger, flows.blocks_arriving);
  schedule::GrainOrder imports(ledger, flows.incoming.size(), flows.any.grain);
  HoleWalk holes(ledger, flows);
  for_each_landing(flows, imports, holes, [&](const schedule::FlowRun& run, SlotList slots) {
    std::ranges::copy(slots, flows.arrivals.begin() + flows.incoming[run.flow].cursor + run.first);
  });
  flows.any.is_listed = true;
}

}  // namespace valet::plan
