// SPDX-License-Identifier: BSD-3-Clause

#include "base/lent_memory.hpp"
#include "testing.hpp"
#include <valet/ledger.hpp>

namespace valet::test {
namespace {

TEST(Ledger, CountsBytesAndTheirPeak) {
  Ledger ledger;
  void* const first = ledger.allocate(100);
  void* const second = ledger.allocate(50);
  ledger.deallocate(first, 100);
  EXPECT_EQ(ledger.current_bytes(), 50U);
  EXPECT_EQ(ledger.peak_bytes(), 150U);
  ledger.add(30);
  EXPECT_EQ(ledger.current_bytes(), 80U);
  EXPECT_EQ(ledger.peak_bytes(), 150U);
  ledger.subtract(30);
  ledger.reset_peak();
  EXPECT_EQ(ledger.peak_bytes(), 50U);
  ledger.deallocate(second, 50);
  EXPECT_EQ(ledger.current_bytes(), 0U);
}

TEST(LedgerArray, GivesItsBytesBack) {
  Ledger ledger;
  {
    Array<double> array(ledger, 10);
    array[9] = 1.5;
    EXPECT_EQ(ledger.current_bytes(), 80U);
    EXPECT_EQ(*(array.end() - 1), 1.5);
    const Array<double> empty(ledger, 0);
    EXPECT_EQ(ledger.current_bytes(), 80U);
    EXPECT_EQ(empty.data(), nullptr);
  }
  EXPECT_EQ(ledger.current_bytes(), 0U);
}

TEST(LedgerArray, MovesOwnershipOnce) {
  Ledger ledger;
  Array<int> source(ledger, 4);
  source[0] = 7;
  Array<int> target(std::move(source));
  EXPECT_EQ(source.size(), 0U);
  EXPECT_EQ(source.data(), nullptr);
  EXPECT_EQ(target[0], 7);
  EXPECT_EQ(ledger.current_bytes(), 16U);
  Array<int> other(ledger, 100);
  other = std::move(target);
  EXPECT_EQ(other.size(), 4U);
  EXPECT_EQ(other[0], 7);
  EXPECT_EQ(ledger.current_bytes(), 16U) << "the old memory of the target is freed";
  Array<int>& itself = other;
  other = std::move(itself);
  EXPECT_EQ(other.size(), 4U);
  EXPECT_EQ(other[0], 7);
  EXPECT_EQ(ledger.current_bytes(), 16U);
}

TEST(LedgerArray, MovesBetweenLedgers) {
  Ledger first, second;
  {
    Array<int> a(first, 4);
    Array<int> b(second, 8);
    a = std::move(b);
    EXPECT_EQ(first.current_bytes(), 0U);
    EXPECT_EQ(second.current_bytes(), 32U);
  }
  EXPECT_EQ(second.current_bytes(), 0U);
}

TEST(LedgerVector, IsCountedWhileItGrows) {
  Ledger ledger;
  {
    Vector<long> vector{LedgerAllocator<long>(ledger)};
    for (long k = 0; k < 1000; ++k) vector.push_back(k);
    EXPECT_EQ(ledger.current_bytes(), vector.capacity() * sizeof(long));
    EXPECT_GT(ledger.peak_bytes(), ledger.current_bytes()) << "old and new memory while growing";
    Vector<long> moved(std::move(vector));
    EXPECT_EQ(ledger.current_bytes(), moved.capacity() * sizeof(long));
  }
  EXPECT_EQ(ledger.current_bytes(), 0U);
}

TEST(LedgerLentMemory, ServesWhatFitsAndIsNotCounted) {
  Ledger ledger, other;
  Array<std::byte> memory(other, 100);
  {
    const detail::LentMemory lent(ledger, {memory.data(), memory.size()});
    const Array<std::byte> first(ledger, 1), second(ledger, 84);
    EXPECT_EQ(first.data(), memory.data());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(second.data()) % alignof(std::max_align_t), 0U);
    EXPECT_EQ(second.end(), memory.end());
    EXPECT_EQ(ledger.current_bytes(), 0U);
    const Array<std::byte> none_left(ledger, 1), of_another(other, 1);
    EXPECT_EQ(ledger.current_bytes(), 1U);
    EXPECT_EQ(other.current_bytes(), 101U);
  }
  const Array<std::byte> from_the_system(ledger, 8);
  EXPECT_EQ(ledger.current_bytes(), 8U);
  EXPECT_EQ(ledger.peak_bytes(), 8U);
}

}  // namespace
}  // namespace valet::test
