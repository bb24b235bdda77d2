// SPDX-License-Identifier: BSD-3-Clause

// Code of the application that throws in the middle of an execution: storages that fail and
// callbacks that throw, on one rank or more. Every rank gets the same error, none waits, and the
// plan is as good as before.

#include "failing_backend.hpp"
#include "filled_map.hpp"
#include "temporary_file.hpp"

namespace valet::test {
namespace {

/// A map, its blocks, and a storage of them that can fail.
struct Case {
  Case(const GlobalMap& map, Form chosen, const Options& chosen_options, Shape shape, Reach reach)
      : form(chosen),
        options(chosen_options),
        filled(map, rank(), shape),
        backend(std::make_shared<FailingBackend>(filled.storage(), reach)),
        storage(backend),
        blocks(map.destination[static_cast<std::size_t>(rank())]) {
    std::vector<std::uint8_t> mask(blocks.size());
    std::vector<int> ranks(blocks.size());
    std::vector<Address> addresses(blocks.size());
    for (std::size_t slot = 0; slot < blocks.size(); ++slot) {
      if (!blocks[slot]) continue;
      mask[slot] = 1;
      ranks[slot] = blocks[slot]->rank;
      addresses[slot] = *blocks[slot];
    }
    const Occupied occupied = Occupied::masked(mask);
    plan.emplace(form == Form::to_ranks
                     ? plan_to_ranks(MPI_COMM_WORLD, storage, occupied, ranks, options)
                     : plan_to_slots(MPI_COMM_WORLD, storage, occupied, addresses, options));
  }

  Outcome run() {
    return outcome_of([&] { execute(*plan, storage); });
  }
  /// Whether every block of this rank is where it was.
  [[nodiscard]] bool is_untouched() {
    for (std::size_t slot = 0; slot < blocks.size(); ++slot)
      if (blocks[slot] && !filled.blocks().holds(slot, {rank(), slot})) return false;
    return true;
  }
  /// Whether every block of this rank is where the map said.
  [[nodiscard]] bool has_moved() { return filled.wrong(form, options.order) == 0; }

  /// From the beginning, with a storage that is well. Collective.
  void expect_healthy_run() {
    backend->recover();
    filled.fill();
    const Outcome outcome = run();
    EXPECT_TRUE(all_ranks(outcome.code == ErrorCode::success)) << outcome.text;
    EXPECT_TRUE(all_ranks(has_moved()));
  }

