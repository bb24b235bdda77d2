// SPDX-License-Identifier: BSD-3-Clause

// Theorem 2.9 of MADRE as a property: any transmutation of the slots of one rank is carried out
// with the least possible number of block copies.

#include "storage/local_redistribution.hpp"

#include "addressed_blocks.hpp"
#include "random_transmutation.hpp"
#include "test_comm.hpp"

namespace valet::test {
namespace {

/// Passes everything on and counts blocks.
class CountingBackend final : public StorageBackend {
 public:
  explicit CountingBackend(StorageBackend& backend, bool reachable = true)
      : backend_(backend), reachable_(reachable) {}

  std::uint64_t copied = 0, gathered = 0, scattered = 0;
  std::size_t least_copy_scratch = ~std::size_t{0};

  [[nodiscard]] std::uint64_t slots() const override { return backend_.slots(); }
  [[nodiscard]] std::size_t block_bytes() const override { return backend_.block_bytes(); }
  [[nodiscard]] bool reachable_by_mpi() const override { return reachable_; }
  void pieces(std::uint64_t slot, Vector<MemoryPiece>& list) const override {
    backend_.pieces(slot, list);
  }
  void gather(SlotList from, std::byte* packed) override {
    gathered += from.size();
    backend_.gather(from, packed);
  }
  void scatter(const std::byte* packed, SlotList to) override {
    scattered += to.size();
    backend_.scatter(packed, to);
  }
  void copy(SlotList from, SlotList to, std::span<std::byte> scratch) override {
    EXPECT_EQ(from.size(), to.size());
    copied += from.size();
    least_copy_scratch = std::min(least_copy_scratch, scratch.size());
    backend_.copy(from, to, scratch);
  }

 private:
  StorageBackend& backend_;
  bool reachable_;
};

struct Memory {
  Memory(Shape shape, const Transmutation& map) : blocks(shape, map.size()) {
    for (std::uint64_t slot = 0; slot < map.size(); ++slot)
      if (map.defined(slot)) blocks.write(slot, {0, slot});
  }
  [[nodiscard]] std::uint64_t wrong(const Transmutation& map) {
    std::uint64_t count = 0;
    for (std::uint64_t slot = 0; slot < map.size(); ++slot)
      if (map.defined(slot) && !blocks.holds(static_cast<std::uint64_t>(map(slot)), {0, slot}))
        ++count;
    return count;
  }
  AddressedBlocks blocks;
  BlockStorage storage = blocks.storage();
};

const std::uint64_t maps = cases_wanted(3000);

Transmutation random_map_of_slots(std::mt19937_64& random) {
  return random_transmutation(random, std::uniform_int_distribution<std::uint64_t>(1, 200)(random));
}

/// The pseudo-inverse of a map and its free slots, as plans keep them.
struct Inverse {
  explicit Inverse(const Transmutation& map)
      : free(ledger, map.size()), of(map.size(), storage::Origins::none) {
    for (std::uint64_t slot = 0; slot < map.size(); ++slot) {
      if (!map.defined(slot)) {
        free.insert(slot);
      } else if (map(slot) != static_cast<std::int64_t>(slot)) {
        of[static_cast<std::uint64_t>(map(slot))] = static_cast<SlotIndex>(slot);
        ++origins.entries;
      }
    }
    origins.of = of;
  }

