// SPDX-License-Identifier: BSD-3-Clause

// Which fields share memory, against marking every byte; and the messages about them.

#include "storage/field_check.hpp"

#include "field_rows.hpp"
#include "storage/footprint.hpp"
#include "test_comm.hpp"

namespace valet::test {
namespace {

using storage::field_diagnostic;
using storage::first_overlap;
using storage::rows_overlap;

/// Calls `action` with the address of every byte of the field, one row after the other.
template <class Action>
void for_each_byte(const Field& field, Action&& action) {
  std::size_t entries = 1;
  for (std::size_t d = 0; d < field.dimension_count; ++d) entries *= field.dimensions[d].extent;
  for (std::uint64_t slot = 0; slot < field.slots; ++slot)
    for (std::size_t entry = 0; entry < entries; ++entry) {
      auto at = row_address(field, slot);
      std::size_t rest = entry;
      for (std::size_t d = 0; d < field.dimension_count; ++d) {
        at += static_cast<std::intptr_t>(rest % field.dimensions[d].extent) *
              field.dimensions[d].stride_bytes;
        rest /= field.dimensions[d].extent;
      }
      for (std::size_t k = 0; k < field.element_bytes; ++k)
        action(at + static_cast<std::intptr_t>(k));
    }
}

bool marks_twice(const Field& field) {
  std::set<std::intptr_t> marked;
  bool twice = false;
  for_each_byte(field, [&](std::intptr_t at) { twice = !marked.insert(at).second || twice; });
  return twice;
}

bool marks_common(const Field& a, const Field& b) {
  std::set<std::intptr_t> marked;
  for_each_byte(a, [&](std::intptr_t at) { marked.insert(at); });
  bool common = false;
  for_each_byte(b, [&](std::intptr_t at) { common = common || marked.contains(at); });
  return common;
}

Field random_field(std::mt19937_64& random) {
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  Field result = strided_field(reinterpret_cast<char*>(1000 + pick(0, 60)),
                               static_cast<std::uint64_t>(pick(1, 5)),
                               static_cast<std::size_t>(pick(1, 4)), pick(-24, 24));
  result.dimension_count = static_cast<std::size_t>(pick(0, 2));
  for (std::size_t d = 0; d < result.dimension_count; ++d)
    result.dimensions[d] = {static_cast<std::size_t>(pick(1, 3)), pick(-30, 30)};
  if (pick(0, 2) > 0) return result;
  const auto in_tile = static_cast<std::uint64_t>(pick(1, 3));
  result.slots = in_tile * static_cast<std::uint64_t>(pick(1, 3));
  return in_tiles(result, in_tile, pick(-40, 40));
}

/// The same in up to three arrays.
Field random_segments(std::mt19937_64& random) {
  Field rows = random_field(random);
  std::vector<void*> starts;
  std::vector<std::uint64_t> slots;
  for (auto count = random() % 3 + 1; count-- > 0;) {
    starts.push_back(reinterpret_cast<void*>(std::uintptr_t{1000} + random() % 200));
    slots.push_back(random() % 4);
  }
  return in_segments(rows, starts, slots);
}

TEST(FieldCheck, FindsOverlapExactlyWhereBytesAreSharedInAnyShape) {
  std::mt19937_64 random(seed());
  std::vector<Field> good;
  int bad = 0, pairs = 0, apart = 0;
  for (int k = 0; k < 20'000; ++k) {
    const Field field = random_field(random);
    const bool expected = marks_twice(field);
    ASSERT_EQ(rows_overlap(field), expected) << "field " << k;
    if (expected)
      ++bad;
    else
      good.push_back(field);
  }
  for (std::size_t k = 1; k < good.size(); ++k, ++pairs) {
    const bool expected = marks_common(good[k - 1], good[k]);
    const std::array pair{good[k - 1], good[k]}, exchanged{good[k], good[k - 1]};
    ASSERT_EQ(first_overlap(pair).has_value(), expected) << "pair " << k;
    ASSERT_EQ(first_overlap(exchanged).has_value(), expected) << "pair " << k << " exchanged";
    apart += expected ? 0 : 1;
  }
  EXPECT_GT(bad, 1000);
  EXPECT_GT(apart, pairs / 4);
  EXPECT_LT(apart, 3 * pairs / 4);
}

TEST(FieldCheck, FindsOverlapExactlyWhereArraysOfOneFieldOrTwoShareBytes) {
  std::mt19937_64 random(seed());
  int apart = 0, own = 0, others = 0;
  for (int k = 0; k < 20'000; ++k) {
    const std::array fields{random_segments(random), random_field(random)};
    const bool twice = marks_twice(fields[0]), common = marks_common(fields[0], fields[1]);
    if (rows_overlap(fields[0])) {
      ASSERT_TRUE(twice) << "fields " << k;
      continue;
    }
    if (marks_twice(fields[1])) continue;
    const auto found = first_overlap(fields);
    ASSERT_EQ(found.has_value(), twice || common) << "fields " << k;
    if (found) {
      ASSERT_TRUE(found->second == 0 ? twice : common) << "fields " << k;
    }
    ++(!found ? apart : found->second == 0 ? own : others);
  }
  EXPECT_GT(std::min({apart, own, others}), 500);
}

std::string text_of(std::initializer_list<Field> fields) {
  const auto diagnostic = field_diagnostic(std::span(fields.begin(), fields.size()));
  return diagnostic ? diagnostic->text : "";
}

constexpr std::uint64_t many = std::uint64_t{1} << 32;

/// Never read: the check looks at numbers only.
char* address(std::uint64_t value) { return reinterpret_cast<char*>(std::uintptr_t{value}); }

TEST(FieldCheck, TakesTheMembersOfAnArrayOfStructuresInAnyOrder) {
  EXPECT_EQ(text_of({strided_field(address(4096 + 12), many, 4, 24),
                     strided_field(address(4096), many, 12, 24),
                     strided_field(address(4096 + 16), many, 8, 24)}),
            "");
  EXPECT_EQ(text_of({strided_field(address(4096), many, 12, 24),
                     strided_field(address(4096 + 24 * (many - 1) + 12), many, 12, -24)}),
            "")
      << "one of them backwards";
}

TEST(FieldCheck, TakesOneSlotWithAnyStride) {
  EXPECT_EQ(text_of({strided_field(address(4096), 1, 12, 0)}), "");
  EXPECT_EQ(text_of({strided_field(address(4096), 0, 12, 0), field(address(4096), 0)}), "");
}

TEST(FieldCheck, RefusesRowsThatOverlap) {
  for (const std::ptrdiff_t stride : {0, 11, -11, 1}) {
    const std::string text = text_of({strided_field(address(1 << 20), many, 12, stride, "x")});
    expect_words(text, {"field 'x' (rows of 12 bytes, " + std::to_string(stride) +
                        " apart) has rows that overlap; give strides"});
  }
}

TEST(FieldCheck, RefusesMembersOfAStructureThatShareBytes) {
  EXPECT_EQ(
      text_of({strided_field(address(4096), many, 12, 24, "x"),
               strided_field(address(4096 + 11), many, 4, 24)}),
      "field 1 (rows of 4 bytes, 24 apart) shares memory with field 'x' (rows of 12 bytes, 24 "
      "apart); give every array once, and every field memory of its own");
  EXPECT_NE(text_of({strided_field(address(4096), many, 12, 24),
                     strided_field(address(4096 + 20 + 24 * (many - 1)), many, 5, -24)}),
            "")
      << "one of them backwards, the last bytes in the next structure";
}

TEST(FieldCheck, RefusesAnArrayGivenTwiceAndOneThatReachesIntoTheNext) {
  expect_words(text_of({field(address(4096), many, 8), field(address(4096), many, 8)}),
               {"starts at the same address; give every array once"});
  EXPECT_NE(text_of({field(address(4096), 100, 8), field(address(4096 + 799), 100, 8)}), "");
  EXPECT_EQ(text_of({field(address(4096), 100, 8), field(address(4096 + 800), 100, 8)}), "");
}

TEST(FieldCheck, RefusesMoreThanAnyMemoryHolds) {
  EXPECT_NE(text_of({strided_field(address(4096), ~std::uint64_t{0}, 8, 1 << 20, "x")})
                .find("more than any memory holds"),
            std::string::npos);
}

TEST(FieldCheck, SaysWhatIsWrongWithTiles) {
  std::vector<int> values(12);
  const Field row = strided_field(values.data(), 6, 4, 4, "x");
  EXPECT_EQ(text_of({in_tiles(row, 3, 12)}), "");
  EXPECT_EQ(text_of({in_tiles(row, 0, 12)}),
            "field 'x' has tiles of 0 slots; give the slots that each has");
  EXPECT_EQ(text_of({in_tiles(row, 3, 8)}),
            "field 'x' (rows of 4 bytes, 4 apart) has rows that overlap; give strides that keep "
            "every two rows apart");
  Field few = in_tiles(row, 2, 8);
  few.tiles.count = 2;
  EXPECT_EQ(text_of({few}), "field 'x' has 2 tiles with 4 slots for its 6; give all of them");

  std::vector<void*> starts{values.data(), values.data() + 3};
  EXPECT_EQ(text_of({in_segments(row, starts, std::vector<std::uint64_t>{3, 3})}), "");
  EXPECT_EQ(text_of({in_segments(row, starts, std::vector<std::uint64_t>{3})}),
            "field 'x' has lists of different lengths for its arrays, of which the longer one has "
            "2; give the start and the rows of each");
  expect_words(text_of({in_segments(row, {}, std::vector<std::uint64_t>{9})}),
               {"field 'x' has lists of different lengths"});
  EXPECT_EQ(text_of({in_segments(row, starts, std::vector<std::uint64_t>{4, 2})}),
            "field 'x' (rows of 4 bytes, 4 apart) has arrays that share memory; give every one "
            "memory of its own");
  expect_words(text_of({in_segments(row, starts, std::vector<std::uint64_t>{3, ~0ULL})}),
               {"tiles that end in slots that do not ascend"});
  starts[1] = nullptr;
  EXPECT_EQ(text_of({in_segments(row, starts, std::vector<std::uint64_t>{3, 0})}), "");
  EXPECT_EQ(text_of({in_segments(row, starts, std::vector<std::uint64_t>{3, 1})}),
            "field 'x' has no memory (a null pointer) for its array 1 with 1 slots; allocate it "
            "first");

  std::vector<int*> pointers{&values[4], &values[0], &values[4]};
  expect_words(
      text_of({pointed_field(std::span<int* const>(pointers), 1, "p")}),
      {"field 'p'", "has slots whose rows share memory; give every slot a row of its own"});
  pointers[1] = nullptr;
  EXPECT_EQ(text_of({pointed_field(std::span<int* const>(pointers), 1, "p")}),
            "field 'p' has a null pointer as the row of slot 1; give every slot a row");
  pointers[1] = &values[0];
  EXPECT_EQ(text_of({pointed_field(std::span<int* const>(pointers).first(2), 4)}), "");
  EXPECT_EQ(text_of({pointed_field(std::span<int* const>(), 4)}), "");
}

TEST(FieldCheck, SpansAndVectorsCountTheirOwnSlots) {
  std::vector<double> values(12);
  const Field whole = field(values, 3, "x");
  EXPECT_EQ(whole.data, values.data());
  EXPECT_EQ(whole.slots, 4U);
  EXPECT_EQ(whole.element_bytes, 24U);
  EXPECT_EQ(whole.slot_stride_bytes, 24);
  EXPECT_EQ(whole.label, "x");
  const Field part = field(std::span(values).first(5));
  EXPECT_EQ(part.slots, 5U);
  EXPECT_EQ(part.element_bytes, 8U);
  EXPECT_EQ(field(std::span<double, 12>(values), 4).slots, 3U);
  EXPECT_EQ(text_of({whole}), "");
  EXPECT_EQ(text_of({field(std::span(values), 5, "x")}),
            "field 'x' has 16 bytes behind its 2 rows of 40 bytes; give an array whose size is a "
            "multiple of the components");
  EXPECT_EQ(text_of({field(values, 0, "x")}),
            "field 'x' has rows of zero bytes; give one component or "
            "more, or leave it out");
}

/// Where tiles of a vector are is not where they are when it has been resized.
TEST(FieldCheck, RefusesTilesOfAnArrayThatMayBeResized) {
  std::vector<int> values(12);
  std::vector<void*> starts{values.data()};
  const std::vector<std::uint64_t> slots{12};
  for (const Field& tiled : {in_tiles(growing(values, 1, "x"), 2, 12),
                             in_tiles(valet::field(valet::ref(values), 1, "x"), 2, 8),
                             in_segments(growing(values, 1, "x"), starts, slots)}) {
    const BlockStorage storage{tiled};
    for (int time = 0; time < 2; ++time, values.resize(24)) {
      EXPECT_EQ(storage.slots(), 0U);
      expect_words(storage.backend().diagnostic()->text,
                   {"field 'x' has tiles of an array that may be resized",
                    "give a field of the array as it is, and grow it by BlockStorage::growing()"});
    }
    values.resize(12);
  }
}

}  // namespace
}  // namespace valet::test
