// SPDX-License-Identifier: BSD-3-Clause

// CYCLIC against the definition of the problem and against STREAM, its memory on every rank, the
// root's too, and the critical path of what was really sent.

#include "schedule/cyclic.hpp"

#include "counted_new.hpp"
#include "cyclic_run.hpp"
#include "filled_map.hpp"
#include "gathered.hpp"
#include "mpi/tags.hpp"
#include "random_options.hpp"

namespace valet::test {
namespace {

/// What this rank posted since the last `traffic = {}`.
struct Traffic {
  bool listing = false;
  std::vector<int> sources;  ///< where its data messages came from, in order, while listing
  std::vector<int> destinations;
  long long actions = 0;  ///< that the root sent to this rank
};
Traffic traffic;

/// What the root knows to be on its way to a rank or waiting there.
struct Window {
  std::map<int, long long> actions;  ///< by rank
  long long most = 0;
  const schedule::CyclicNote* note = nullptr;  ///< where the next note arrives
  const MPI_Request* request = nullptr;
};
Window window_of_root;

constexpr std::array edge_orders{EdgeOrder::ascending, EdgeOrder::rotated};

/// What the ledger does not count, as in memory_test.cpp: objects of a size that does not depend on
/// the problem, and the report's strings.
constexpr std::ptrdiff_t uncounted_bytes = 8 << 10;

Options cyclic(EdgeOrder edge_order, std::size_t budget_bytes) {
  return {
      .budget_bytes = budget_bytes, .method = Method::cyclic, .cyclic = {.edge_order = edge_order}};
}

/// Slots of this rank that are wrong, and whether the promise about memory was kept.
long long run(FilledMap& filled, Form form, const Options& options) {
  restart_peak();
  const std::ptrdiff_t before = new_counters().live_bytes;
  Report report;
  {
    Plan plan = filled.plan(MPI_COMM_WORLD, form, options);
    report = execute(plan, filled.storage());
  }
  const auto ledger = static_cast<std::ptrdiff_t>(report.peak_extra_bytes);
  const std::ptrdiff_t process = new_counters().peak_bytes - before;
  EXPECT_LE(report.peak_extra_bytes, report.extra_bytes_bound) << "more than was promised";
  EXPECT_LE(process - ledger, uncounted_bytes) << "the ledger missed something";
  return filled.wrong(form, options.order);
}

Options random_options(std::mt19937_64& random) {
  // In every fourth case each rank has an order of its edges of its own.
  const std::uint64_t orders =
      pick(random, 0, 3) == 0 ? static_cast<std::uint64_t>(rank()) : std::uint64_t{0};
  const EdgeOrder order = edge_orders[(pick(random, 0, 1) + orders) % 2];
  Options options = cyclic(order, random_budget_blocks(random, rank()));
  options.order = all_orders[pick(random, 0, 2)];
  options.verify = pick(random, 0, 3) == 0;
  options.stream.window = static_cast<int>(pick(random, 1, 8));
  options.message_bytes = pick(random, 0, 1) == 0 ? 0 : pick(random, 1, 2000);
  return options;
}

TEST(CyclicExchange, RandomMapsEndAsWithStream) {
  const std::uint64_t maps = cases_wanted(250);
  // The channel of the communicator belongs to it, not to the first plan.
  FilledMap first(ring_map(size(), 1, 1, 0), rank(), Shape::dense);
  static_cast<void>(first.plan(MPI_COMM_WORLD, Form::to_ranks, {}));
  long long most_actions = 0;
  for (std::uint64_t k = 0; k < maps; ++k) {
    SCOPED_TRACE(seed_note(seed() + k));
    std::mt19937_64 random(seed() + k);
    const auto tightness = static_cast<Tightness>(pick(random, 0, 2));
    const std::uint64_t slots = std::array<std::uint64_t, 3>{3, 20, 150}[pick(random, 0, 2)];
    const GlobalMap map = random_map(random, size(), slots, tightness, false);
    const Form form = pick(random, 0, 2) == 0 ? Form::to_slots : Form::to_ranks;
    const Shape shape = all_shapes[pick(random, 0, last_shape)];
    FilledMap filled(map, rank(), shape);
    Options options = random_options(random);
    options.budget_bytes *= filled.storage().block_bytes();
    traffic = {};
    window_of_root.actions.clear();
    const long long wrong = run(filled, form, options);
    most_actions = std::max(most_actions, traffic.actions);
    ASSERT_TRUE(all_ranks(wrong == 0 && !::testing::Test::HasFailure()));
    FilledMap streamed(map, rank(), shape);
    options.method = Method::stream;
    Plan plan = streamed.plan(MPI_COMM_WORLD, form, options);
    execute(plan, streamed.storage());
    ASSERT_EQ(sum_over_ranks(streamed.wrong(form, options.order)), 0) << "stream";
  }
  // More than a rank has room for would wait in buffers of MPI that nobody counts.
  EXPECT_LE(max_over_ranks(window_of_root.most), static_cast<long long>(schedule::action_window));
  if (size() >= 5) {
    EXPECT_GT(max_over_ranks(most_actions), 8) << "no rank's window of actions was ever full";
  }
}

/// Every rank sends `per_pair` blocks to each other rank and has no free slot.
GlobalMap even_transpose(std::uint64_t per_pair) {
  const auto ranks = static_cast<std::uint64_t>(size());
  return ring_map(size(), ranks * per_pair, ranks * per_pair, 0);
}

TEST(CyclicExchange, FinishesWithOneBlockOfScratchAndNoFreeSlot) {
  // Blocks that MPI sends eagerly, and blocks for which a sender has to wait for its receiver.
  for (const std::size_t block_bytes : std::array<std::size_t, 2>{8, 200'000})
    for (const EdgeOrder edge_order : edge_orders)
      for (const bool ring : {true, false}) {
        GlobalMap map = even_transpose(3);
        if (ring)
          for (auto& row : map.destination)
            for (std::uint64_t slot = 0; slot < row.size(); ++slot)
              row[slot] = Address{(static_cast<int>(&row - map.destination.data()) + 1) % size(),
                                  row.size() - 1 - slot};
        FilledMap filled(map, rank(), Shape::dense, block_bytes);
        const Options options = cyclic(edge_order, block_bytes);
        ASSERT_EQ(sum_over_ranks(run(filled, Form::to_slots, options)), 0)
            << (ring ? "ring" : "transpose") << " of " << block_bytes << " bytes";
      }
}

TEST(CyclicExchange, AllToOneAndBackAreShifts) {
  const auto ranks = static_cast<std::size_t>(size());
  for (const bool back : {false, true}) {
    GlobalMap map;
    for (std::size_t r = 0; r < ranks; ++r) {
      const bool all = r + 1 == ranks;
      map.slots.push_back(all ? 40 * ranks : 40);
      auto& row = map.destination.emplace_back(map.slots.back());
      if (back && all)
        for (std::uint64_t k = 0; k < row.size(); ++k)
          row[k] = Address{static_cast<int>(k % ranks), k / ranks};
      if (!back)
        for (std::uint64_t k = 0; k < 40; ++k)
          row[k] = Address{static_cast<int>(ranks) - 1, k * ranks + r};
    }
    for (const std::size_t budget : std::array<std::size_t, 3>{40, 400, 1 << 20}) {
      FilledMap filled(map, rank(), Shape::structure);
      const std::size_t bytes = std::max(budget, filled.storage().block_bytes());
      ASSERT_EQ(sum_over_ranks(run(filled, Form::to_slots, cyclic(EdgeOrder::rotated, bytes))), 0)
          << (back ? "back, " : "") << budget << " bytes";
    }
  }
}

TEST(CyclicExchange, RanksThatSendOrReceiveLittleUseWholeMessages) {
  constexpr std::uint64_t blocks = 4000;
  const int last = size() - 1;
  GlobalMap map;
  for (int r = 0; r < size(); ++r) {
    map.slots.push_back(blocks * static_cast<std::uint64_t>(r == last ? size() : 1));
    auto& row = map.destination.emplace_back(map.slots.back());
    for (std::uint64_t k = 0; r != last && k < blocks; ++k)
      row[k] = Address{last, k + blocks * static_cast<std::uint64_t>(r)};
  }
  for (const auto& [share_memory, has_way_back] :
       {std::pair(false, false), {true, false}, {false, true}, {true, true}}) {
    // One block: a cycle with rank 0, which then goes on alone.
    if (has_way_back && last > 0) map.destination.back().back() = Address{0, 0};
    FilledMap filled(map, rank(), Shape::dense);
    Options options = cyclic(EdgeOrder::rotated, 1 << 20);
    options.share_memory = share_memory;
    options.message_bytes = blocks / 10 * filled.storage().block_bytes();
    Plan plan = filled.plan(MPI_COMM_WORLD, Form::to_slots, options);
    const Report report = execute(plan, filled.storage());
    EXPECT_EQ(sum_over_ranks(filled.wrong(Form::to_slots, options.order)), 0);
    const std::uint64_t one = has_way_back && last > 0 ? 1 : 0;
    const std::uint64_t messages = rank() == last ? one : 10 + (rank() == 0 ? one : 0);
    EXPECT_TRUE(all_ranks(report.messages == messages)) << report.messages;
  }
}

TEST(CyclicExchange, APlanIsCarriedOutAgainWithoutAllocating) {
  std::mt19937_64 random(seed());
  const GlobalMap map = random_map(random, size(), 200, Tightness::full, false);
  FilledMap filled(map, rank(), Shape::dense);
  const BlockStorage storage = filled.storage();
  Plan plan = filled.plan(MPI_COMM_WORLD, Form::to_ranks, cyclic(EdgeOrder::rotated, 2000));
  const Report first = execute(plan, storage);
  const std::ptrdiff_t before = new_counters().live_bytes;
  for (int repetition = 0; repetition < 50; ++repetition) {
    filled.fill();
    const Report report = execute(plan, storage);
    ASSERT_EQ(sum_over_ranks(filled.wrong(Form::to_ranks, Order::any)), 0) << repetition;
    ASSERT_TRUE(all_ranks(report.messages == first.messages && report.steps == first.steps));
  }
  EXPECT_EQ(max_over_ranks(new_counters().live_bytes - before), 0);
}

TEST(CyclicExchange, CriticalPathOfTheEvenTransposeAsItWasSent) {
  if (size() < 2) return;
  const auto ranks = static_cast<std::uint64_t>(size());
  const GlobalMap map = even_transpose(4);
  schedule::TransferMatrix matrix(static_cast<std::uint32_t>(ranks), [&] {
    std::vector<schedule::TransferEntry> entries;
    for (std::uint32_t from = 0; from < ranks; ++from)
      for (std::uint32_t to = 0; to < ranks; ++to)
        if (from != to) entries.push_back({from, to, 4});
    return entries;
  }());
  for (const EdgeOrder edge_order : edge_orders) {
    FilledMap filled(map, rank(), Shape::dense);
    Plan plan = filled.plan(MPI_COMM_WORLD, Form::to_slots, cyclic(edge_order, 1 << 20));
    traffic = {};
    traffic.listing = true;
    const Report report = execute(plan, filled.storage());
    const Traffic sent = std::exchange(traffic, {});
    ASSERT_EQ(sum_over_ranks(filled.wrong(Form::to_slots, Order::any)), 0);
    // Each action is one message either way, so what was sent and received tells the schedule.
    ASSERT_TRUE(
        all_ranks(sent.sources.size() + 1 == ranks && sent.destinations.size() + 1 == ranks));
    const auto sources = gathered(sent.sources), destinations = gathered(sent.destinations);
    schedule::CyclicSchedule executed(ranks);
    for (std::size_t r = 0; r < ranks; ++r)
      for (std::size_t k = 0; k + 1 < ranks; ++k)
        executed[r].push_back({static_cast<std::uint32_t>(sources[r][k]),
                               static_cast<std::uint32_t>(destinations[r][k]), 4, 4, 0});
    const std::vector<std::uint64_t> free(ranks, 4);  // scratch
    const test::CyclicRun replayed = test::run_cyclic(matrix, free, executed);
    ASSERT_EQ(replayed.violation, "");
    const std::uint64_t expected = edge_order == EdgeOrder::ascending ? 2 * ranks - 3 : ranks - 1;
    EXPECT_EQ(replayed.critical_path, expected) << to_string(edge_order);
    EXPECT_EQ(static_cast<std::uint64_t>(max_over_ranks(static_cast<long long>(report.steps))),
              expected)
        << to_string(edge_order);
  }
}

TEST(CyclicExchange, RefusesABudgetBelowOneBlockAndWhatDoesNotFit) {
  const GlobalMap map = ring_map(size(), 4, 4, 1);
  FilledMap filled(map, rank(), Shape::dense, 64);
  Outcome outcome = outcome_of([&] {
    static_cast<void>(filled.plan(MPI_COMM_WORLD, Form::to_ranks, cyclic(EdgeOrder::rotated, 63)));
  });
  expect_error(outcome, ErrorCode::budget_too_small,
               {"the budget of 63 bytes is below the 64 bytes"});

  const int last = size() - 1;
  const std::vector<int> to_last(4, last);
  Plan plan =
      plan_to_ranks(MPI_COMM_WORLD, filled.storage(), 4, to_last, cyclic(EdgeOrder::ascending, 64));
  outcome = outcome_of([&] { execute(plan, filled.storage()); });
  if (size() == 1) return;
  expect_error(outcome, ErrorCode::infeasible, {"required_slots = " + std::to_string(4 * size())});
  long long moved = 0;
  for (std::uint64_t slot = 0; slot < 4; ++slot)
    moved += filled.blocks().holds(slot, {rank(), slot}) ? 0 : 1;
  EXPECT_EQ(sum_over_ranks(moved), 0) << "a refused call moved something";
}

}  // namespace
}  // namespace valet::test

// The library's calls come by here. Visible, because the header of MPICH does not say so.
extern "C" __attribute__((visibility("default"))) int MPI_Isend(const void* buffer, int count,
                                                                MPI_Datatype type, int destination,
                                                                int tag, MPI_Comm communicator,
                                                                MPI_Request* request) {
  using valet::test::traffic;
  if (traffic.listing && tag == valet::mpi::tag_data) traffic.destinations.push_back(destination);
  if (tag == valet::mpi::tag_action) {
    auto& window = valet::test::window_of_root;
    window.most = std::max(window.most, ++window.actions[destination]);
  }
  return PMPI_Isend(buffer, count, type, destination, tag, communicator, request);
}

extern "C" __attribute__((visibility("default"))) int MPI_Irecv(void* buffer, int count,
                                                                MPI_Datatype type, int source,
                                                                int tag, MPI_Comm communicator,
                                                                MPI_Request* request) {
  using valet::test::traffic;
  if (traffic.listing && tag == valet::mpi::tag_data) traffic.sources.push_back(source);
  if (tag == valet::mpi::tag_action) ++traffic.actions;
  if (tag == valet::mpi::tag_note) {
    valet::test::window_of_root.note = static_cast<const valet::schedule::CyclicNote*>(buffer);
    valet::test::window_of_root.request = request;
  }
  return PMPI_Irecv(buffer, count, type, source, tag, communicator, request);
}

/// A note came in the request at `index`, which the root waited for.
static void note_completion(const MPI_Request* requests, int index, const MPI_Status& status) {
  auto& window = valet::test::window_of_root;
  if (index != MPI_UNDEFINED && requests + index == window.request &&
      window.note->kind == valet::schedule::CyclicNote::Kind::done)
    window.actions[status.MPI_SOURCE] -= static_cast<long long>(valet::schedule::actions_per_note);
}

extern "C" __attribute__((visibility("default"))) int MPI_Waitany(int count, MPI_Request* requests,
                                                                  int* index, MPI_Status* status) {
  const int code = PMPI_Waitany(count, requests, index, status);
  if (code == MPI_SUCCESS) note_completion(requests, *index, *status);
  return code;
}

extern "C" __attribute__((visibility("default"))) int MPI_Testany(int count, MPI_Request* requests,
                                                                  int* index, int* flag,
                                                                  MPI_Status* status) {
  const int code = PMPI_Testany(count, requests, index, flag, status);
  if (code == MPI_SUCCESS && *flag != 0) note_completion(requests, *index, *status);
  return code;
}
