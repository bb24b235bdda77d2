// SPDX-License-Identifier: BSD-3-Clause

// Objects of one size take as many phases as blocks in as many free slots do, as the scheduler of
// blocks counts on paper: engine_phased compares migrate() with that. Two heuristics think in
// bytes: min_max gives what is left of a level that ends inside of an object to other sources than
// those of the first blocks, and continuous has no phases before and after its equal pieces, which
// would need to know the memory of later steps. Steps of CYCLIC likewise.

#include "object_cells.hpp"
#include "random_options.hpp"
#include "tools/schedules.hpp"

#include <optional>
#include <string_view>

namespace valet::test {
namespace {

using schedule::TransferMatrix;

constexpr std::uint64_t packed_bytes = 4096;
constexpr std::uint64_t list_bytes = 16;  ///< that an object costs besides

/// What moves, as objects and as a matrix.
struct Flows {
  std::vector<CellMove> moves;
  TransferMatrix matrix;
};

template <class Count>
Flows flows_of(Count&& count) {
  Flows flows;
  std::vector<schedule::TransferEntry> entries;
  for (int from = 0; from < size(); ++from)
    for (int to = 0; to < size(); ++to) {
      const std::uint64_t objects = from == to ? 0 : count(from, to);
      for (std::uint64_t k = 0; k < objects; ++k) {
        entries.push_back({static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to), 1});
        flows.moves.push_back({flows.moves.size(), packed_bytes - 8, from, to});
      }
    }
  flows.matrix = TransferMatrix(static_cast<std::uint32_t>(size()), std::move(entries));
  return flows;
}

Flows random_flows(std::mt19937_64& random) {
  const std::uint64_t most = pick(random, 1, 12), density = pick(random, 3, 10);
  return flows_of(
      [&](int, int) { return pick(random, 1, 10) > density ? 0 : pick(random, 1, most); });
}

/// A budget of which scratch for `objects` is left, and some for the bookkeeping of what waits.
std::size_t budget_for(std::uint64_t objects, std::uint64_t peers) {
  return 10240 + 448 * peers + 2 * (objects * (packed_bytes + list_bytes) + packed_bytes / 2);
}

struct Migrated {
  Report report;
  std::string error;
};

/// @param free  Objects that the application of this rank has memory for besides those that it has;
///              none: it is not asked.
Migrated migrated(const Flows& flows, Options options, std::optional<std::uint64_t> free) {
  ObjectCells cells(flows.moves);
  cells.in_order = options.phased.parking == 0;
  if (free) {
    cells.on_call = [&](const char* function) {
      const std::string_view called = function;
      if (called == "left") ++*free;
      if (called == "unpack") --*free;
    };
    options.phased.available_bytes = [&] { return *free * (packed_bytes + list_bytes); };
  }
  Migrated found;
  found.error = outcome_of([&] {
                  found.report = migrate_objects(MPI_COMM_WORLD, cells.count(), cells.ranks,
                                                 cells.functions(), options);
                }).text;
  EXPECT_TRUE(all_ranks(!found.error.empty() || cells.wrong() == 0));
  return found;
}

/// Calls check(options) for every way of the phased method.
template <class Check>
void for_all_ways(std::uint64_t number, const std::vector<int>& parkings, Check&& check) {
  for (const Heuristic heuristic : all_heuristics())
    for (const Scheduler scheduler : {Scheduler::distributed, Scheduler::centralized})
      for (const int parking : parkings) {
        const Options options{.method = Method::phased,
                              .phased = {.heuristic = heuristic,
                                         .scheduler = scheduler,
                                         .parking = parking,
                                         .seed = number}};
        SCOPED_TRACE(seed_note(seed() + number) + ", " + describe(options));
        check(options, heuristic == Heuristic::min_max || heuristic == Heuristic::continuous);
      }
}

TEST(ObjectPhases, AreThoseOfBlocksInMemoryOfTheApplication) {
  const auto me = static_cast<std::size_t>(rank());
  std::uint64_t min_max = 0, min_max_of_blocks = 0;
  for (std::uint64_t k = 0; k < cases_wanted(25) && all_ranks(!HasFailure()); ++k) {
    std::mt19937_64 random(seed() + k);
    const Flows flows = random_flows(random);
    std::vector<std::uint64_t> free = schedule::least_free(flows.matrix, 0);
    for (std::uint64_t extra = pick(random, 0, 20); extra > 0; --extra)
      ++free[pick(random, 0, free.size() - 1)];
    for_all_ways(k, {0}, [&](const Options& options, bool in_bytes) {
      if (options.phased.heuristic == Heuristic::continuous) return;  // memory is not asked for
      const auto blocks = schedule::count_phases(flows.matrix, free, options.phased);
      const Migrated objects = migrated(flows, options, free[me]);
      const std::uint64_t phases = std::max<std::uint64_t>(blocks.phases, 1);  // also of nothing
      if (in_bytes) {
        if (!blocks.complete || !objects.error.empty()) return;
        min_max += objects.report.phases;
        min_max_of_blocks += phases;
        return;
      }
      EXPECT_EQ(objects.error.empty(), blocks.complete) << objects.error;
      if (blocks.complete) {
        EXPECT_EQ(objects.report.phases, phases);
      }
    });
  }
  EXPECT_LE(min_max, min_max_of_blocks + min_max_of_blocks / 10);
}

TEST(ObjectPhases, AreThoseOfBlocksInScratch) {
  const auto me = static_cast<std::uint32_t>(rank());
  for (std::uint64_t k = 0; k < cases_wanted(15) && all_ranks(!HasFailure()); ++k) {
    std::mt19937_64 random(seed() + k);
    const Flows flows = random_flows(random);
    std::vector<std::uint64_t> room(static_cast<std::size_t>(size()));
    for (std::uint64_t& objects : room) objects = pick(random, 1, 15);
    std::uint64_t peers = 0;
    for (const schedule::TransferEntry& each : flows.matrix.transfers())
      peers += each.source == me || each.destination == me ? 1 : 0;
    for_all_ways(k, {0}, [&](Options options, bool) {
      Ledger ledger;
      schedule::PhaseScheduler scheduler(ledger, flows.matrix.transfers(),
                                         schedule::starts_with(room), options.phased);
      std::uint64_t phases = 1;
      for (; scheduler.next() && !scheduler.done(); ++phases)
        for (std::size_t r = 0; r < room.size(); ++r) scheduler.starts()[r].free = room[r];
      options.budget_bytes = budget_for(room[me], peers);
      const Migrated objects = migrated(flows, options, {});
      EXPECT_EQ(objects.error, "");
      if (options.phased.heuristic == Heuristic::continuous)
        EXPECT_LE(objects.report.phases, phases);
      else
        EXPECT_EQ(objects.report.phases, phases);
    });
  }
}

/// Ranks 0 and 1 are full and swap; what waits on its way waits on rank 2, in scratch.
TEST(ObjectPhases, AreThoseOfBlocksWhereTheseWaitOnAThird) {
  if (size() < 3) GTEST_SKIP() << "there is no third rank";
  const auto me = static_cast<std::size_t>(rank());
  const auto ranks = static_cast<std::uint64_t>(size());
  for (std::uint64_t k = 0; k < cases_wanted(12) && all_ranks(!HasFailure()); ++k) {
    std::mt19937_64 random(seed() + k);
    const std::uint64_t count = pick(random, 1, 12);
    const Flows flows = flows_of([&](int from, int to) { return from + to == 1 ? count : 0; });
    std::vector<std::uint64_t> free(ranks, 0);
    free[2] = pick(random, 1, 20);
    for_all_ways(k, {1, 2, 3}, [&](Options options, bool in_bytes) {
      // A root knows of as many sources as a rank begins with; those behind them come last.
      const bool in_order = options.phased.heuristic == Heuristic::first_fit ||
                            options.phased.scheduler == Scheduler::distributed;
      if (in_bytes || !in_order) return;
      const auto blocks = schedule::count_phases(flows.matrix, free, options.phased);
      if (me >= 2) options.budget_bytes = budget_for(free[me], 2 * ranks);
      const Migrated objects = migrated(flows, options, free[me]);
      EXPECT_EQ(objects.error, "");
      EXPECT_EQ(objects.report.phases, blocks.phases);
      EXPECT_EQ(sum_over_ranks(static_cast<long long>(objects.report.detours)),
                static_cast<long long>(blocks.detours));
    });
  }
}

/// Whether no rank is in more cycles and shifts than it has sources: there is room for all of them.
bool has_room_for(const schedule::CyclicSchedule& actions, const TransferMatrix& matrix) {
  std::vector<std::uint64_t> room(actions.size());
  for (const schedule::TransferEntry& each : matrix.transfers()) ++room[each.destination];
  for (std::size_t r = 0; r < room.size(); ++r)
    for (const schedule::Action& action : actions[r])
      if (action.source != schedule::no_rank && room[r]-- == 0) return false;
  return true;
}

TEST(ObjectPhases, AndMessagesAreThoseOfTheCyclesAndShiftsOfBlocks) {
  const std::vector<std::uint64_t> free(static_cast<std::size_t>(size()), schedule::most_blocks);
  int compared = 0;
  for (std::uint64_t k = 0; k < cases_wanted(100) && all_ranks(!HasFailure()); ++k) {
    std::mt19937_64 random(seed() + k);
    const Flows flows = random_flows(random);
    for (const EdgeOrder order : {EdgeOrder::ascending, EdgeOrder::rotated}) {
      const auto actions = schedule::record_cyclic(flows.matrix, free, order);
      if (!has_room_for(actions, flows.matrix)) continue;
      ++compared;
      SCOPED_TRACE(seed_note(seed() + k));
      const auto blocks = schedule::count_actions(actions);
      const Migrated objects =
          migrated(flows, {.method = Method::cyclic, .cyclic = {.edge_order = order}}, {});
      EXPECT_EQ(objects.error, "");
      EXPECT_EQ(objects.report.phases, std::max<std::uint64_t>(blocks.critical_path, 1));
      EXPECT_EQ(sum_over_ranks(static_cast<long long>(objects.report.messages)),
                static_cast<long long>(blocks.messages));
    }
  }
  EXPECT_GT(compared, 0);
}

}  // namespace
}  // namespace valet::test
