// SPDX-License-Identifier: BSD-3-Clause

// The main function of MPI tests: GoogleTest on every rank, and a failing rank fails the job
// instead of hanging it.
//
// Order of events: MPI_Init_thread, InitGoogleTest, global test environments, tests, environments
// down, MPI_Finalize. So what needs MPI and must be set up once (Kokkos, say) belongs into a
// ::testing::Environment that the test file registers:
//
//   class KokkosEnvironment : public ::testing::Environment {
//     void SetUp() override { Kokkos::initialize(); }
//     void TearDown() override { Kokkos::finalize(); }
//   };
//   const auto* const kokkos = ::testing::AddGlobalTestEnvironment(new KokkosEnvironment);
//
// A flag of GoogleTest must be the same on all ranks; mpiexec sees to that.
//
// With AddressSanitizer leaks are looked for before MPI_Finalize. Afterwards MPI's plugins are
// unloaded, and what they leaked could be told from our leaks only by unwinding every allocation
// through code without frame pointers, which made some tests 15 times slower.

#include "only_files.hpp"
#include "seed.hpp"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <thread>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

// What a program asks MPI for; those with threads compile this file with another level.
#ifndef VALET_TEST_THREAD_LEVEL
#define VALET_TEST_THREAD_LEVEL MPI_THREAD_FUNNELED
#endif

namespace {

#if defined(__SANITIZE_ADDRESS__)
/// While it lives, what this thread allocates is no leak.
using Unwatched = __lsan::ScopedDisabler;
/// Ends the process where there are some.
void look_for_leaks() { __lsan_do_leak_check(); }
#else
struct Unwatched {
  ~Unwatched() {}
};
void look_for_leaks() {}
#endif

using std::chrono::steady_clock;

constexpr double seconds_after_failure = 5;
constexpr double seconds_after_success = 20;

double barrier_seconds() {
  const char* text = std::getenv("VALET_TEST_BARRIER_SECONDS");
  const double seconds = text == nullptr ? 0 : std::atof(text);
  return seconds > 0 ? seconds : seconds_after_success;
}

std::string full_name(const testing::TestInfo& test) {
  return std::string(test.test_suite_name()) + "." + test.name();
}

// Meets all ranks after each test. A rank that left a test early, by a fatal failure or an
// exception, would wait here for others that wait for it in a collective; after a while it says so
// and ends the job. The barrier is nonblocking because only then can a rank stop waiting, and on a
// communicator of its own because the test's may be in the middle of anything.
class MeetAfterEachTest : public testing::EmptyTestEventListener {
 public:
  explicit MeetAfterEachTest(MPI_Comm comm) : comm_(comm) { MPI_Comm_rank(comm, &rank_); }

  void OnTestEnd(const testing::TestInfo& test) override {
    const bool failed = test.result()->Failed();
    const double patience =
        failed ? std::min(seconds_after_failure, barrier_seconds()) : barrier_seconds();
    if (meet(patience)) return;

    std::fprintf(stderr,
                 "[rank %d] %s %s here, but other ranks did not end it within %g s. Aborting.\n",
                 rank_, full_name(test).c_str(), failed ? "FAILED" : "passed", patience);
    std::fflush(stdout);
    std::fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  }

 private:
  bool meet(double patience_seconds) const {
    // Not by std::chrono::steady_clock, which a test may replace.
    const double deadline = MPI_Wtime() + patience_seconds;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibarrier(comm_, &request);
    for (int done = 0;;) {
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      if (done != 0) return true;
      if (MPI_Wtime() > deadline) return false;
      // Ranks share cores; a spinning one would slow down those it waits for.
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }

  MPI_Comm comm_;
  int rank_ = 0;
};

// What ranks other than 0 print: failures, each in one write so that ranks do not mix lines.
class PrintFailures : public testing::EmptyTestEventListener {
 public:
  explicit PrintFailures(int rank) : prefix_("[rank " + std::to_string(rank) + "] ") {}

  // Kept here, because asking GoogleTest for it inside OnTestPartResult deadlocks.
  void OnTestStart(const testing::TestInfo& test) override { test_ = full_name(test); }
  void OnTestEnd(const testing::TestInfo& /*test*/) override { test_ = no_test; }

  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::ostringstream text;
    text << test_ << ", " << (result.file_name() == nullptr ? "unknown file" : result.file_name())
         << ":" << result.line_number() << ": Failure\n"
         << result.message();

    std::string out;
    std::istringstream lines(text.str());
    for (std::string line; std::getline(lines, line);) out += prefix_ + line + "\n";
    std::fputs(out.c_str(), stderr);
    std::fflush(stderr);
  }

 private:
  static constexpr const char* no_test = "outside of tests";
  std::string prefix_;
  std::string test_ = no_test;
};

void set_up_listeners(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  if (rank == 0) std::printf("%s\n", valet::test::seed_note().c_str());
  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  if (rank != 0) {
    delete listeners.Release(listeners.default_result_printer());
    // Rank 0 writes the result file; the ranks would overwrite each other's.
    delete listeners.Release(listeners.default_xml_generator());
    listeners.Append(new PrintFailures(rank));
  }
  listeners.Append(new MeetAfterEachTest(comm));
}

// Shuffling takes its seed from the clock, but all ranks must run the same test at a time.
void agree_on_shuffle_seed() {
  int seed = static_cast<int>(testing::GTEST_FLAG(random_seed));
  if (seed == 0 && testing::GTEST_FLAG(shuffle))
    seed = static_cast<int>(steady_clock::now().time_since_epoch().count() % 99999) + 1;
  MPI_Bcast(&seed, 1, MPI_INT, 0, MPI_COMM_WORLD);
  testing::GTEST_FLAG(random_seed) = seed;
}

}  // namespace

int main(int argc, char** argv) {
  int provided = MPI_THREAD_SINGLE;
  {
    const Unwatched unwatched;
    MPI_Init_thread(&argc, &argv, VALET_TEST_THREAD_LEVEL, &provided);
  }
  testing::InitGoogleTest(&argc, argv);
  valet::test::only_files(argc, argv);
  agree_on_shuffle_seed();

  // Tests may set the error handler of MPI_COMM_WORLD or abuse it; the harness has its own copy.
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
  set_up_listeners(comm);

  int code = RUN_ALL_TESTS();
  if (testing::UnitTest::GetInstance()->total_test_count() == 0) {
    std::fputs("This program contains no tests.\n", stderr);
    code = EXIT_FAILURE;
  }
  MPI_Allreduce(MPI_IN_PLACE, &code, 1, MPI_INT, MPI_MAX, comm);
  look_for_leaks();
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return code;
}
