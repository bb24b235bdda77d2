// SPDX-License-Identifier: BSD-3-Clause

// Waits with a limit: where a rank has gone, every other one gets an error instead of waiting for
// ever; where all are there, nothing changes.
//
// The rank that has gone does not call, and waits for the others on another communicator.

#include "moved_arrays.hpp"
#include "mpi/agreement.hpp"
#include "mpi/message.hpp"
#include "mpi/root.hpp"
#include "mpi/sparse_exchange.hpp"
#include "mpi/tags.hpp"
#include "random_case.hpp"
#include "test_comm.hpp"

namespace valet::mpi {
namespace {

using namespace valet::test;

constexpr double patient_seconds = 60;

/// Has all ranks call twice, the second time without the odd one. The communicator is not freed:
/// calls on it were given up.
/// @param call  Gets the communicator. Must return while all ranks call.
template <class Call>
void expect_given_up(Call&& call) {
  if (size() == 1) GTEST_SKIP() << "needs a rank that has gone";
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  limit_waiting(comm, patient_seconds);
  const Outcome with_all = outcome_of([&] { call(comm); });
  MPI_Barrier(MPI_COMM_WORLD);
  Outcome without;
  limit_waiting(comm, 0.5);
  if (!is_odd()) without = outcome_of([&] { call(comm); });
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_EQ(with_all.text, "");
  if (is_odd()) return;
  EXPECT_EQ(without.code, ErrorCode::mpi_failure);
  expect_words(without.text, {"nothing came from other ranks for 0.5 s",
                              "has the other job ended? End this one, too"});
}

TEST(WaitLimit, EndsAnAgreement) {
  expect_given_up([](MPI_Comm comm) { agree(Channel::open_for_call(comm), std::nullopt); });
}

TEST(WaitLimit, EndsABarrier) {
  expect_given_up([](MPI_Comm comm) { barrier(Channel::open_for_call(comm)); });
}

TEST(WaitLimit, EndsWordsToAndFromTheRoot) {
  expect_given_up([](MPI_Comm comm) {
    const Channel channel = Channel::open_for_call(comm);
    Ledger ledger;
    const std::array<std::uint64_t, 2> words{1, 2};
    std::vector<std::uint64_t> all(2 * ranks_on_root(channel));
    std::vector<int> counts(ranks_on_root(channel), 2);
    Vector<std::uint64_t> own(ledger);
    gather_words(channel, words, all);
    gather_lists(channel, words, std::span<const int>(counts), all, ledger);
    scatter_lists(channel, all, counts, own, ledger);
    // A root does not wait for those that it sends to, nor one that sends to the root.
    barrier(channel);
  });
}

TEST(WaitLimit, EndsSumsAndListsOfAllRanks) {
  expect_given_up([](MPI_Comm comm) {
    const Channel channel = Channel::open_for_call(comm);
    std::vector<std::uint64_t> from(static_cast<std::size_t>(size()));
    const std::vector<std::uint64_t> to(from.size(), 1);
    exchange_all(channel, to, from);
  });
}

TEST(WaitLimit, EndsASparseExchange) {
  expect_given_up([](MPI_Comm comm) {
    const Channel channel = Channel::open_for_call(comm);
    Ledger ledger;
    Vector<SparseCount> received(ledger);
    const SparseCount to{.rank = odd_rank(), .count = 1};
    exchange_sparse_counts(channel, ledger, {&to, 1}, received);
  });
}

TEST(WaitLimit, EndsAMessage) {
  expect_given_up([](MPI_Comm comm) {
    const Channel channel = Channel::open_for_call(comm);
    Ledger ledger;
    Requests requests(ledger, 2, channel);
    const auto word = std::make_unique<std::uint64_t>(1);
    auto taken = std::make_unique<std::uint64_t>(0);
    try {
      if (is_odd()) {
        std::vector<MPI_Request> sends(static_cast<std::size_t>(size() - 1), MPI_REQUEST_NULL);
        for (int to = 0; to < size() - 1; ++to)
          post_send(channel, word.get(), sizeof *word, to, tag_data,
                    sends[static_cast<std::size_t>(to)]);
        MPI_Waitall(size() - 1, sends.data(), MPI_STATUSES_IGNORE);
        return;
      }
      post_receive(channel, taken.get(), sizeof *taken, odd_rank(), tag_data, requests[1]);
      requests.wait(1);
    } catch (const Error&) {
      static_cast<void>(taken.release());
      throw;
    }
    EXPECT_EQ(*taken, 1U);
  });
}

/// Every rank has blocks for every rank.
class Dealing {
 public:
  explicit Dealing(Method method) {
    for (std::size_t k = 0; k < ranks_.size(); ++k)
      ranks_[k] = static_cast<int>(k % static_cast<std::size_t>(size()));
    options_.method = method;
    options_.budget_bytes = std::size_t{1} << 20;
  }
  void migrate(MPI_Comm comm) { valet::migrate(comm, storage(), blocks, ranks_, options_); }
  [[nodiscard]] Plan plan(MPI_Comm comm) {
    return plan_to_ranks(comm, storage(), blocks, ranks_, options_);
  }
  [[nodiscard]] BlockStorage storage() { return {field(slots_)}; }

