// SPDX-License-Identifier: BSD-3-Clause

#include "storage/descriptors.hpp"

#include "storage/shared_memory.hpp"
#include "testing.hpp"

#include <array>
#include <fcntl.h>

namespace valet {
namespace {

using storage::DescriptorBox;
using storage::FileDescriptor;

/// A box, or a skipped test where the system has no sockets without a file.
class DescriptorBoxes : public testing::Test {
 protected:
  void SetUp() override {
    if (box_.address() == 0) GTEST_SKIP() << "no sockets without a file on this system";
  }

  DescriptorBox box_ = DescriptorBox::make();
  std::array<FileDescriptor, DescriptorBox::most> received_;
};

TEST_F(DescriptorBoxes, GetWhatOpensTheSameMemory) {
  const storage::SharedMemory shared = storage::SharedMemory::create(10'000);
  ASSERT_NE(shared.data(), nullptr);
  const std::array given{static_cast<int>(shared.handle().descriptor), STDIN_FILENO};
  ASSERT_TRUE(DescriptorBox::send(box_.address(), given));
  ASSERT_EQ(box_.receive(received_), 2U);
  const auto other = storage::SharedMemory::open(shared.handle(), std::move(received_[0]));
  ASSERT_NE(other.data(), nullptr);
  ASSERT_NE(other.data(), shared.data());
  shared.data()[9'999] = std::byte{7};
  EXPECT_EQ(other.data()[9'999], std::byte{7});
  EXPECT_EQ(storage::SharedMemory::open(shared.handle(), std::move(received_[1])).data(), nullptr)
      << "a descriptor of something else";
}

TEST_F(DescriptorBoxes, CloseWhatTheyGetAndNobodyTakes) {
  const auto count_open = [] {
    int open = 0;
    for (int k = 0; k < 1'000; ++k) open += fcntl(k, F_GETFD) >= 0 ? 1 : 0;
    return open;
  };
  const int before = count_open();
  const std::array given{STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
  ASSERT_TRUE(DescriptorBox::send(box_.address(), given));
  EXPECT_EQ(box_.receive(std::span(received_).first(1)), 1U);
  EXPECT_EQ(count_open(), before + 1);
  received_[0] = {};
  EXPECT_EQ(count_open(), before);
}

TEST_F(DescriptorBoxes, AnswerAtOnceWhereNothingComes) {
  EXPECT_EQ(box_.receive(received_), 0U);
  const std::array<int, DescriptorBox::most + 1> many{};
  EXPECT_FALSE(DescriptorBox::send(box_.address(), many));
  const std::array closed{1'000'000};
  EXPECT_FALSE(DescriptorBox::send(box_.address(), closed));
  const std::uint64_t address = box_.address();
  box_ = {};
  EXPECT_FALSE(DescriptorBox::send(address, std::array{STDIN_FILENO})) << "nobody listens there";
  EXPECT_EQ(box_.receive(received_), 0U);
}

}  // namespace
}  // namespace valet
