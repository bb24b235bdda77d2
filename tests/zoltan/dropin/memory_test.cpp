// SPDX-License-Identifier: BSD-3-Clause

// What a migration takes, seen from outside, by the resident memory of the process, and by Valet's
// own count: the count must be the truth, and within the bound.

#include "dropin_client.hpp"
#include "process_memory.hpp"
#include "test_comm.hpp"
#include <valet/zoltan/valet_zoltan.h>

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace {

using namespace valet::test;

constexpr std::uint64_t object_bytes = 1024;
constexpr std::uint64_t objects = 48 * 1024;
constexpr std::uint64_t data_bytes = objects * object_bytes;
constexpr std::uint64_t budget = 4 << 20;
constexpr std::uint64_t list_bytes = (24 + 4 * 2) * 2 * objects;
// MPI's own buffers, and pages that are partly used.
constexpr std::uint64_t slack = 3 << 20;

/// By how much the process grows at the peak of a migration, on the rank where that is most.
std::uint64_t growth(valet::bench::DropinClient& client, const char* mode) {
  client.fill();
  malloc_trim(0);
  EXPECT_TRUE(restart_resident_peak());
  const long long before = status_bytes("VmRSS");
  EXPECT_EQ(client.migrate(mode, "4M"), ZOLTAN_OK);
  const long long peak = status_bytes("VmHWM");
  EXPECT_TRUE(client.verified());
  return static_cast<std::uint64_t>(max_over_ranks(std::max(0LL, peak - before)));
}

class Memory : public ::testing::TestWithParam<bool> {};

TEST_P(Memory, IsHalfOfStockInHoldAndTheBudgetInSteps) {
  if (!restart_resident_peak()) GTEST_SKIP() << "this system does not reset the peak of a process";
  valet::bench::DropinClient client(objects, object_bytes, GetParam());
  growth(client, "HOLD");  // the first one also grows what stays: MPI's buffers, the free list
  const std::uint64_t stock = growth(client, "ZOLTAN");
  const std::uint64_t hold = growth(client, "HOLD");
  const std::uint64_t hold_counted = client.report().peak_extra_bytes;
  const std::uint64_t steps = growth(client, "STEPS");
  const std::uint64_t steps_counted = client.report().peak_extra_bytes;
  EXPECT_LE(hold, stock * 6 / 10) << stock;
  EXPECT_LE(hold_counted, data_bytes + budget + list_bytes);
  EXPECT_LE(steps_counted, budget + list_bytes);
  // Nothing is taken that is not counted.
  EXPECT_LE(hold, hold_counted + slack);
  EXPECT_LE(steps, steps_counted + slack);
}

INSTANTIATE_TEST_SUITE_P(Forms, Memory, ::testing::Bool(),
                         [](const auto& one) { return one.param ? "multi" : "single"; });

}  // namespace
