// SPDX-License-Identifier: BSD-3-Clause

// Gather, scatter and copy against a byte-by-byte reading of the fields' description.

#include "field_rows.hpp"
#include "test_comm.hpp"
#include <valet/detail/host_fields.hpp>

namespace valet::test {
namespace {

/// Where byte `k` of the packed row of `slot` stands, from the definition in Field.
const std::byte* byte_of(const Field& field, std::uint64_t slot, std::size_t k) {
  std::ptrdiff_t offset = 0;
  std::size_t element = k / field.element_bytes;
  for (std::size_t d = field.dimension_count; d-- > 0;) {
    offset += static_cast<std::ptrdiff_t>(element % field.dimensions[d].extent) *
              field.dimensions[d].stride_bytes;
    element /= field.dimensions[d].extent;
  }
  return reinterpret_cast<const std::byte*>(row_address(field, slot)) + offset +
         static_cast<std::ptrdiff_t>(k % field.element_bytes);
}

std::size_t row_bytes(const Field& field) {
  std::size_t bytes = field.element_bytes;
  for (std::size_t d = 0; d < field.dimension_count; ++d) bytes *= field.dimensions[d].extent;
  return bytes;
}

std::vector<std::byte> packed_block(const std::vector<Field>& fields, std::uint64_t slot) {
  std::vector<std::byte> block;
  for (const Field& field : fields)
    for (std::size_t k = 0; k < row_bytes(field); ++k) block.push_back(*byte_of(field, slot, k));
  return block;
}

std::vector<std::byte> random_bytes(std::mt19937_64& random, std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() >> 56);
  return bytes;
}

struct Layout {
  std::string name;
  std::vector<Field> fields;
};

/// Rows that do not lie at equal distances.
std::vector<Layout> tiled_layouts(std::byte* memory, std::uint64_t slots) {
  constexpr std::ptrdiff_t in_tile = 16, tile_bytes = (4 + 3 * 8) * in_tile;
  Field vectors = strided_field(memory + 4 * in_tile, slots, 8, 8);
  vectors.dimensions[0] = {3, 8 * in_tile};
  vectors.dimension_count = 1;
  std::vector<Layout> all;
  all.push_back({"structures of arrays",
                 {in_tiles(strided_field(memory, slots, 4, 4), in_tile, tile_bytes),
                  in_tiles(vectors, in_tile, tile_bytes)}});
  const auto tiles = static_cast<std::ptrdiff_t>((slots + 9) / 10);
  all.push_back({"tiles backwards",
                 {in_tiles(strided_field(memory + 300 * (tiles - 1), slots, 24, 30), 10, -300)}});
  all.push_back(
      {"long rows in tiles", {in_tiles(strided_field(memory, slots, 2000, 2010), 7, 14'100)}});
  std::vector<void*> starts;
  std::vector<std::uint64_t> counts;
  for (std::uint64_t slot = 0, next = 0; slot < slots; slot += counts.back(), ++next) {
    counts.push_back(std::min(next % 5 == 2 ? 0 : next, slots - slot));
    starts.push_back(counts.back() == 0 ? nullptr : memory + 40 * (slots - slot - counts.back()));
  }
  all.push_back({"segments beside an array",
                 {in_segments(strided_field(memory, 0, 24, 40), starts, counts),
                  strided_field(memory + 24, slots, 16, 40)}});
  static std::vector<int*> pointers;
  pointers.resize(slots);
  for (std::uint64_t slot = 0; slot < slots; ++slot)
    pointers[slot] = reinterpret_cast<int*>(memory + 20 * (slot * 7 % slots));
  all.push_back({"pointers", {pointed_field(std::span<int* const>(pointers), 5)}});
  return all;
}

/// Fields of all kinds in `memory`, which starts at no particular alignment.
std::vector<Layout> layouts(std::byte* memory, std::uint64_t slots) {
  const auto n = static_cast<std::ptrdiff_t>(slots);
  std::vector<Layout> all;
  for (const std::size_t bytes : {1, 3, 4, 8, 12, 16, 24, 40, 63, 64, 65, 200, 1023, 1024, 5000})
    all.push_back({"dense " + std::to_string(bytes), {field(memory, slots, bytes)}});
  all.push_back({"three fields",
                 {field(memory, slots, 8), field(memory + 8 * n, slots, 24),
                  field(memory + 32 * n, slots, 4)}});
  all.push_back({"padded", {strided_field(memory, slots, 20, 33)}});
  all.push_back({"padded, long rows", {strided_field(memory, slots, 2000, 2049)}});
  all.push_back({"backwards", {strided_field(memory + 40 * (n - 1), slots, 24, -40)}});
  all.push_back({"interleaved members",
                 {strided_field(memory, slots, 5, 16), strided_field(memory + 5, slots, 11, 16)}});
  Field columns;  // 2 x 3 doubles a slot in column-major arrays
  columns.data = memory;
  columns.slots = slots;
  columns.slot_stride_bytes = 8;
  columns.element_bytes = 8;
  columns.dimensions[0] = {2, 24 * n};
  columns.dimensions[1] = {3, 8 * n};
  columns.dimension_count = 2;
  all.push_back({"columns", {columns}});
  Field rows = columns;  // both dimensions follow each other in memory: one piece
  rows.slot_stride_bytes = 48;
  rows.dimensions[0] = {2, 24};
  rows.dimensions[1] = {3, 8};
  all.push_back({"rows that merge", {rows}});
  Field partly = columns;  // the inner dimension merges, the outer one does not
  partly.slot_stride_bytes = 24;
  partly.dimensions[0] = {2, 24 * n};
  partly.dimensions[1] = {3, 8};
  all.push_back({"rows that merge partly", {partly}});
  Field mirrored = columns;  // runs backwards along a dimension
  mirrored.data = memory + 24 * n + 16 * n;
  mirrored.dimensions[1] = {3, -8 * n};
  mirrored.dimensions[0] = {2, -24 * n};
  all.push_back({"mirrored columns", {mirrored}});
  Field trivial = rows;  // dimensions of extent one do not matter
  trivial.dimensions[0] = {1, 7777};
  trivial.slot_stride_bytes = 24;
  all.push_back({"dimension of one", {trivial}});
  for (Layout& layout : tiled_layouts(memory, slots)) all.push_back(std::move(layout));
  return all;
}

constexpr std::uint64_t slots = 150;
constexpr std::size_t memory_bytes = 5000 * slots + 64;

using Check = std::function<void(const Layout&, HostFields&, std::vector<std::byte>& memory,
                                 std::mt19937_64&)>;

/// Calls `check` with every layout at several alignments, on random content.
void for_all_layouts(const Check& check) {
  std::mt19937_64 random(seed());
  std::vector<std::byte> memory = random_bytes(random, memory_bytes);
  for (const std::size_t offset : {0, 1, 8, 13})
    for (const Layout& layout : layouts(memory.data() + offset, slots)) {
      SCOPED_TRACE(layout.name + " at offset " + std::to_string(offset));
      HostFields fields(layout.fields);
      ASSERT_FALSE(fields.diagnostic());
      check(layout, fields, memory, random);
      if (testing::Test::HasFailure()) return;
    }
}

/// Slot lists: a run, single slots, everything shuffled, with and without the streaming threshold.
std::vector<std::vector<SlotIndex>> slot_lists(std::mt19937_64& random, std::size_t block) {
  std::vector<SlotIndex> all(slots);
  std::iota(all.begin(), all.end(), 0);
  std::vector<std::vector<SlotIndex>> lists{{}, {7}, {slots - 1}, all};
  lists.emplace_back(all.begin() + 20, all.begin() + 60);
  const std::uint64_t threshold = (16 << 10) / block;
  for (const std::uint64_t size : {threshold, threshold + 1})
    if (size > 0 && size < slots)
      lists.emplace_back(all.begin() + 1, all.begin() + 1 + static_cast<std::ptrdiff_t>(size));
  std::shuffle(all.begin(), all.end(), random);
  lists.push_back(all);
  lists.emplace_back(all.begin(), all.begin() + 33);
  return lists;
}

TEST(HostFields, GatherPacksTheRowsOfEachBlock) {
  for_all_layouts([](const Layout& layout, HostFields& fields, std::vector<std::byte>&,
                     std::mt19937_64& random) {
    for (const auto& list : slot_lists(random, fields.block_bytes()))
      for (const std::size_t shift : {0, 1, 48}) {
        constexpr std::byte guard{0x5A};
        const std::size_t bytes = list.size() * fields.block_bytes();
        std::vector<std::byte> packed(bytes + 64 + shift, guard);
        fields.gather(list, packed.data() + shift);
        std::vector<std::byte> expected(shift, guard);
        for (const std::uint64_t slot : list) {
          const auto block = packed_block(layout.fields, slot);
          expected.insert(expected.end(), block.begin(), block.end());
        }
        expected.resize(packed.size(), guard);
        ASSERT_TRUE(packed == expected) << list.size() << " slots, shift " << shift;
      }
  });
}

TEST(HostFields, ScatterWritesTheRowsAndNothingElse) {
  for_all_layouts([](const Layout& layout, HostFields& fields, std::vector<std::byte>& memory,
                     std::mt19937_64& random) {
    for (const auto& list : slot_lists(random, fields.block_bytes())) {
      const std::size_t block = fields.block_bytes();
      const auto packed = random_bytes(random, list.size() * block + 1);
      std::vector<std::byte> expected = memory;
      for (std::size_t k = 0; k < list.size(); ++k) {
        std::size_t at = k * block + 1;
        for (const Field& field : layout.fields)
          for (std::size_t b = 0; b < row_bytes(field); ++b)
            expected[static_cast<std::size_t>(byte_of(field, list[k], b) - memory.data())] =
                packed[at++];
      }
      fields.scatter(packed.data() + 1, list);
      ASSERT_TRUE(memory == expected) << list.size() << " slots";
    }
  });
}

TEST(HostFields, CopyGoesInTheOrderOfTheList) {
  for_all_layouts([](const Layout& layout, HostFields& fields, std::vector<std::byte>&,
                     std::mt19937_64& random) {
    // A chain: each copy reads what the one before wrote, or what it is about to overwrite.
    std::vector<SlotIndex> from(50), to(50);
    for (std::size_t k = 0; k < from.size(); ++k) {
      from[k] = static_cast<SlotIndex>(random() % 40);
      do to[k] = static_cast<SlotIndex>(random() % 40);
      while (to[k] == from[k]);
    }
    std::vector<std::vector<std::byte>> expected;
    for (std::uint64_t slot = 0; slot < 40; ++slot)
      expected.push_back(packed_block(layout.fields, slot));
    for (std::size_t k = 0; k < from.size(); ++k) expected[to[k]] = expected[from[k]];
    fields.copy(from, to, {});
    for (std::uint64_t slot = 0; slot < 40; ++slot)
      ASSERT_TRUE(packed_block(layout.fields, slot) == expected[slot]) << "slot " << slot;
  });
}

/// Lists so long that rows are fetched into the cache before they are used.
constexpr std::uint64_t many_slots = 400;

std::vector<Layout> layouts_of_row(std::byte* memory, std::size_t bytes) {
  const auto n = static_cast<std::ptrdiff_t>(many_slots);
  const auto size = static_cast<std::ptrdiff_t>(bytes);
  return {{"dense", {field(memory + 1, many_slots, bytes)}},
          {"padded", {strided_field(memory, many_slots, bytes, size + 5)}},
          {"backwards", {strided_field(memory + size * (n - 1), many_slots, bytes, -size)}},
          {"several fields",
           {field(memory, many_slots, bytes), field(memory + size * n, many_slots, 7),
            strided_field(memory + (size + 7) * n, many_slots, bytes, size + 1)}}};
}

/// Every second slot, and all of them in any order.
std::vector<std::vector<SlotIndex>> long_lists(std::mt19937_64& random) {
  std::vector<std::vector<SlotIndex>> lists(2);
  for (SlotIndex slot = 1; slot < many_slots; slot += 2) lists[0].push_back(slot);
  lists[1].resize(many_slots);
  std::iota(lists[1].begin(), lists[1].end(), 0);
  std::shuffle(lists[1].begin(), lists[1].end(), random);
  return lists;
}

void expect_rows_move(const Layout& layout, const std::vector<std::byte>& memory,
                      const std::vector<SlotIndex>& list, std::mt19937_64& random) {
  HostFields fields(layout.fields);
  ASSERT_FALSE(fields.diagnostic());
  const SlotList listed(list);
  std::vector<std::byte> expected;
  for (const std::uint64_t slot : list) {
    const auto block = packed_block(layout.fields, slot);
    expected.insert(expected.end(), block.begin(), block.end());
  }
  std::vector<std::byte> packed(expected.size() + 1);
  fields.gather(listed, packed.data());
  ASSERT_TRUE(std::equal(expected.begin(), expected.end(), packed.begin()));
  ASSERT_EQ(packed.back(), std::byte{0}) << "behind the last block";

  const std::vector<std::byte> before = memory;
  const std::vector<std::byte> others = random_bytes(random, expected.size());
  fields.scatter(others.data(), listed);
  fields.gather(listed, packed.data());
  ASSERT_TRUE(std::equal(others.begin(), others.end(), packed.begin()));
  fields.scatter(expected.data(), listed);
  ASSERT_TRUE(memory == before) << "beside the rows";

  // Each block one place further in the list, the last one first.
  const std::vector<SlotIndex> from(list.rbegin() + 1, list.rend());
  const std::vector<SlotIndex> to(list.rbegin(), list.rend() - 1);
  fields.copy(from, to, {});
  fields.gather(listed, packed.data());
  const auto block = static_cast<std::ptrdiff_t>(fields.block_bytes());
  ASSERT_TRUE(std::equal(expected.begin(), expected.end() - block, packed.begin() + block));
}

TEST(HostFields, RowsOfEverySizeGoToPackedBlocksAndBackAndToOtherSlots) {
  std::mt19937_64 random(seed());
  for (std::size_t bytes = 1; bytes <= 200 && !HasFailure(); ++bytes) {
    std::vector<std::byte> memory = random_bytes(random, (2 * bytes + 16) * many_slots);
    for (const Layout& layout : layouts_of_row(memory.data(), bytes)) {
      SCOPED_TRACE(layout.name + ", rows of " + std::to_string(bytes));
      for (const std::vector<SlotIndex>& list : long_lists(random))
        expect_rows_move(layout, memory, list, random);
    }
  }
}

TEST(HostFields, PiecesAreTheBlockInPackedOrder) {
  for_all_layouts(
      [](const Layout& layout, HostFields& fields, std::vector<std::byte>&, std::mt19937_64&) {
        Ledger ledger;
        Vector<MemoryPiece> pieces{LedgerAllocator<MemoryPiece>(ledger)};
        for (const std::uint64_t slot : {std::uint64_t{0}, slots - 1}) {
          pieces.clear();
          fields.pieces(slot, pieces);
          std::vector<std::byte> block;
          for (const MemoryPiece& piece : pieces)
            block.insert(block.end(), piece.data, piece.data + piece.bytes);
          ASSERT_TRUE(block == packed_block(layout.fields, slot));
        }
        std::size_t expected = pieces.size();
        if (layout.name == "rows that merge" || layout.name == "dimension of one") expected = 1;
        if (layout.name == "rows that merge partly") expected = 2;
        if (layout.name == "columns") expected = 6;
        EXPECT_EQ(pieces.size(), expected);
      });
}

TEST(HostFields, AreDenseWhenBlocksAreContiguous) {
  for_all_layouts(
      [](const Layout& layout, HostFields& fields, std::vector<std::byte>&, std::mt19937_64&) {
        const bool dense = layout.name.starts_with("dense ") || layout.name == "rows that merge" ||
                           layout.name == "dimension of one";
        EXPECT_EQ(fields.contiguous_data() != nullptr, dense);
        EXPECT_TRUE(!dense || fields.contiguous_data() == layout.fields.front().data);
      });
}

TEST(HostFields, ScratchStartsAtTheDistanceOfSlotZeroFromACacheLine) {
  std::vector<std::byte> memory(1000);
  for (const std::size_t offset : {0, 8, 24, 63}) {
    std::byte* const base = memory.data() + offset;
    const BlockStorage storage{field(base, 10, 40)};
    for (const std::size_t bytes : {40, 100'000, 5 << 20}) {
      const auto scratch = storage.backend().allocate_scratch(bytes);
      std::memset(scratch.get(), 1, bytes);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(scratch.get()) % 64,
                reinterpret_cast<std::uintptr_t>(base) % 64);
    }
  }
}

}  // namespace
}  // namespace valet::test
