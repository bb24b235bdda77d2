// SPDX-License-Identifier: BSD-3-Clause

#include "storage/shared_segment.hpp"

#include "base/machine_identity.hpp"
#include "testing.hpp"

#include <fstream>
#include <sys/resource.h>

namespace valet {
namespace {

constexpr std::size_t bytes = 100'000;

/// A segment of this machine, or a skipped test where processes cannot share memory.
class SharedSegments : public testing::Test {
 protected:
  void SetUp() override {
    segment_ = storage::SharedSegment::create(bytes);
    if (machine_identity() == 0 || segment_.data() == nullptr)
      GTEST_SKIP() << "no memory to share on this system";
  }

  storage::SharedSegment segment_;
};

bool is_mapped() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (test::contains(line, "memfd:valet")) return true;
  return false;
}

TEST_F(SharedSegments, ShowTheSameBytesToWhoeverOpensThem) {
  const storage::SharedSegment other = storage::SharedSegment::open(segment_.handle());
  ASSERT_EQ(other.size(), bytes);
  ASSERT_NE(other.data(), segment_.data());
  std::memset(segment_.data(), 0x5a, bytes);
  EXPECT_EQ(std::memcmp(other.data(), segment_.data(), bytes), 0);
  other.data()[bytes - 1] = std::byte{7};
  EXPECT_EQ(segment_.data()[bytes - 1], std::byte{7});
}

TEST_F(SharedSegments, AreNotMistakenForAnythingElse) {
  const storage::SegmentHandle right = segment_.handle();
  storage::SegmentHandle handle = right;
  handle.key ^= 1;
  EXPECT_EQ(storage::SharedSegment::open(handle).data(), nullptr) << "another segment's key";
  handle = right;
  handle.bytes += 1;
  EXPECT_EQ(storage::SharedSegment::open(handle).data(), nullptr) << "another size";
  handle = right;
  handle.descriptor = 1'000'000;
  EXPECT_EQ(storage::SharedSegment::open(handle).data(), nullptr) << "no such descriptor";
  handle.descriptor = 0;
  EXPECT_EQ(storage::SharedSegment::open(handle).data(), nullptr)
      << "a descriptor of something else";
  handle = right;
  handle.process = std::uint64_t{1} << 40;
  EXPECT_EQ(storage::SharedSegment::open(handle).data(), nullptr) << "no such process";
  EXPECT_EQ(storage::SharedSegment::open(storage::SegmentHandle{}).data(), nullptr);
  EXPECT_EQ(storage::SharedSegment().handle().bytes, 0U);
}

TEST_F(SharedSegments, CannotBeOpenedOnceClosed) {
  const storage::SegmentHandle handle = segment_.handle();
  segment_.close();
  EXPECT_EQ(storage::SharedSegment::open(handle).data(), nullptr);
  segment_.data()[0] = std::byte{1};  // the owner keeps it
}

// `ulimit -f`: memory without a name is a file, and a larger one than the limit is a signal.
TEST_F(SharedSegments, AreNotMadeBeyondTheLimitOfFiles) {
  struct rlimit before {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  struct rlimit limited = before;
  limited.rlim_cur = bytes - 1;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limited), 0);
  const storage::SharedSegment refused = storage::SharedSegment::create(bytes);
  limited.rlim_cur = bytes;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limited), 0);
  const storage::SharedSegment made = storage::SharedSegment::create(bytes);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(refused.size(), 0U);
  EXPECT_EQ(made.size(), bytes);
}

TEST_F(SharedSegments, AreGoneWithTheirLastMapping) {
  {
    storage::SharedSegment moved = std::move(segment_);
    segment_ = storage::SharedSegment::open(moved.handle());
    EXPECT_TRUE(is_mapped());
  }
  std::memset(segment_.data(), 1, bytes);  // outlives its owner
  segment_ = storage::SharedSegment();
  EXPECT_FALSE(is_mapped());
}

}  // namespace
}  // namespace valet
