// SPDX-License-Identifier: BSD-3-Clause

// The promise: a failed call of MPI on one rank is told to the error handler of the application's
// communicator, and then thrown there, or printed and returned as a code of Zoltan's. By default
// that handler ends the job, so nobody is left waiting. With VALET_TEST_ALL_FAULTS every call fails
// once.

#include "run_program.hpp"
#include "testing.hpp"

namespace valet::test {
namespace {

constexpr int timed_out = 124;

/// What moves: blocks, objects behind functions, or what is attached to Zoltan in cells or by
/// lists.
class MpiFaults : public testing::TestWithParam<const char*> {};

/// Calls check(run) for jobs in which a call fails, the first ones and then fewer, to the end.
template <class Check>
void for_failing_calls(const std::string& handler, const char* moved, Check&& check) {
  const bool all = std::getenv("VALET_TEST_ALL_FAULTS") != nullptr;
  const int density = *moved == '\0' ? 6 : 3;
  int failed = 0;
  for (int call = 1; call < 2000; call += all ? 1 : 1 + call / density) {
    SCOPED_TRACE("call " + std::to_string(call));
    const ProgramRun run = run_program("timeout -k 5 60 " VALET_FAULTS_JOB " " + handler + " " +
                                       std::to_string(call) + " " + moved);
    if (run.code == 0) {
      expect_words(run.text, {"no call failed"});
      EXPECT_GT(failed, 10) << "calls that failed";
      return;
    }
    ++failed;
    ASSERT_NE(run.code, timed_out) << "ranks were left waiting\n" << run.text;
    check(run);
  }
  FAIL() << "the job made more calls than expected";
}

TEST_P(MpiFaults, EndTheJobByDefault) {
  // MPI's own words about it are not waited for: mpirun loses them now and then.
  for_failing_calls("default", GetParam(), [](const ProgramRun& run) {
    EXPECT_EQ(run.text.find("valet: MPI_"), std::string::npos) << "thrown\n" << run.text;
  });
}

TEST_P(MpiFaults, AreToldToTheApplicationAndThrown) {
  for_failing_calls("returns", GetParam(), [](const ProgramRun& run) {
    expect_words(run.text,
                 {"rank 1 was told 1 times, then valet: ", "valet: MPI_", "[mpi_failure]"});
  });
}

INSTANTIATE_TEST_SUITE_P(Blocks, MpiFaults, testing::Values(""));
INSTANTIATE_TEST_SUITE_P(Objects, MpiFaults, testing::Values("objects"));
#ifdef VALET_FAULTS_ZOLTAN
INSTANTIATE_TEST_SUITE_P(Cells, MpiFaults, testing::Values("cells"));
INSTANTIATE_TEST_SUITE_P(Lists, MpiFaults, testing::Values("lists"));
#endif

}  // namespace
}  // namespace valet::test
