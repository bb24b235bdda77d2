// SPDX-License-Identifier: BSD-3-Clause

// The promise: under MPI_THREAD_MULTIPLE threads migrate at the same time, each on a communicator
// of its own.

#include "delayed_mpi.hpp"
#include "filled_map.hpp"

#include <atomic>
#include <thread>

namespace valet::test {
namespace {

constexpr int thread_count = 4;

/// Maps that all ranks make alike from the seed; some differ from thread to thread by nothing but
/// the communicator, so that a message which went astray would fit.
void migrate_often(MPI_Comm comm, int thread, std::atomic<long long>& wrong) {
  constexpr std::array methods{Method::stream, Method::automatic, Method::direct, Method::cyclic,
                               Method::phased};
  const std::uint64_t migrations = cases_wanted(10);
  for (std::uint64_t k = 0; k < migrations; ++k) {
    std::mt19937_64 random(seed() * 1000 + k +
                           (k % 2 == 0 ? 0 : 100 * static_cast<std::uint64_t>(thread)));
    const GlobalMap map =
        random_map(random, size(), 200, static_cast<Tightness>(pick(random, 0, 2)), false);
    Options options{.method = methods[(k + static_cast<std::uint64_t>(thread)) % methods.size()]};
    options.order = all_orders[pick(random, 0, 2)];
    options.share_memory = pick(random, 0, 1) == 0;
    const Form form = pick(random, 0, 1) == 0 ? Form::to_ranks : Form::to_slots;
    FilledMap filled(map, rank(), Shape::dense);
    if (options.method != Method::direct)
      options.budget_bytes = pick(random, 1, 50) * filled.storage().block_bytes();
    Plan plan = filled.plan(comm, form, options);
    execute(plan, filled.storage());
    wrong += filled.wrong(form, options.order);
  }
}

TEST(Threads, MigrateAtTheSameTimeOnCommunicatorsOfTheirOwn) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Query_thread(&provided);
  if (provided < MPI_THREAD_MULTIPLE) GTEST_SKIP() << "this MPI has no MPI_THREAD_MULTIPLE";
  working_on(seed());
  std::array<MPI_Comm, thread_count> comms{};
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  std::atomic<long long> wrong = 0;
  const std::uint64_t calls = calls_seen();
  std::vector<std::thread> threads;
  for (int t = 0; t < thread_count; ++t)
    threads.emplace_back([&, t] {
      const Outcome outcome = outcome_of([&] { migrate_often(comms[t], t, wrong); });
      if (outcome.code == ErrorCode::success) return;
      ++wrong;
      ADD_FAILURE() << seed_note() << ", thread " << t << ": " << outcome.text;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(calls_seen(), calls + thread_count) << "calls of the library are not delayed";
  EXPECT_EQ(sum_over_ranks(wrong), 0) << seed_note();
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
}

}  // namespace
}  // namespace valet::test
