// SPDX-License-Identifier: BSD-3-Clause

// The promise: a failed call of MPI on one rank is told to the error handler of the application's
// communicator, and then thrown there. By default that handler ends the job, so nobody is left
// waiting.

#include "run_program.hpp"
#include "testing.hpp"

namespace valet::test {
namespace {

constexpr int timed_out = 124;

ProgramRun job(const char* handler, int call) {
  return run_program(std::string("timeout -k 5 60 " VALET_FAULTS_JOB " ") + handler + " " +
                     std::to_string(call));
}

/// Calls check(run) for jobs in which a call fails, the first ones and then fewer, to the end.
template <class Check>
void for_failing_calls(const char* handler, Check&& check) {
  int failed = 0;
  for (int call = 1; call < 2000; call += 1 + call / 6) {
    SCOPED_TRACE("call " + std::to_string(call));
    const ProgramRun run = job(handler, call);
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

TEST(MpiFaults, EndTheJobByDefault) {
  // MPI's own words about it are not waited for: mpirun loses them now and then.
  for_failing_calls("default", [](const ProgramRun& run) {
    EXPECT_EQ(run.text.find("valet: MPI_"), std::string::npos) << "thrown\n" << run.text;
  });
}

TEST(MpiFaults, AreToldToTheApplicationAndThrown) {
  for_failing_calls("returns", [](const ProgramRun& run) {
    expect_words(run.text, {"rank 1 was told 1 times, then valet: MPI_", "[mpi_failure]"});
  });
}

}  // namespace
}  // namespace valet::test
