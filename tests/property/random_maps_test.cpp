// SPDX-License-Identifier: BSD-3-Clause

// The promise as a property: every feasible map finishes, with any budget down to a single block,
// and every block is where the map said, bit for bit, whatever the method and the storage.
//
// VALET_TEST_CASES says how many maps, and with 1 the VALET_TEST_SEED that a failure names runs its
// map again.

#include "delayed_mpi.hpp"
#include "random_case.hpp"

namespace valet::test {
namespace {

/// What a map is tried with beside STREAM. A phase waits for the slowest, so that few are PHASED.
Method other_method(std::mt19937_64& random) {
  while (true) {
    const Method method = all_methods[pick(random, 0, all_methods.size() - 1)];
    const bool seldom = method == Method::phased && pick(random, 0, 1) == 0;
    if (method != Method::stream && !seldom) return method;
  }
}

/// Runs a case; returns the number of slots on this rank that are wrong, and checks the memory.
long long run(const MapCase& c, std::size_t budget_blocks) {
  FilledMap filled(c.map, rank(), c.shape, c.dense_bytes);
  Options options = c.options;
  FakeDevice* const device = filled.blocks().device();
  if (device != nullptr) budget_blocks = std::max<std::size_t>(budget_blocks, 2);
  options.budget_bytes = budget_blocks * filled.storage().block_bytes();
  const Report report = filled.migrate(MPI_COMM_WORLD, c.form, options, !c.masked);
  long long wrong = filled.wrong(c.form, options.order);
  if (report.peak_extra_bytes > report.extra_bytes_bound) {
    ADD_FAILURE() << "peak " << report.peak_extra_bytes << " bytes, promised at most "
                  << report.extra_bytes_bound;
    ++wrong;
  }
  const std::size_t lists = custom_most_slots * sizeof(std::uint64_t);
  if (device != nullptr && device->counts().scratch_peak_bytes > options.budget_bytes + lists) {
    ADD_FAILURE() << "the device gave " << device->counts().scratch_peak_bytes << " bytes";
    ++wrong;
  }
  return wrong;
}

/// Carries out the map of a seed with STREAM and with another method; the slots that are wrong.
long long wrong_slots_of(std::uint64_t map_seed) {
  std::mt19937_64 random(map_seed);
  MapCase c = random_map_case(random);
  if (map_seed % 5 == 4) c.shape = Shape::device;
  c.options.method = Method::stream;
  const long long wrong = sum_over_ranks(run(c, random_budget_blocks(random, rank())));
  EXPECT_EQ(wrong, 0) << "stream";
  c.options.method = other_method(random);
  std::size_t budget_blocks = random_budget_blocks(random, rank());
  if (c.options.method == Method::direct) budget_blocks = 5000;
  if (c.options.method == Method::phased) {
    choose_phases(random, c.options);
    // Lists of all ranks must fit the budget; those of few ranks fit what is granted beside it.
    if (size() > 9) budget_blocks += 1000;
  }
  // The matrix of a centralized scheduler must fit the budget of rank 0.
  if (rank() == 0 && c.options.phased.scheduler == Scheduler::centralized) budget_blocks += 2000;
  const long long wrong_too = sum_over_ranks(run(c, budget_blocks));
  EXPECT_EQ(wrong_too, 0) << describe(c.options);
  return wrong + wrong_too;
}

TEST(RandomMaps, EveryBlockArrivesWhateverTheBudget) {
  const std::uint64_t maps = cases_wanted(2000);
  for (std::uint64_t k = 0; k < maps; ++k) {
    SCOPED_TRACE(seed_note(seed() + k) + ", map " + std::to_string(k));
    working_on(seed() + k);
    long long wrong = 0;
    const Outcome outcome = outcome_of([&] { wrong = wrong_slots_of(seed() + k); });
    ASSERT_EQ(outcome.text, "");
    if (wrong > 0) return;
  }
}

}  // namespace
}  // namespace valet::test
