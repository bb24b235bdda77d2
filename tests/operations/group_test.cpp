// SPDX-License-Identifier: BSD-3-Clause

// Blocks of a rank in the segments of their keys, with the address of each block as its value.

#include "addressed_blocks.hpp"
#include "random_maps.hpp"
#include "test_comm.hpp"

namespace valet::test {
namespace {

/// Blocks in random slots, each of a segment that has room for it. Every rank has its own.
struct SegmentedBlocks {
  std::vector<std::uint64_t> segment_slots;
  std::vector<std::uint8_t> mask;       ///< empty: the first blocks
  std::vector<std::uint32_t> segments;  ///< of blocks
  std::uint64_t slots = 0;

  explicit SegmentedBlocks(std::mt19937_64& random) {
    for (std::size_t k = pick(random, 1, 5); k > 0; --k) {
      segment_slots.push_back(pick(random, 0, 12));
      slots += segment_slots.back();
    }
    std::vector<std::uint32_t> places;
    for (std::uint32_t k = 0; k < segment_slots.size(); ++k)
      places.insert(places.end(), segment_slots[k], k);
    std::shuffle(places.begin(), places.end(), random);
    const std::uint64_t blocks = pick(random, 0, slots);
    segments.assign(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(blocks));
    if (pick(random, 0, 1) == 0) return;
    mask.assign(slots, 0);
    std::fill_n(mask.begin(), blocks, std::uint8_t{1});
    std::shuffle(mask.begin(), mask.end(), random);
    std::vector<std::uint32_t> scattered(slots, 99);  // what is said of free slots is not read
    auto next = segments.begin();
    for (std::uint64_t slot = 0; slot < slots; ++slot)
      if (mask[slot] != 0) scattered[slot] = *next++;
    segments = std::move(scattered);
  }
  [[nodiscard]] Occupied occupied() const {
    return mask.empty() ? Occupied(segments.size()) : Occupied::masked(mask);
  }
  [[nodiscard]] bool holds_block(std::uint64_t slot) const {
    return mask.empty() ? slot < segments.size() : mask[slot] != 0;
  }
};

/// What group() promises: the blocks of a segment in its first slots, those that were there where
/// they were.
void expect_grouped(const SegmentedBlocks& c, AddressedBlocks& memory,
                    const std::vector<std::uint64_t>& counts) {
  ASSERT_EQ(counts.size(), c.segment_slots.size());
  std::vector<bool> found(c.slots, false);
  std::uint64_t first = 0, blocks = 0;
  for (std::uint32_t k = 0; k < counts.size(); first += c.segment_slots[k++]) {
    ASSERT_LE(counts[k], c.segment_slots[k]);
    for (std::uint64_t slot = first; slot < first + counts[k]; ++slot, ++blocks) {
      std::uint64_t origin = 0;
      while (origin < c.slots && !memory.holds(slot, {rank(), origin})) ++origin;
      ASSERT_LT(origin, c.slots) << "no block in slot " << slot;
      ASSERT_TRUE(c.holds_block(origin) && !found[origin]) << "block " << origin;
      found[origin] = true;
      ASSERT_EQ(c.segments[origin], k);
      if (c.holds_block(slot) && c.segments[slot] == k) {
        ASSERT_EQ(origin, slot) << "moved without need";
      }
    }
  }
  std::uint64_t all = 0;
  for (std::uint64_t slot = 0; slot < c.slots; ++slot) all += c.holds_block(slot) ? 1 : 0;
  ASSERT_EQ(blocks, all);
}

TEST(Group, PutsBlocksOfAnyRankIntoTheirSegments) {
  for (std::uint64_t k = 0; k < cases_wanted(400) && !HasFailure(); ++k) {
    SCOPED_TRACE(seed_note(seed() + k));
    std::mt19937_64 random((seed() + k) * 1000 + static_cast<std::uint64_t>(rank()));
    const SegmentedBlocks c(random);
    AddressedBlocks memory(all_shapes[pick(random, 0, last_shape)], c.slots);
    for (std::uint64_t slot = 0; slot < c.slots; ++slot)
      if (c.holds_block(slot)) memory.write(slot, {rank(), slot});
    const Options options{.budget_bytes = pick(random, 0, 1) == 0 ? 200U : 1U << 20};
    expect_grouped(c, memory,
                   group(memory.storage(), c.occupied(), c.segments, c.segment_slots, options));
  }
}

/// One rank alone gets it, so no other may wait.
TEST(Group, SaysWhatIsWrongOnItsRankAlone) {
  AddressedBlocks memory(Shape::dense, 6);
  const std::vector<std::uint32_t> segments{1, 0, 1};
  const std::vector<std::uint64_t> slots{2, 4};
  const auto text_of = [&](std::uint64_t count, std::vector<std::uint32_t> given,
                           std::vector<std::uint64_t> room) {
    return outcome_of([&] { group(memory.storage(), count, given, room); }).text;
  };
  if (rank() != size() - 1) return;
  for (std::uint64_t slot = 0; slot < 3; ++slot) memory.write(slot, {0, slot});
  expect_words(text_of(2, segments, slots),
               {"invalid_argument", "group() got 3 segments for 2 blocks; give one for each"});
  expect_words(text_of(3, {1, 0, 2}, slots),
               {"the block in slot 2 belongs to segment 2, but there are 2, from 0 on; give one "
                "of these, nothing has moved"});
  expect_words(text_of(3, segments, {2, 1}),
               {"infeasible", "segment 1 has 1 slots for 2 blocks; enlarge it"});
  expect_words(text_of(3, segments, {6, 4}), {"slot_out_of_range"});
  constexpr std::uint64_t half = std::uint64_t{1} << 63;
  expect_words(text_of(3, {2, 2, 2}, {half, half, 6}), {"slot_out_of_range"});
  expect_words(text_of(7, std::vector<std::uint32_t>(7, 0), {7}),
               {"invalid_argument", "7 blocks do not fit the 6 slots of the storage"});
  const Outcome nowhere = outcome_of(
      [&] { group(BlockStorage{field(static_cast<int*>(nullptr), 3)}, 3, segments, slots); });
  expect_words(nowhere.text, {"inaccessible_memory", "field 0 has no memory"});
  for (std::uint64_t slot = 0; slot < 3; ++slot) EXPECT_TRUE(memory.holds(slot, {0, slot}));
}

/// Arrays may have been resized since the storage was made of them.
TEST(Group, LooksAgainAtReferencedArrays) {
  std::vector<double> masses{1, 2};
  std::vector<int> kinds{10};
  const BlockStorage storage{field(valet::ref(masses)), field(valet::ref(kinds))};
  kinds.push_back(20);
  const std::vector<std::uint32_t> segments{1, 0};
  const std::vector<std::uint64_t> slots{1, 1};
  EXPECT_EQ(group(storage, 2, segments, slots), slots);
  EXPECT_EQ(masses, (std::vector<double>{2, 1}));
  EXPECT_EQ(kinds, (std::vector<int>{20, 10}));
}

}  // namespace
}  // namespace valet::test
