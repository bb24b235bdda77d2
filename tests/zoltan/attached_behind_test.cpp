// SPDX-License-Identifier: BSD-3-Clause

// Storage attached in a program in which Zoltan stands before Valet: a warning says so once and
// names what does the same, which works.

#include "attached_line.hpp"

namespace valet::test {
namespace {

TEST(AttachedBehind, SaysOnceWhatToCall) {
  AttachedLine line;
  const auto attach = [&line] {
    testing::internal::CaptureStderr();
    line.attach();
    return testing::internal::GetCapturedStderr();
  };
  const std::string first = attach();
  EXPECT_EQ(std::ranges::count(first, '\n'), rank() == 0 ? 1 : 0) << first;
  if (rank() == 0)
    expect_words(first, {"WARNING", "not in front of Zoltan", "preload", "Valet_LB_Partition()",
                         "Attached::partition()", "Valet_Migrate()", "Valet_Set_Param()"});
  line.attached->detach();
  EXPECT_EQ(attach(), "");

  const auto set = [&line](const char* name, const char* value) {
    EXPECT_EQ(Valet_Set_Param(line.zoltan, name, value), ZOLTAN_OK);
  };
  set("AUTO_MIGRATE", "1");
  set("RETURN_LISTS", "NONE");
  set("MIGRATE_METHOD", "PHASED");
  EXPECT_FALSE(all_ranks(line.lb_partition() == ZOLTAN_OK)) << "Zoltan's own has nobody to ask";
  EXPECT_TRUE(line.is_untouched());
  int changes = 0, gids = 0, lids = 0;
  std::array<ZoltanLists::Arrays, 2> lists;
  EXPECT_EQ(Valet_LB_Partition(line.zoltan, &changes, &gids, &lids, &lists[0].count, &lists[0].gids,
                               &lists[0].lids, &lists[0].procs, &lists[0].parts, &lists[1].count,
                               &lists[1].gids, &lists[1].lids, &lists[1].procs, &lists[1].parts),
            ZOLTAN_OK);
  EXPECT_EQ(changes != 0, size() > 1);
  EXPECT_TRUE(line.is_whole());
  EXPECT_EQ(line.is_untouched(), size() == 1);
  EXPECT_EQ(line.attached->result().report.method, size() > 1 ? "phased" : "");
}

}  // namespace
}  // namespace valet::test