 private:
  static constexpr std::uint64_t blocks = 100;
  std::vector<std::uint64_t> slots_ = std::vector<std::uint64_t>(blocks + 20, 1);
  std::vector<int> ranks_ = std::vector<int>(blocks);
  Options options_;
};

TEST(WaitLimit, EndsAMigration) {
  Dealing dealing(Method::stream);
  expect_given_up([&](MPI_Comm comm) { dealing.migrate(comm); });
}

class LimitedExecution : public testing::TestWithParam<Method> {};

TEST_P(LimitedExecution, Ends) {
  Dealing dealing(GetParam());
  std::optional<Plan> plan;
  expect_given_up([&](MPI_Comm comm) {
    if (!plan) plan = dealing.plan(comm);
    execute(*plan, dealing.storage());
  });
}

/// What is bound needs no agreement, so that the first wait is in the exchange.
TEST_P(LimitedExecution, EndsWhereThePlanIsBound) {
  Dealing dealing(GetParam());
  std::optional<Plan> plan;
  expect_given_up([&](MPI_Comm comm) {
    if (!plan) {
      plan = dealing.plan(comm);
      plan->bind(dealing.storage());
    }
    execute(*plan);
  });
}

INSTANTIATE_TEST_SUITE_P(Methods, LimitedExecution,
                         testing::Values(Method::stream, Method::direct, Method::phased,
                                         Method::cyclic),
                         ParameterName());

TEST(WaitLimit, EndsAnAllToAll) {
  for (const AlltoallMethod method :
       {AlltoallMethod::direct, AlltoallMethod::stream, AlltoallMethod::bitonic}) {
    const auto ranks = static_cast<std::size_t>(size());
    std::vector<std::uint64_t> data(100 * ranks);
    const std::vector<std::int64_t> counts(ranks, 100);
    expect_given_up([&](MPI_Comm comm) {
      alltoallv_in_place(comm, {data.data(), data.size() * sizeof data[0], sizeof data[0]}, counts,
                         {}, {.method = method});
    });
  }
}

TEST(WaitLimit, EndsARedistribution) {
  const GridLayout from{BlockCyclic({300, 200}, {64, 64}, {size(), 1})};
  const GridLayout to{BlockCyclic({300, 200}, {30, 50}, {1, size()})};
  for (const std::size_t budget_bytes : {std::size_t{1} << 10, std::size_t{1} << 24}) {
    Part source(from, 8, IndexOrder::row_major), target(to, 8, IndexOrder::row_major);
    LayoutOptions options;
    options.budget_bytes = budget_bytes;
    expect_given_up([&](MPI_Comm comm) {
      redistribute(comm, from, to, 8, source.source(), target.target(), options);
    });
  }
}

TEST(WaitLimit, ChangesNothingWhereAllRanksAreThere) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  limit_waiting(comm, patient_seconds);
  for (std::uint64_t k = 0; k < 100; ++k) {
    SCOPED_TRACE(seed_note(seed() + k));
    std::mt19937_64 random(seed() + k);
    MapCase c = random_map_case(random);
    c.options.method = all_methods[k % all_methods.size()];
    c.options.budget_bytes = std::size_t{1} << 24;
    if (c.options.method == Method::phased) choose_phases(random, c.options);
    FilledMap filled(c.map, rank(), c.shape, c.dense_bytes);
    const Outcome outcome = outcome_of([&] { filled.migrate(comm, c.form, c.options, !c.masked); });
    ASSERT_EQ(outcome.text, "");
    EXPECT_EQ(filled.wrong(c.form, c.options.order), 0);
  }
  MPI_Comm_free(&comm);
}

}  // namespace
}  // namespace valet::mpi
