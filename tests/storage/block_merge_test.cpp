// SPDX-License-Identifier: BSD-3-Clause

// The merge is right, stable and linear, also where few keys are distinct: copies are counted.

#include "storage/block_merge.hpp"

#include "test_comm.hpp"

namespace valet::test {
namespace {

/// A key, and where the element was.
struct Element {
  std::uint32_t key = 0;
  std::uint32_t origin = 0;
  [[nodiscard]] bool operator==(const Element&) const = default;
};
bool less_key(const Element& a, const Element& b) { return a.key < b.key; }

struct Sequences {
  std::vector<Element> elements;
  std::size_t middle = 0;
};

enum class Keys {
  distinct,
  few,
  equal,
  one_in_first,
  sorted_already,
  swapped,
  square_root,
  skewed
};
constexpr std::array all_keys{
    Keys::distinct,       Keys::few,     Keys::equal,       Keys::one_in_first,
    Keys::sorted_already, Keys::swapped, Keys::square_root, Keys::skewed};

std::uint32_t random_key(std::mt19937_64& random, Keys keys, std::size_t n, bool in_first) {
  const auto below = [&](std::uint64_t limit) {
    return static_cast<std::uint32_t>(random() % std::max<std::uint64_t>(1, limit));
  };
  switch (keys) {
    case Keys::distinct: return below(16 * n + 1);
    case Keys::few: return below(5);
    case Keys::equal: return 7;
    case Keys::one_in_first: return in_first ? static_cast<std::uint32_t>(n / 2) : below(n);
    case Keys::sorted_already: return below(100) + (in_first ? 0 : 100);
    case Keys::swapped: return below(n) + (in_first ? static_cast<std::uint32_t>(n) : 0);
    case Keys::square_root:
      return below(static_cast<std::uint64_t>(std::sqrt(static_cast<double>(n))) + 1);
    case Keys::skewed: return below(2) == 0 ? 3 : below(4 * n);
  }
  return 0;
}

Sequences random_sequences(std::mt19937_64& random, Keys keys, std::size_t n, std::size_t middle) {
  Sequences result{std::vector<Element>(n), middle};
  for (std::size_t k = 0; k < n; ++k)
    result.elements[k].key = random_key(random, keys, n, k < middle);
  const auto split = result.elements.begin() + static_cast<std::ptrdiff_t>(middle);
  std::sort(result.elements.begin(), split, less_key);
  std::sort(split, result.elements.end(), less_key);
  for (std::size_t k = 0; k < n; ++k) result.elements[k].origin = static_cast<std::uint32_t>(k);
  return result;
}

std::vector<Element> merged(Sequences sequences) {
  auto& all = sequences.elements;
  std::inplace_merge(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(sequences.middle),
                     all.end(), less_key);
  return all;
}

/// Merges by key; returns how many elements were copied.
std::uint64_t merge(std::span<Element> data, std::size_t middle, std::span<std::byte> scratch) {
  storage::BlockMerge merge(std::as_writable_bytes(data), sizeof(Element), scratch);
  merge.expect(0, data.size());
  std::size_t left = 0;
  std::size_t right = middle;
  while (left < middle && right < data.size())
    merge.append(less_key(data[right], data[left]) ? right++ : left++, 1);
  merge.append(left, middle - left);
  merge.append(right, data.size() - right);
  return merge.finish();
}

std::size_t middle_of(std::mt19937_64& random, std::size_t n) {
  switch (random() % 4) {
    case 0: return n / 2;
    case 1: return std::min<std::size_t>(n, random() % 4);
    case 2: return n - std::min<std::size_t>(n, random() % 4);
    default: return random() % (n + 1);
  }
}

TEST(BlockMerge, IsStableAndLinearWithASquareRootOfScratch) {
  constexpr std::uint64_t cases = 4000;
  for (std::uint64_t k = 0; k < cases; ++k) {
    std::mt19937_64 random(seed() + k);
    const std::size_t n = random() % (k % 50 == 0 ? 100'000 : 400);
    const Sequences sequences =
        random_sequences(random, all_keys[k % all_keys.size()], n, middle_of(random, n));
    const std::uint64_t least = storage::BlockMerge::least_scratch_bytes(n, sizeof(Element));
    EXPECT_LE(static_cast<double>(least), 200 + 220 * std::sqrt(static_cast<double>(n)));
    std::vector<std::uint32_t> scratch((least + random() % (4 * least)) / 4 + 1);
    std::vector<Element> data = sequences.elements;
    const std::uint64_t copied =
        merge(std::span(data), sequences.middle, std::as_writable_bytes(std::span(scratch)));
    ASSERT_EQ(data, merged(sequences)) << seed_note(seed() + k) << " n " << n;
    ASSERT_LE(copied, 5 * n / 2 + scratch.size()) << seed_note(seed() + k);
  }
}

/// Elements of any size, known by their places only, in parts that have holes between them.
TEST(BlockMerge, PutsPartsOfAnyElementSizeInOrder) {
  constexpr std::uint64_t cases = 4000;
  for (std::uint64_t k = 0; k < cases; ++k) {
    std::mt19937_64 random(seed() + k);
    const std::size_t bytes = 1 + random() % 64;
    const std::array<std::uint64_t, 4> lengths{random() % 60, random() % 60, random() % 60,
                                               random() % 60};
    const bool hole = random() % 2 == 0;
    // First sequence: parts 0 and 2; second: parts 1 and 3, where there is no hole.
    std::array<std::uint64_t, 4> begins{};
    begins[1] = lengths[0];
    begins[2] = begins[1] + lengths[1] + (hole ? random() % 60 : 0);
    begins[3] = begins[2] + lengths[2];
    const std::uint64_t elements = begins[3] + (hole ? 0 : lengths[3]);
    std::vector<std::byte> data(elements * bytes), expected;
    for (std::byte& each : data) each = static_cast<std::byte>(random());
    const std::vector<std::byte> before = data;
    std::vector<std::uint32_t> scratch(
        storage::BlockMerge::least_scratch_bytes(elements, bytes) / 4 + 1 + random() % 100);
    storage::BlockMerge merge(data, bytes, std::as_writable_bytes(std::span(scratch)));
    std::array<std::vector<std::uint64_t>, 2> sequence;
    for (std::size_t part = 0; part < (hole ? 3U : 4U); ++part) {
      merge.expect(begins[part], lengths[part]);
      for (std::uint64_t e = 0; e < lengths[part]; ++e)
        sequence[part % 2].push_back(begins[part] + e);
    }
    std::array<std::size_t, 2> next{};
    while (next[0] < sequence[0].size() || next[1] < sequence[1].size()) {
      std::size_t side = random() % 2;
      if (next[side] == sequence[side].size()) side = 1 - side;
      std::uint64_t run = 1;
      const std::uint64_t from = sequence[side][next[side]];
      while (random() % 8 != 0 && next[side] + run < sequence[side].size() &&
             sequence[side][next[side] + run] == from + run)
        ++run;
      merge.append(from, run);
      next[side] += run;
      expected.insert(expected.end(), before.begin() + static_cast<std::ptrdiff_t>(from * bytes),
                      before.begin() + static_cast<std::ptrdiff_t>((from + run) * bytes));
    }
    merge.finish();
    ASSERT_TRUE(std::equal(expected.begin(), expected.end(), data.begin()))
        << seed_note(seed() + k);
  }
}

}  // namespace
}  // namespace valet::test
