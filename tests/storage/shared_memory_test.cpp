// SPDX-License-Identifier: BSD-3-Clause

#include "storage/shared_memory.hpp"

#include "base/machine_identity.hpp"
#include "testing.hpp"

#include <fstream>
#include <sys/resource.h>

namespace valet {
namespace {

constexpr std::size_t bytes = 100'000;

/// A segment of this machine, or a skipped test where processes cannot share memory.
class SharedMemories : public testing::Test {
 protected:
  void SetUp() override {
    shared_ = storage::SharedMemory::create(bytes);
    if (machine_identity() == 0 || shared_.data() == nullptr)
      GTEST_SKIP() << "no memory to share on this system";
  }

  storage::SharedMemory shared_;
};

bool is_mapped() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (test::contains(line, "memfd:valet")) return true;
  return false;
}

TEST_F(SharedMemories, ShowTheSameBytesToWhoeverOpensThem) {
  const storage::SharedMemory other = storage::SharedMemory::open(shared_.handle());
  ASSERT_EQ(other.size(), bytes);
  ASSERT_NE(other.data(), shared_.data());
  std::memset(shared_.data(), 0x5a, bytes);
  EXPECT_EQ(std::memcmp(other.data(), shared_.data(), bytes), 0);
  other.data()[bytes - 1] = std::byte{7};
  EXPECT_EQ(shared_.data()[bytes - 1], std::byte{7});
}

TEST_F(SharedMemories, AreNotMistakenForAnythingElse) {
  const storage::SharedMemoryHandle right = shared_.handle();
  storage::SharedMemoryHandle handle = right;
  handle.key ^= 1;
  EXPECT_EQ(storage::SharedMemory::open(handle).data(), nullptr) << "another segment's key";
  handle = right;
  handle.bytes += 1;
  EXPECT_EQ(storage::SharedMemory::open(handle).data(), nullptr) << "another size";
  handle = right;
  handle.descriptor = 1'000'000;
  EXPECT_EQ(storage::SharedMemory::open(handle).data(), nullptr) << "no such descriptor";
  handle.descriptor = 0;
  EXPECT_EQ(storage::SharedMemory::open(handle).data(), nullptr)
      << "a descriptor of something else";
  handle = right;
  handle.process = std::uint64_t{1} << 40;
  EXPECT_EQ(storage::SharedMemory::open(handle).data(), nullptr) << "no such process";
  EXPECT_EQ(storage::SharedMemory::open(storage::SharedMemoryHandle{}).data(), nullptr);
  EXPECT_EQ(storage::SharedMemory().handle().bytes, 0U);
}

TEST_F(SharedMemories, CannotBeOpenedOnceClosed) {
  const storage::SharedMemoryHandle handle = shared_.handle();
  shared_.close();
  EXPECT_EQ(storage::SharedMemory::open(handle).data(), nullptr);
  shared_.data()[0] = std::byte{1};  // the owner keeps it
}

// `ulimit -f`: memory without a name is a file, and a larger one than the limit is a signal.
TEST_F(SharedMemories, AreNotMadeBeyondTheLimitOfFiles) {
  struct rlimit before {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  struct rlimit limited = before;
  limited.rlim_cur = bytes - 1;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limited), 0);
  const storage::SharedMemory refused = storage::SharedMemory::create(bytes);
  limited.rlim_cur = bytes;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limited), 0);
  const storage::SharedMemory made = storage::SharedMemory::create(bytes);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(refused.size(), 0U);
  EXPECT_EQ(made.size(), bytes);
}

TEST_F(SharedMemories, AreGoneWithTheirLastMapping) {
  {
    storage::SharedMemory moved = std::move(shared_);
    shared_ = storage::SharedMemory::open(moved.handle());
    EXPECT_TRUE(is_mapped());
  }
  std::memset(shared_.data(), 1, bytes);  // outlives its owner
  shared_ = storage::SharedMemory();
  EXPECT_FALSE(is_mapped());
}

}  // namespace
}  // namespace valet
