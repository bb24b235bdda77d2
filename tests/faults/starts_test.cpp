// SPDX-License-Identifier: BSD-3-Clause

// The promise: nobody is left waiting, from MPI_Init to the end of MPI_Finalize. Whole jobs are
// started again and again, each time with other data and other delays in calls of MPI
// (support/delayed_mpi.hpp). VALET_TEST_CASES says how often.

#include "run_program.hpp"
#include "test_comm.hpp"

#include <ostream>

namespace valet::test {
namespace {

struct Shape {
  const char* name;
  const char* program;
  const char* filter = "*";
  int least_ranks, most_ranks;

  friend std::ostream& operator<<(std::ostream& out, const Shape& shape) {
    return out << shape.name;
  }
};

constexpr std::array shapes{
    Shape{"Threads", VALET_STARTS_THREADS, "*", 2, 3},
    Shape{"RandomMaps", VALET_STARTS_MAPS, "*", 2, 5},
    Shape{"RandomRagged", VALET_STARTS_RAGGED, "*", 2, 5},
#ifdef VALET_STARTS_DROPIN
    Shape{"CyclicSteps", VALET_STARTS_DROPIN, "*EndsAsStockDoesInCyclesAndShifts/STEPS", 2, 5},
#endif
};

/// Seconds until a rank says where it waits. Some hundred times what a start takes alone.
constexpr int patience = 100;

std::string command(const Shape& shape, std::uint64_t start) {
  const auto ranks =
      shape.least_ranks + static_cast<int>(start) % (shape.most_ranks - shape.least_ranks + 1);
  return "VALET_TEST_CASES=4 VALET_TEST_SEED=" + std::to_string(seed() + 10 * start) +
         " VALET_TEST_DELAYS=" + std::to_string(seed() + start) +
         " VALET_TEST_STALL_SECONDS=" + std::to_string(patience) + " timeout -k 5 " +
         std::to_string(2 * patience) + " " VALET_STARTS_MPIEXEC " " + std::to_string(ranks) +
         " " VALET_STARTS_FLAGS " " + shape.program + " '--gtest_filter=" + shape.filter + "'";
}

class Starts : public ::testing::TestWithParam<Shape> {};

TEST_P(Starts, ComeToAnEndWhateverIsDelayed) {
  const std::uint64_t starts = cases_wanted(6);
  std::cout << starts << " starts, " << seed_note() << "\n";
  for (std::uint64_t start = 0; start < starts; ++start) {
    const std::string job = command(GetParam(), start);
    const ProgramRun run = run_program(job);
    ASSERT_EQ(run.code, 0) << "start " << start << ": " << job << "\n" << run.text;
    ASSERT_EQ(run.text.find("FAILED"), std::string::npos) << job << "\n" << run.text;
    ASSERT_EQ(run.text.find("0 tests from 0"), std::string::npos) << job << " ran no test";
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Starts, ::testing::ValuesIn(shapes), ParameterName());

}  // namespace
}  // namespace valet::test
