// SPDX-License-Identifier: BSD-3-Clause

// Two storages as one do what one storage of all their fields does.

#include "storage/joined_backend.hpp"

#include "testing.hpp"

namespace valet::test {
namespace {

using storage::joined;

constexpr std::uint64_t joined_slots = 700;

/// Rows of a few bytes to too many for the memory that both are packed in.
class Joined : public testing::TestWithParam<std::size_t> {
 protected:
  Joined()
      : data_(joined_slots * GetParam()),
        numbers_(3 * joined_slots),
        parts_(joined_slots),
        whole_({rows(), numbers(), parts()}),
        joined_(joined({rows()}, {numbers(), parts()})) {
    for (std::byte& byte : data_) byte = static_cast<std::byte>(random_() >> 56U);
    for (std::uint32_t& number : numbers_) number = static_cast<std::uint32_t>(random_() >> 32U);
    for (int& part : parts_) part = static_cast<int>(random_() % 1000);
  }

  [[nodiscard]] Field rows() { return field(data_.data(), joined_slots, GetParam()); }
  [[nodiscard]] Field numbers() { return field(numbers_, 3); }
  [[nodiscard]] Field parts() { return field(parts_); }
  [[nodiscard]] std::vector<std::uint32_t> some_slots(std::size_t count) {
    std::vector<std::uint32_t> list(joined_slots);
    for (std::uint32_t k = 0; k < joined_slots; ++k) list[k] = k;
    std::shuffle(list.begin(), list.end(), random_);
    list.resize(count);
    return list;
  }
  [[nodiscard]] std::vector<std::byte> packed(StorageBackend& backend, SlotList list) const {
    std::vector<std::byte> bytes(list.size() * backend.block_bytes());
    backend.gather(list, bytes.data());
    return bytes;
  }
  /// All that the fields hold.
  [[nodiscard]] std::vector<std::byte> content() const {
    std::vector<std::byte> all(data_);
    const auto append = [&](const auto& values) {
      const auto bytes = std::as_bytes(std::span(values));
      all.insert(all.end(), bytes.begin(), bytes.end());
    };
    append(numbers_);
    append(parts_);
    return all;
  }

  std::mt19937_64 random_{20260101};
  std::vector<std::byte> data_;
  std::vector<std::uint32_t> numbers_;
  std::vector<int> parts_;
  BlockStorage whole_;
  BlockStorage joined_;
};

TEST_P(Joined, DescribesItselfAsTheWhole) {
  EXPECT_FALSE(joined_.backend().diagnostic());
  EXPECT_EQ(joined_.slots(), joined_slots);
  EXPECT_EQ(joined_.block_bytes(), whole_.block_bytes());
  EXPECT_EQ(joined_.backend().pieces_per_block(), 3);
  EXPECT_TRUE(joined_.backend().reachable_by_mpi());
  EXPECT_FALSE(joined_.backend().may_throw());
  Ledger ledger;
  Vector<MemoryPiece> mine(ledger), theirs(ledger);
  joined_.backend().pieces(17, mine);
  whole_.backend().pieces(17, theirs);
  ASSERT_EQ(mine.size(), theirs.size());
  for (std::size_t k = 0; k < mine.size(); ++k)
    EXPECT_TRUE(mine[k].data == theirs[k].data && mine[k].bytes == theirs[k].bytes);
}

TEST_P(Joined, PacksAndUnpacksAsTheWhole) {
  for (const std::size_t count : {0, 1, 2, 100, 700}) {
    const std::vector<std::uint32_t> from = some_slots(count);
    const std::vector<std::byte> expected = packed(whole_.backend(), std::span(from));
    EXPECT_EQ(packed(joined_.backend(), std::span(from)), expected) << count;
    const std::vector<std::uint32_t> to = some_slots(count);
    joined_.backend().scatter(expected.data(), std::span(to));
    EXPECT_EQ(packed(whole_.backend(), std::span(to)), expected) << count;
  }
}

TEST_P(Joined, CopiesAsTheWhole) {
  const std::vector<std::uint32_t> from = some_slots(50), to = some_slots(50);
  const std::vector<std::byte> before = content();
  whole_.backend().copy(std::span(from), std::span(to), {});
  const std::vector<std::byte> expected = content();
  ASSERT_NE(before, expected);
  std::memcpy(data_.data(), before.data(), data_.size());
  std::memcpy(numbers_.data(), before.data() + data_.size(), 4 * numbers_.size());
  std::memcpy(parts_.data(), before.data() + data_.size() + 4 * numbers_.size(), 4 * parts_.size());
  ASSERT_EQ(content(), before);
  joined_.backend().copy(std::span(from), std::span(to), {});
  EXPECT_EQ(content(), expected);
}

INSTANTIATE_TEST_SUITE_P(Bytes, Joined, testing::Values(1, 24, 1000, 4096, 4097, 10'000));

TEST(JoinedBackend, SaysWhatIsWrongWithItsParts) {
  std::vector<int> ten(10), nine(9);
  const BlockStorage uneven = joined({field(ten)}, {field(nine)});
  ASSERT_TRUE(uneven.backend().diagnostic());
  EXPECT_EQ(uneven.backend().diagnostic()->code, ErrorCode::field_mismatch);
  expect_words(uneven.backend().diagnostic()->text, {"9 slots, the storage 10"});
  int* const missing = nullptr;
  const BlockStorage without = joined({field(ten)}, {field(missing, 10)});
  ASSERT_TRUE(without.backend().diagnostic());
  EXPECT_EQ(without.backend().diagnostic()->code, ErrorCode::inaccessible_memory);
}

}  // namespace
}  // namespace valet::test
