// SPDX-License-Identifier: BSD-3-Clause

// The fake device itself: what tests rely on when they say that the host did not touch its memory.

#include "fake_device.hpp"

#include "testing.hpp"

namespace valet::test {
namespace {

using FakeDeviceDeathTest = testing::Test;

TEST(FakeDeviceDeathTest, EndsTheProgramWhereTheHostTouchesItsMemory) {
  FakeDevice device(4, 24);
  EXPECT_DEATH(std::memset(device.pages().data(), 1, 1), "");
  EXPECT_DEATH(std::exit(static_cast<int>(device.pages().data()[0])), "");
}

TEST(FakeDevice, MovesBlocksInItsKernels) {
  FakeDevice device(4, 24);
  std::array<std::byte, 24> block{}, back{};
  block.fill(std::byte{7});
  device.write(2, block.data());
  device.read(2, back.data());
  EXPECT_EQ(block, back);
}

TEST(FakeDevice, RefusesMemoryThatIsNotPinned) {
  FakeDevice device(4, 24);
  const CustomFunctions functions = device.functions();
  std::vector<std::byte> packed(24);
  const std::array<std::uint64_t, 1> slots{1};
  EXPECT_THROW(functions.pack(slots, packed.data()), std::logic_error);
  auto* const pinned = static_cast<std::byte*>(functions.allocate_scratch(64));
  auto* const list = reinterpret_cast<std::uint64_t*>(pinned);
  list[0] = 1;
  EXPECT_THROW(functions.pack(SlotSpan(list, 1), packed.data()), std::logic_error);
  EXPECT_NO_THROW(functions.pack(SlotSpan(list, 1), pinned + 8));
  EXPECT_THROW(functions.pack(SlotSpan(list, 1), pinned + 48), std::logic_error) << "8 bytes short";
  EXPECT_EQ(device.counts().scratch_bytes, 64U);
  functions.free_scratch(pinned);
  EXPECT_EQ(device.counts().scratch_bytes, 0U);
}

TEST(ForEachRun, FindsWhatIsAdjacent) {
  std::vector<std::array<std::uint64_t, 3>> runs;
  const std::vector<std::uint64_t> slots{4, 5, 6, 2, 3, 9, 8};
  for_each_run(slots, [&](std::uint64_t slot, std::size_t first, std::size_t count) {
    runs.push_back({slot, first, count});
  });
  const std::vector<std::array<std::uint64_t, 3>> expected{
      {4, 0, 3}, {2, 3, 2}, {9, 5, 1}, {8, 6, 1}};
  EXPECT_EQ(runs, expected);
}

}  // namespace
}  // namespace valet::test
