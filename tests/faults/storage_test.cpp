// SPDX-License-Identifier: BSD-3-Clause

// The promise: a storage that throws where it must not ends the job with the text of the exception,
// and leaves nobody waiting. Where it may throw: tests/engine/failing_storage_test.cpp.

#include "run_program.hpp"
#include "testing.hpp"

namespace valet::test {
namespace {

constexpr int timed_out = 124;

class StorageThatMustNotThrow : public testing::TestWithParam<const char*> {};

TEST_P(StorageThatMustNotThrow, EndsTheJobWithItsText) {
  int failed = 0;
  for (int call = 1; call < 100'000; call *= 8) {
    SCOPED_TRACE("call " + std::to_string(call));
    const ProgramRun run = run_program(std::string("timeout -k 5 30 " VALET_FAULTS_JOB " ") +
                                       GetParam() + " " + std::to_string(call));
    ASSERT_NE(run.code, timed_out) << "ranks were left waiting\n" << run.text;
    if (run.code == 0) {
      expect_words(run.text, {"no call failed"});
      EXPECT_GE(failed, 1);
      return;
    }
    ++failed;
    expect_words(run.text, {"the device fell off the bus"});
    EXPECT_EQ(run.text.find("caught"), std::string::npos) << run.text;
  }
  FAIL() << "the job made more calls than expected";
}

INSTANTIATE_TEST_SUITE_P(Functions, StorageThatMustNotThrow,
                         testing::Values("slots", "block_bytes", "diagnostic", "begin_stage",
                                         "end_stage", "may_throw", "gather", "contiguous_data",
                                         "reachable_by_mpi", "pieces_per_block"),
                         ParameterName());

}  // namespace
}  // namespace valet::test