  Form form;
  Options options;
  FilledMap filled;
  std::shared_ptr<FailingBackend> backend;
  BlockStorage storage;
  std::vector<std::optional<Address>> blocks;
  std::optional<Plan> plan;
};

std::string begin_of(int failing, const std::string& what) {
  return "valet: rank " + std::to_string(failing) + ": " + what;
}

/// The same error everywhere, which names the rank, and data as its text says. Collective.
void expect_failure(Case& tried, const Outcome& outcome, int failing, const std::string& call,
                    const std::string& said) {
  expect_error(outcome, ErrorCode::callback_failed, {});
  EXPECT_EQ(outcome.text.find(begin_of(failing, "")), 0U) << outcome.text;
  expect_words(outcome.text, {call + said + "; "});
  const bool nothing = contains(outcome.text, "nothing has moved");
  const bool all = contains(outcome.text, "every block");
  EXPECT_TRUE(nothing || all || contains(outcome.text, "unspecified on all ranks")) << outcome.text;
  EXPECT_TRUE(all_ranks(!nothing || tried.is_untouched()));
  EXPECT_TRUE(all_ranks(!all || tried.has_moved()));
}

Options random_options(std::mt19937_64& random, Method method, bool verify, Reach reach) {
  Options options{.method = method, .verify = verify};
  options.order = all_orders[pick(random, 0, 2)];
  options.share_memory = pick(random, 0, 1) == 0;
  options.phased.parking = static_cast<int>(pick(random, 0, 2));
  options.budget_bytes = method == Method::direct ? 1 << 20
                         : pick(random, 0, 1) == 0
                             ? (reach == Reach::host ? 48 : 100)  // no room for packed messages
                             : 2000;
  return options;
}

/// The rank that is to fail: a random one of those that made such calls; -1 if none did.
int failing_rank(std::mt19937_64& random, bool candidate) {
  std::vector<int> candidates;
  for (int other = 0; other < size(); ++other)
    if (max_over_ranks(rank() == other && candidate ? 1 : 0) == 1) candidates.push_back(other);
  return candidates.empty() ? -1 : candidates[pick(random, 0, candidates.size() - 1)];
}

using Failures = std::array<int, calls_while_moving.size()>;

/// Fails at the first call of every kind, then at any other, and counts. Collective.
void fail_in_all_ways(Case& tried, std::mt19937_64& random, Failures& failures) {
  for (const Call call : calls_while_moving)
    for (const bool first : {true, false}) {
      SCOPED_TRACE(name_of(call) + (first ? "first" : "any"));
      tried.expect_healthy_run();
      const std::uint64_t calls = tried.backend->calls(call);
      const int failing = failing_rank(random, calls > 0);
      if (failing < 0) continue;
      tried.filled.fill();
      const std::uint64_t which = first ? 1 : pick(random, 1, std::max<std::uint64_t>(calls, 1));
      if (rank() == failing) tried.backend->fail_at(call, which);
      const Outcome outcome = tried.run();
      const long long thrown = sum_over_ranks(tried.backend->thrown());
      EXPECT_LE(thrown, 1) << "asked again after it had failed";
      if (thrown == 1) {
        expect_failure(tried, outcome, failing, name_of(call), "the device fell off the bus");
        ++failures[static_cast<std::size_t>(call)];
      } else {
        // How many calls are made, if any, depends on timing: this time there were fewer.
        EXPECT_TRUE(all_ranks(outcome.code == ErrorCode::success)) << outcome.text;
      }
    }
  tried.expect_healthy_run();
}

std::string name_of_method(const testing::TestParamInfo<Method>& tested) {
  return to_string(tested.param);
}

class FailingStorage : public testing::TestWithParam<Method> {};

TEST_P(FailingStorage, EndsTheExecutionOnAllRanksWithTheSameError) {
  const std::uint64_t maps = cases_wanted(60);
  Failures failures{};
  for (std::uint64_t k = 0; k < maps && all_ranks(!HasFailure()); ++k) {
    SCOPED_TRACE(seed_note(seed() + k));
    std::mt19937_64 random(seed() + k);
    const GlobalMap map =
        random_map(random, size(), pick(random, 20, 60), static_cast<Tightness>(k % 3), false);
    const Form form = k % 2 == 0 ? Form::to_ranks : Form::to_slots;
    // Half of each verifies; the first maps already with a storage that hashes by itself.
    constexpr std::array reaches{Reach::kernels, Reach::host, Reach::mpi, Reach::storage_alone,
                                 Reach::host};
    const Reach reach = reaches[k % reaches.size()];
    const Options options = random_options(random, GetParam(), k % 4 < 2, reach);
    const Shape shape = pick(random, 0, 1) == 0 ? Shape::dense : Shape::structure;
    Case tried(map, form, options, shape, reach);
    fail_in_all_ways(tried, random, failures);
  }
  for (const Call call : calls_while_moving) {
    const bool is_asked = call != Call::pieces || (size() > 1 && GetParam() != Method::direct);
    EXPECT_GE(failures[static_cast<std::size_t>(call)], is_asked ? maps / 12 : 0) << name_of(call);
  }
}

/// Other ranks may have prepared for what the odd rank refuses, and posted receives.
TEST_P(FailingStorage, RunsAfterAnAgreementNotToRun) {
  Case tried(ring_map(size(), 40, 40, 1), Form::to_ranks,
             {.budget_bytes = 1 << 20, .method = GetParam()}, Shape::dense, Reach::host);
  for (int k = 0; k < 3; ++k) {
    tried.filled.fill();
    alignas(std::max_align_t) std::array<std::byte, 1> too_small{};
    const auto workspace = is_odd() ? std::span<std::byte>(too_small) : std::span<std::byte>();
    const Outcome outcome = outcome_of([&] { execute(*tried.plan, tried.storage, workspace); });
    expect_error(outcome, ErrorCode::invalid_argument, {odd_name(), "the workspace has 1 bytes"});
    EXPECT_TRUE(all_ranks(tried.is_untouched()));
    tried.expect_healthy_run();
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, FailingStorage,
                         testing::Values(Method::stream, Method::direct, Method::phased,
                                         Method::cyclic),
                         name_of_method);

Options stream_options(bool verify = false) { return {.method = Method::stream, .verify = verify}; }

/// Every block goes to another rank, where there is one; staged.
GlobalMap ring() { return ring_map(size(), 40, 40, 1); }

TEST(FailingRanks, AreReportedByTheLowestOne) {
  Case tried(ring(), Form::to_ranks, stream_options(), Shape::dense, Reach::storage_alone);
  const bool fails = rank() > 0 || size() == 1;
  if (fails) tried.backend->fail_at(Call::gather, 1);
  const Outcome outcome = tried.run();
  if (size() == 1) {
    EXPECT_EQ(outcome.code, ErrorCode::success) << "nothing is packed";
    return;
  }
  expect_failure(tried, outcome, 1, name_of(Call::gather), "the device fell off the bus");
  EXPECT_TRUE(all_ranks(tried.backend->thrown() == (fails ? 1 : 0)));
  tried.expect_healthy_run();
}

TEST(FailingRanks, MayThrowAnything) {
  // Verification packs blocks on any number of ranks.
  Case tried(ring(), Form::to_ranks, stream_options(true), Shape::dense, Reach::storage_alone);
  for (const auto& [throws, said] :
       {std::pair{Throws::number, "an exception that is no std::exception"},
        std::pair{Throws::bad_alloc, "std::bad_alloc"}}) {
    tried.filled.fill();
    if (rank() == size() - 1) tried.backend->fail_at(Call::gather, 1, throws);
    const Outcome outcome = tried.run();
    expect_failure(tried, outcome, size() - 1, name_of(Call::gather), said);
    EXPECT_TRUE(contains(outcome.text, "nothing has moved")) << "it failed before the exchange";
    tried.expect_healthy_run();
  }
}

TEST(FailingStorageBeforeAnythingMoves, IsRefusedOnAllRanks) {
  for (const Call call : {Call::synchronize, Call::allocate_scratch}) {
    Case tried(ring(), Form::to_slots, stream_options(), Shape::dense, Reach::storage_alone);
    if (rank() == size() - 1) tried.backend->fail_at(call, 1);
    const Outcome outcome = tried.run();
    expect_failure(tried, outcome, size() - 1, name_of(call), "the device fell off the bus");
    expect_words(outcome.text, {"nothing has moved"});
    tried.expect_healthy_run();
  }
}

TEST(FailingStorageBeforeAnythingMoves, SaysThatThereIsNoMemory) {
  Case tried(ring(), Form::to_slots, stream_options(), Shape::dense, Reach::storage_alone);
  if (rank() == 0) tried.backend->fail_at(Call::allocate_scratch, 1, Throws::bad_alloc);
  const Outcome outcome = tried.run();
  expect_error(outcome, ErrorCode::out_of_memory, {"lower budget_bytes"});
  EXPECT_TRUE(all_ranks(tried.is_untouched()));
  tried.expect_healthy_run();
}

TEST(FailingStorageWithATrace, WritesOneForEachExecution) {
  const TemporaryFile file;
  Options options = stream_options();
  options.trace = file.path();
  Case tried(ring(), Form::to_ranks, options, Shape::dense, Reach::storage_alone);
  const auto exchanges = [&] {
    const std::string text = file.text(), name = "\"name\":\"exchange\"";
    int count = 0;
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1))
      ++count;
    return count;
  };
  if (rank() == 0) tried.backend->fail_at(Call::gather, 1);
  static_cast<void>(tried.run());
  EXPECT_TRUE(all_ranks(rank() != 0 || exchanges() == size())) << exchanges();
  tried.expect_healthy_run();
  EXPECT_TRUE(all_ranks(rank() != 0 || exchanges() == size())) << exchanges();
}

/// The first call throws on the last rank, in the middle of an exchange by any method.
class ThrowingCallbacks : public testing::TestWithParam<Method> {};

TEST_P(ThrowingCallbacks, ForProgressIsReportedWhenAllBlocksHaveMoved) {
  for (const bool on_all_ranks : {true, false}) {
    int calls = 0;
    Options options = stream_options(on_all_ranks);
    options.method = GetParam();
    if (on_all_ranks || rank() == size() - 1)
      options.progress = [&](const Progress&) {
        ++calls;
        if (rank() == size() - 1) throw std::runtime_error("the terminal is gone");
      };
    Case tried(ring(), Form::to_ranks, options, Shape::dense, Reach::host);
    for (int execution = 1; execution <= 2; ++execution) {
      tried.filled.fill();
      const Outcome outcome = tried.run();
      expect_failure(tried, outcome, size() - 1,
                     "callback progress failed: ", "the terminal is gone");
      expect_words(outcome.text, {"every block is where it belongs"});
      EXPECT_TRUE(all_ranks(rank() != size() - 1 || calls == execution)) << calls;
    }
  }
}

TEST_P(ThrowingCallbacks, DoesNotHideAFailingStorage) {
  Options options = stream_options(true);
  options.method = GetParam();
  if (rank() == 0) options.progress = [](const Progress&) { throw 42; };
  Case tried(ring(), Form::to_ranks, options, Shape::dense, Reach::storage_alone);
  if (rank() == size() - 1) tried.backend->fail_at(Call::gather, 1);
  expect_failure(tried, tried.run(), size() - 1, name_of(Call::gather),
                 "the device fell off the bus");
}

INSTANTIATE_TEST_SUITE_P(Methods, ThrowingCallbacks,
                         testing::Values(Method::stream, Method::direct, Method::phased,
                                         Method::cyclic),
                         name_of_method);

TEST(ThrowingCallback, ForAvailableBytesLeavesAllFreeMemory) {
  int calls = 0;
  Options options = stream_options();
  options.method = Method::phased;
  options.budget_bytes = 500;
  options.phased.available_bytes = [&]() -> std::size_t {
    if (++calls == 2 && rank() == 0) throw std::runtime_error("no idea");
    return rank() == 0 ? 1 : 200;
  };
  Case tried(ring(), Form::to_slots, options, Shape::structure, Reach::host);
  const Outcome outcome = tried.run();
  const long long asked = max_over_ranks(rank() == 0 ? calls : 0);
  EXPECT_LE(asked, 2);
  if (asked < 2) {
    EXPECT_TRUE(all_ranks(outcome.code == ErrorCode::success)) << outcome.text;
    EXPECT_EQ(size(), 1) << "there are phases where blocks leave";
    return;
  }
  expect_failure(tried, outcome, 0, "callback available_bytes failed: ", "no idea");
  expect_words(outcome.text, {"every block is where it belongs"});
}

}  // namespace
}  // namespace valet::test