  Ledger ledger;
  storage::SlotSet free;
  std::vector<SlotIndex> of;
  storage::Origins origins;
};

/// With the least scratch that a backend needs, or so many times that.
std::uint64_t redistribute(StorageBackend& backend, const Transmutation& map,
                           std::size_t scratch_factor = 1) {
  Inverse inverse(map);
  std::vector<std::byte> scratch(scratch_factor * backend.block_bytes() *
                                 (backend.reachable_by_mpi() ? 1 : 2));
  return storage::redistribute_locally(backend, inverse.origins, inverse.free, std::span(scratch));
}

TEST(LocalRedistribution, MovesEveryBlockWithTheLeastNumberOfCopies) {
  for (std::uint64_t k = 0; k < maps; ++k) {
    std::mt19937_64 random(seed() + k);
    const Transmutation map = random_map_of_slots(random);
    Memory memory(all_shapes[k % std::size(all_shapes)], map);
    CountingBackend backend(memory.storage.backend());
    const std::size_t scratch_factor = std::array{1, 2, 7, 200}[k / 4 % 4];
    const std::uint64_t copies = redistribute(backend, map, scratch_factor);
    ASSERT_EQ(memory.wrong(map), 0U) << seed_note(seed() + k, 0);
    ASSERT_EQ(copies, map.minimal_copies()) << seed_note(seed() + k, 0);
    ASSERT_EQ(backend.copied + backend.gathered + backend.scattered, copies)
        << seed_note(seed() + k, 0);
    ASSERT_EQ(backend.gathered, backend.scattered);
    ASSERT_LE(2 * copies, 3 * map.size());  // at the worst all cycles have two points
  }
}

void expect_free_slots_follow(std::uint64_t k) {
  std::mt19937_64 random(seed() + k);
  const Transmutation map = random_map_of_slots(random);
  Memory memory(Shape::structure, map);
  Inverse inverse(map);
  storage::SlotSet free_after(inverse.ledger, map.size());
  free_after.insert(storage::SlotRun{0, map.size()});
  for (std::uint64_t slot = 0; slot < map.size(); ++slot)
    if (map.defined(slot)) free_after.erase(static_cast<std::uint64_t>(map(slot)));
  std::vector<std::byte> scratch(memory.storage.block_bytes());
  const std::uint64_t copies = storage::redistribute_locally(
      memory.storage.backend(), inverse.origins, inverse.free, std::span(scratch));
  ASSERT_EQ(memory.wrong(map), 0U) << seed_note(seed() + k, 0);
  ASSERT_EQ(copies, map.minimal_copies()) << seed_note(seed() + k, 0);
  ASSERT_EQ(inverse.free.count(), free_after.count()) << seed_note(seed() + k, 0);
  for (std::uint64_t slot = 0; slot < map.size(); ++slot)
    ASSERT_EQ(inverse.free.contains(slot), free_after.contains(slot)) << seed_note(seed() + k, 0);
  ASSERT_EQ(inverse.origins.entries, 0U);
  ASSERT_TRUE(std::all_of(inverse.of.begin(), inverse.of.end(),
                          [](SlotIndex origin) { return origin == storage::Origins::none; }));
}

TEST(LocalRedistribution, LeavesTheFreeSlotsOfTheResult) {
  for (std::uint64_t k = 0; k < maps && !HasFailure(); ++k) {
    expect_free_slots_follow(k);
  }
}

std::uint64_t copies_of(const Transmutation::Factor& factor, std::uint64_t size) {
  const Transmutation map = Transmutation::of_factor(factor, size);
  Memory memory(Shape::dimensions, map);
  CountingBackend backend(memory.storage.backend());
  const std::uint64_t copies = redistribute(backend, map);
  EXPECT_EQ(memory.wrong(map), 0U);
  EXPECT_EQ(backend.gathered, factor.kind == Transmutation::Factor::Kind::cycle ? 1U : 0U);
  return copies;
}

TEST(LocalRedistribution, ACycleTakesOneCopyMoreThanItsLengthAndAShiftOneLess) {
  for (const std::uint64_t length : {2, 3, 255, 256, 257, 1000}) {
    std::vector<std::uint64_t> points(length);
    std::iota(points.begin(), points.end(), 0);
    std::shuffle(points.begin(), points.end(), std::mt19937_64(seed()));
    EXPECT_EQ(copies_of({Transmutation::Factor::Kind::cycle, points}, length), length + 1);
    EXPECT_EQ(copies_of({Transmutation::Factor::Kind::shift, points}, length), length - 1);
  }
}

/// Chains of so many slots each, as shifts and as cycles in turn, and slots of no chain between.
Transmutation long_and_short_chains(std::mt19937_64& random, std::uint64_t slots) {
  using Factor = Transmutation::Factor;
  std::vector<std::uint64_t> points(slots);
  std::iota(points.begin(), points.end(), 0);
  std::shuffle(points.begin(), points.end(), random);
  std::vector<std::int64_t> target(slots, Transmutation::undefined);
  const std::uint64_t longest = std::uniform_int_distribution<std::uint64_t>(2, slots)(random);
  auto kind = random() % 2 == 0 ? Factor::Kind::cycle : Factor::Kind::shift;
  for (std::uint64_t first = 0; first + 1 < slots;) {
    const std::uint64_t length =
        std::min(slots - first, std::uniform_int_distribution<std::uint64_t>(2, longest)(random));
    for (std::uint64_t k = 0; k + 1 < length; ++k)
      target[points[first + k]] = static_cast<std::int64_t>(points[first + k + 1]);
    if (kind == Factor::Kind::cycle)
      target[points[first + length - 1]] = static_cast<std::int64_t>(points[first]);
    kind = random() % 3 == 0 ? Factor::Kind::cycle : Factor::Kind::shift;
    first += length;
  }
  return Transmutation(target);
}

TEST(LocalRedistribution, LongChainsAreDividedAtFewMoreCopies) {
  constexpr std::uint64_t slots = 6000, divisions = 400;
  for (std::uint64_t k = 0; k < 12; ++k) {
    std::mt19937_64 random(seed() + k);
    const Transmutation map = long_and_short_chains(random, slots);
    for (const std::size_t scratch_factor : {1, 3, 17, 64, 100}) {
      Memory memory(all_shapes[k % std::size(all_shapes)], map);
      CountingBackend backend(memory.storage.backend(), k % 3 != 0);
      const std::uint64_t copies = redistribute(backend, map, scratch_factor);
      ASSERT_EQ(memory.wrong(map), 0U) << seed_note(seed() + k, 0);
      ASSERT_EQ(backend.copied + backend.gathered + backend.scattered, copies);
      ASSERT_GE(copies, map.minimal_copies());
      ASSERT_LE(copies, map.minimal_copies() + divisions);
    }
  }
}

TEST(LocalRedistribution, MemoryThatMpiCannotReachGetsTwoBlocksOfScratch) {
  const Transmutation map({1, 2, 0, 4, 3});
  Memory memory(Shape::strided, map);
  CountingBackend backend(memory.storage.backend(), false);
  EXPECT_EQ(redistribute(backend, map), map.minimal_copies());
  EXPECT_EQ(memory.wrong(map), 0U);
  EXPECT_GE(backend.least_copy_scratch, backend.block_bytes()) << "beside the block that waits";
}

}  // namespace
}  // namespace valet::test
