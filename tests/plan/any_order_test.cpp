// SPDX-License-Identifier: BSD-3-Clause

// What Order::any decides from the flows of one rank: how many blocks wait at once at most, by
// which all ranks know whether they have the room, and how many are shifted. Worked out by hand.

#include "plan/any_order.hpp"

#include "testing.hpp"

namespace valet::plan {
namespace {

struct To {
  int rank;
  std::vector<std::uint32_t> slots;
};
struct From {
  int rank;
  std::uint64_t blocks;
};

/// Rank 0 of four. All of its blocks leave.
AnyOrder decided(const std::vector<To>& to, const std::vector<From>& from, std::uint64_t slots,
                 std::uint64_t grain, std::size_t block_bytes = 8) {
  Ledger ledger;
  Flows flows(ledger);
  flows.form = Form::any;
  flows.slots = slots;
  flows.any.grain = grain;
  flows.any.ranks = 4;
  flows.initially_free = storage::SlotSet(ledger, slots);
  storage::SlotSet holes(ledger, slots);
  for (std::uint64_t slot = 0; slot < slots; ++slot) {
    flows.initially_free.insert(slot);
    holes.insert(slot);
  }
  for (const To& flow : to) flows.blocks_before += flow.slots.size();
  flows.exports = Array<std::uint32_t>(ledger, flows.blocks_before);
  std::uint32_t first = 0;
  for (const To& flow : to) {
    const auto count = static_cast<std::uint32_t>(flow.slots.size());
    flows.outgoing.push_back({flow.rank, count, first});
    for (const std::uint32_t slot : flow.slots) {
      flows.exports[first++] = slot;
      flows.initially_free.erase(std::uint64_t{slot});
    }
  }
  for (const From& flow : from) flows.add_incoming(flow.rank, flow.blocks, 1);
  complete_any_order(ledger, flows, holes, block_bytes);
  return flows.any;
}

std::vector<std::uint32_t> run(std::uint32_t first, std::uint32_t count) {
  std::vector<std::uint32_t> slots(count);
  std::iota(slots.begin(), slots.end(), first);
  return slots;
}

TEST(BlocksInWait, AreThoseThatArriveBeforeTheirHolesAreLeft) {
  // The imports come in grains at 1/4 and 3/4, the exports leave at 1/2. Slots 8 to 11 are no
  // holes.
  EXPECT_EQ(decided({{2, run(0, 4)}, {3, run(4, 4)}}, {{1, 8}}, 12, 4).in_wait, 4U);
  // At 1/5, 3/5 and 9/10, with two holes that are free at first.
  EXPECT_EQ(decided({{2, run(0, 4)}, {3, run(4, 4)}}, {{1, 10}}, 12, 4).in_wait, 2U);
  EXPECT_EQ(decided({}, {{1, 8}}, 8, 4).in_wait, 0U) << "all holes are free";
}

TEST(BlocksInWait, OfEqualGrainsComeInTheOrderOfTheRing) {
  const auto exchange_with = [](int peer) {
    return decided({{peer, run(0, 4)}}, {{peer, 4}}, 4, 4).in_wait;
  };
  EXPECT_EQ(exchange_with(1), 0U) << "to the next rank first";
  EXPECT_EQ(exchange_with(2), 0U) << "at once: block for block";
  EXPECT_EQ(exchange_with(3), 4U) << "from the rank before first";
}

TEST(BlocksInWait, AreNotHelpedByWhatLeavesFromAboveTheFinalCount) {
  // Two arrive while four leave, of which two stand in slots that nothing is to occupy.
  EXPECT_EQ(decided({{2, {0, 1, 6, 7}}}, {{2, 2}}, 8, 4).in_wait, 2U);
  EXPECT_EQ(decided({{2, {0, 1, 6}}}, {{2, 2}}, 8, 4).in_wait, 1U);
}

TEST(Shift, IsForDenseRunsAndTakesPartOfTheWait) {
  constexpr std::size_t large = std::size_t{128} << 10;
  const AnyOrder dense = decided({{2, run(0, 4)}, {3, run(4, 4)}}, {{1, 8}}, 8, 4, large);
  EXPECT_EQ(dense.shift, 1U);
  EXPECT_EQ(dense.in_wait, 3U);
  constexpr std::size_t medium = std::size_t{48} << 10;
  EXPECT_EQ(decided({{2, run(0, 64)}}, {{1, 64}}, 64, 4, medium).shift, 8U);
  std::vector<std::uint32_t> every_second(64);
  for (std::uint32_t k = 0; k < 64; ++k) every_second[k] = 2 * k;
  EXPECT_EQ(decided({{2, every_second}}, {{1, 64}}, 128, 4, medium).shift, 0U);
}

}  // namespace
}  // namespace valet::plan
