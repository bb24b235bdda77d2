// SPDX-License-Identifier: BSD-3-Clause

// The memory promise on the process itself, for each method: what is allocated stays within
// budget + 64 KiB + 64*P, the ledger knows of it, and the resident memory of a process that
// exchanges 128 MiB grows by no more than a few budgets.

#include "counted_new.hpp"
#include "process_memory.hpp"
#include "promise.hpp"
#include "test_comm.hpp"

namespace valet::test {
namespace {

class AlltoallMemory : public ::testing::TestWithParam<AlltoallMethod> {};

/// Uneven counts with equal totals, so that all methods have room.
std::vector<std::int64_t> counts(std::int64_t elements) {
  std::vector<std::int64_t> result(static_cast<std::size_t>(size()), elements / size());
  const auto self = static_cast<std::size_t>(rank());
  const auto next = static_cast<std::size_t>((rank() + 1) % size());
  result[self] -= elements / size() / 3;
  result[next] += elements / size() / 3;
  return result;
}

TEST_P(AlltoallMemory, IsWithinThePromiseAndKnownToTheLedger) {
  // MPI allocates in its own way; what it does inside of operator new is a few kilobytes.
  constexpr std::ptrdiff_t uncounted_bytes = 8 << 10;
  for (const std::size_t budget : {std::size_t{192} << 10, std::size_t{4} << 20}) {
    const std::vector<std::int64_t> send = counts(200'000 / size() * size());
    std::vector<std::uint32_t> memory(200'000);
    const AlltoallOptions options{.budget_bytes = budget, .method = GetParam()};
    Report report;
    for (int repeat = 0; repeat < 2; ++repeat) {  // once to fill caches of MPI
      const std::ptrdiff_t before = new_counters().live_bytes;
      restart_peak();
      report = alltoallv_in_place(MPI_COMM_WORLD, {memory.data(), memory.size() * 4, 4}, send, {},
                                  options);
      const long long used = max_over_ranks(new_counters().peak_bytes - before);
      const long long promised = static_cast<long long>(budget) + (64 << 10) + 64 * size();
      const auto ledger = static_cast<long long>(report.peak_extra_bytes);
      if (repeat == 0) continue;
      EXPECT_LE(used, promised) << report.method;
      EXPECT_LE(max_over_ranks(ledger), promised) << report.method;
      EXPECT_LE(max_over_ranks(new_counters().peak_bytes - before - ledger), uncounted_bytes)
          << report.method;
      EXPECT_EQ(sum_over_ranks(new_counters().live_bytes - before), 0) << report.method;
    }
  }
}

/// What one call asks the system for, shared memory included, from a new communicator on.
void expect_promise(AlltoallMethod method, std::size_t budget) {
  const auto ranks = static_cast<std::uint64_t>(size());
  const std::vector<std::int64_t> send = counts(200'000 / size() * size());
  std::vector<std::uint32_t> memory(200'000);
  const AlltoallOptions options{.budget_bytes = budget, .method = method};
  const OwnComm communicator;
  const AskedBytes asked;
  const Report report =
      alltoallv_in_place(communicator, {memory.data(), memory.size() * 4, 4}, send, {}, options);
  const std::uint64_t most_asked = asked.most();
  const std::uint64_t promised = promised_bytes(budget, ranks - 1, ranks);
  EXPECT_TRUE(all_ranks(most_asked <= promised))
      << to_string(method) << ": " << most_asked << " of " << promised;
  EXPECT_TRUE(all_ranks(report.extra_bytes_bound == promised)) << report.extra_bytes_bound;
}

TEST(AlltoallPromise, IsKeptByEveryMethod) {
  constexpr std::size_t budget = std::size_t{4} << 20;
  expect_promise(AlltoallMethod::direct, budget);  // is refused with less
  for (const AlltoallMethod method :
       {AlltoallMethod::automatic, AlltoallMethod::stream, AlltoallMethod::swaps,
        AlltoallMethod::bitonic, AlltoallMethod::pairwise}) {
    expect_promise(method, std::size_t{192} << 10);
    expect_promise(method, budget);
  }
}

TEST_P(AlltoallMemory, OfTheProcessGrowsByLessThan12MiBWhen128MiBMove) {
  constexpr long long mebibyte = 1 << 20;
  if (size() != 2) return;
  const bool supported = all_ranks(restart_resident_peak() && status_bytes("VmHWM") > 0);
  if (!supported) GTEST_SKIP() << "this system does not report resident peaks";
  std::vector<std::uint64_t> memory(16 * mebibyte);
  for (std::size_t k = 0; k < memory.size(); ++k)
    memory[k] = k ^ (static_cast<std::uint64_t>(rank()) << 60);
  const std::vector<std::int64_t> send = counts(16 * mebibyte - 2);
  const AlltoallOptions options{.method = GetParam()};
  EXPECT_TRUE(restart_resident_peak());
  const long long still = status_bytes("VmHWM");
  const Report report =
      alltoallv_in_place(MPI_COMM_WORLD, {memory.data(), memory.size() * 8, 8}, send, {}, options);
  const long long growth = max_over_ranks(status_bytes("VmHWM") - still);
  if (rank() == 0)
    std::cout << report.method << ": resident " << still / mebibyte << " MiB, growth "
              << growth / 1024 << " KiB\n";
  EXPECT_GT(still, 128 * mebibyte) << "the measurement sees the data";
  EXPECT_LT(growth, 12 * mebibyte);
}

// What a rank takes for a call stays with the communicator, for plans and calls alike: whatever was
// kept, and by whom, nobody writes where another plan or another rank does not expect it.
TEST(AlltoallKeptMemory, ServesPlansAndCallsOfOneCommunicator) {
  const OwnComm communicator;
  const auto ranks = static_cast<std::size_t>(size());
  constexpr std::size_t each = 40'000;
  std::vector<std::uint64_t> memory(each * ranks);
  const auto fill = [&] {
    for (std::size_t k = 0; k < memory.size(); ++k)
      memory[k] = (static_cast<std::uint64_t>(rank()) << 32) + k;
  };
  const auto is_transposed = [&] {
    bool right = true;
    for (std::size_t k = 0; k < memory.size(); ++k)
      right = right &&
              memory[k] == ((k / each) << 32) + static_cast<std::size_t>(rank()) * each + k % each;
    return all_ranks(right);
  };
  const Options plain{.method = Method::stream};
  const std::vector<int> next(memory.size(), (rank() + 1) % size());
  const auto make_plan = [&] {
    return std::make_unique<Plan>(
        plan_to_ranks(communicator, BlockStorage{field(memory.data(), memory.size(), 1)},
                      memory.size(), next, plain));
  };
  std::unique_ptr<Plan> plan;
  for (int round = 0; round < 12; ++round) {
    // A plan that lives on some ranks only, and is used by all of them before.
    if (round % 3 == 0) {
      plan = make_plan();
      execute(*plan, BlockStorage{field(memory.data(), memory.size(), 1)});
      if (round % 2 == rank() % 2) plan.reset();
    }
    for (const AlltoallMethod method : {AlltoallMethod::stream, AlltoallMethod::automatic}) {
      const AlltoallOptions options{.budget_bytes = std::size_t{round % 4 == 3 ? 1U : 4U} << 20,
                                    .keep_memory = round % 5 != 4,
                                    .method = method};
      fill();
      const std::vector<std::int64_t> send(ranks, each);
      const Report report = alltoallv_in_place(communicator, {memory.data(), memory.size() * 8, 8},
                                               send, {}, options);
      EXPECT_TRUE(is_transposed()) << report.method << " in round " << round;
      expect_within_bound(report);
    }
  }
  plan.reset();
}

// A rank that could send all at once has no room for that beside what is kept, and gives it back:
// the others, which have more to send, must not count on it.
TEST(AlltoallKeptMemory, IsGivenBackByOneRankAlone) {
  const OwnComm communicator;
  const auto ranks = static_cast<std::size_t>(size());
  const auto count_between = [&](std::size_t from) {  // so many to each other rank
    return ((from == 0 ? 3584U : 5120U) << 10) / 8 / std::max<std::size_t>(1, ranks - 1);
  };
  std::vector<std::int64_t> send(
      ranks, static_cast<std::int64_t>(count_between(static_cast<std::size_t>(rank()))));
  send[static_cast<std::size_t>(rank())] = 0;
  std::vector<std::uint64_t> memory(count_between(1) * ranks);
  for (int round = 0; round < 4; ++round) {
    std::ranges::fill(memory, static_cast<std::uint64_t>(rank() + round));
    alltoallv_in_place(communicator, {memory.data(), memory.size() * 8, 8}, send, {},
                       AlltoallOptions{});
    const std::uint64_t* next = memory.data();
    bool right = true;
    for (std::size_t from = 0; from < ranks; ++from)
      for (std::size_t k = 0; from != static_cast<std::size_t>(rank()) && k < count_between(from);
           ++k)
        right = right && *next++ == from + static_cast<std::size_t>(round);
    EXPECT_TRUE(all_ranks(right)) << "round " << round;
  }
}

/// Bytes of shared mappings once a call of so many bytes is over.
std::size_t mapped_after(MPI_Comm communicator, AlltoallMethod method, std::size_t bytes,
                         bool keeps) {
  const std::size_t elements = bytes / 8 / static_cast<std::size_t>(size());
  std::vector<std::uint64_t> memory(elements * static_cast<std::size_t>(size()));
  const std::vector<std::int64_t> send(static_cast<std::size_t>(size()),
                                       static_cast<std::int64_t>(elements));
  const AlltoallOptions options{.keep_memory = keeps, .method = method};
  alltoallv_in_place(communicator, {memory.data(), memory.size() * 8, 8}, send, {}, options);
  return mapped_shared_bytes();
}

TEST(AlltoallKeptMemory, GoesWithACallThatKeepsNothing) {
  const OwnComm communicator;
  for (const AlltoallMethod method :
       {AlltoallMethod::direct, AlltoallMethod::pairwise, AlltoallMethod::stream}) {
    const std::size_t kept = mapped_after(communicator, AlltoallMethod::stream, 16 << 20, true);
    if (kept == 0) continue;  // one rank, or a system that does not share
    if (method == AlltoallMethod::direct) {
      EXPECT_EQ(mapped_after(communicator, method, 64 << 10, true), kept) << "it is not needed";
    }
    EXPECT_EQ(mapped_after(communicator, method, 64 << 10, false), 0U) << to_string(method);
  }
}

INSTANTIATE_TEST_SUITE_P(EachMethod, AlltoallMemory,
                         ::testing::Values(AlltoallMethod::stream, AlltoallMethod::swaps,
                                           AlltoallMethod::bitonic, AlltoallMethod::pairwise,
                                           AlltoallMethod::automatic),
                         ParameterName());

// A budget is what may be used, not what must be: scratch holds no more than what moves.
TEST(AlltoallMemoryOfSwaps, DoesNotGrowWithABudgetThatNothingFills) {
  constexpr std::int64_t elements = 400;
  for (const AlltoallMethod method :
       {AlltoallMethod::swaps, AlltoallMethod::bitonic, AlltoallMethod::pairwise}) {
    std::vector<std::uint64_t> memory(static_cast<std::size_t>(elements * size()));
    const std::vector<std::int64_t> send(static_cast<std::size_t>(size()), elements);
    const AlltoallOptions options{.budget_bytes = std::size_t{64} << 30, .method = method};
    const Report report = alltoallv_in_place(MPI_COMM_WORLD, {memory.data(), memory.size() * 8, 8},
                                             send, {}, options);
    // Two messages or the blocks of a merge, and tables.
    const std::uint64_t moved = 2 * memory.size() * 8;
    EXPECT_LE(report.peak_extra_bytes,
              moved + (std::uint64_t{4} << 10) + 64 * static_cast<std::uint64_t>(size()))
        << report.method;
  }
}

}  // namespace
}  // namespace valet::test
