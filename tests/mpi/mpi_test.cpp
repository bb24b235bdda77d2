// SPDX-License-Identifier: BSD-3-Clause

// The layer over MPI: channels, agreement, sparse exchange, lists between neighbours.

#include "mpi/agreement.hpp"
#include "mpi/channel.hpp"
#include "mpi/check.hpp"
#include "mpi/message.hpp"
#include "mpi/neighbour_words.hpp"
#include "mpi/sparse_exchange.hpp"
#include "random_maps.hpp"
#include "test_comm.hpp"

namespace {

long long duplicates = 0;
long long frees = 0;

}  // namespace

// These stand in front of MPI's functions for the library as well.
extern "C" {
__attribute__((visibility("default"))) int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* copy) {
  ++duplicates;
  return PMPI_Comm_dup(comm, copy);
}
__attribute__((visibility("default"))) int MPI_Comm_free(MPI_Comm* comm) {
  ++frees;
  return PMPI_Comm_free(comm);
}
}

namespace valet::mpi {
namespace {

using namespace valet::test;

constexpr int a_tag = 7;

TEST(Channel, IsDuplicatedOnceAndThenReused) {
  MPI_Comm comm = MPI_COMM_NULL;
  PMPI_Comm_dup(MPI_COMM_WORLD, &comm);
  const long long before = duplicates;
  for (int round = 0; round < 5; ++round) {
    const Channel channel = Channel::open(comm);
    EXPECT_EQ(channel.rank(), rank());
    EXPECT_EQ(channel.size(), size());
  }
  EXPECT_EQ(duplicates - before, 2) << "one for the cache, one for the only channel";
  PMPI_Comm_free(&comm);
}

TEST(Channel, TwoAtATimeAreTwoCommunicators) {
  const Channel first = Channel::open(MPI_COMM_WORLD);
  const Channel second = Channel::open(MPI_COMM_WORLD);
  int comparison = MPI_IDENT;
  MPI_Comm_compare(first.get(), second.get(), &comparison);
  EXPECT_EQ(comparison, MPI_CONGRUENT);
  MPI_Comm_compare(first.get(), MPI_COMM_WORLD, &comparison);
  EXPECT_EQ(comparison, MPI_CONGRUENT);
}

// Ranks that gave different ones back agree all the same, and those that did not find each other's.
TEST(Channel, OfAPlanThatIsBeingMadeBecomesOneThatIsFreeEverywhere) {
  for (const bool alike : {true, false}) {
    std::array<std::optional<Channel>, 2> held;
    for (auto& channel : held) channel.emplace(Channel::open(MPI_COMM_WORLD));
    Channel planning = Channel::open_for_planning(MPI_COMM_WORLD);
    EXPECT_TRUE(planning.is_planning());
    held[alike ? 0 : static_cast<std::size_t>(rank() % 2)].reset();
    const Channel next = [&] {
      Channel opened = Channel::open_for_planning(MPI_COMM_WORLD);
      Borrowing own(opened);
      Agreement agreement;
      own.join(agreement);
      agreement.run(opened, std::nullopt);
      EXPECT_EQ(own.complete(), alike || size() == 1);
      return opened;
    }();
    EXPECT_FALSE(next.is_planning());
    std::array<int, 2> words{rank(), 0};
    const int after = (rank() + 1) % size(), before = (rank() + size() - 1) % size();
    MPI_Sendrecv(words.data(), 1, MPI_INT, after, a_tag, &words[1], 1, MPI_INT, before, a_tag,
                 next.get(), MPI_STATUS_IGNORE);
    EXPECT_EQ(words[1], before);
  }
}

TEST(Channel, IsFreedWithTheCommunicator) {
  MPI_Comm comm = MPI_COMM_NULL;
  PMPI_Comm_dup(MPI_COMM_WORLD, &comm);
  { const Channel channel = Channel::open(comm); }
  const long long before = frees;
  PMPI_Comm_free(&comm);
  EXPECT_EQ(frees - before, 2);
}

TEST(Channel, OutlivesTheCommunicatorAndIsFreedThen) {
  MPI_Comm comm = MPI_COMM_NULL;
  PMPI_Comm_dup(MPI_COMM_WORLD, &comm);
  long long before = 0;
  {
    const Channel channel = Channel::open(comm);
    before = frees;
    PMPI_Comm_free(&comm);
    EXPECT_EQ(frees, before);
    int sum = 1;
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, channel.get());
    EXPECT_EQ(sum, size());
  }
  EXPECT_EQ(frees - before, 2);
}

TEST(Channel, MovesOwnership) {
  Channel first = Channel::open(MPI_COMM_WORLD);
  const MPI_Comm comm = first.get();
  Channel second = std::move(first);
  EXPECT_EQ(second.get(), comm);
  EXPECT_EQ(first.get(), MPI_COMM_NULL);
  Channel& itself = second;
  second = std::move(itself);
  EXPECT_EQ(second.get(), comm);
  EXPECT_EQ(second.size(), size());
}

MPI_Comm told = MPI_COMM_NULL;

void remember_told(MPI_Comm* comm, int*, ...) { told = *comm; }

// As MPI would do by itself for a call on the communicator that the application knows.
TEST(Channel, TellsTheApplicationsHandlerOfErrorsAndThenThrows) {
  MPI_Comm user = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &user);
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(remember_told, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  const auto fail = [](const Channel& channel) {
    int value = 0;
    told = MPI_COMM_NULL;
    return outcome_of([&] {
      check(MPI_Send(&value, 1, MPI_INT, channel.size() + 3, 0, channel.get()), "MPI_Send", 42);
    });
  };
  const Channel channel = Channel::open(user);
  MPI_Comm_set_errhandler(user, handler);  // later than the channel was made
  const Outcome outcome = fail(channel);
  EXPECT_EQ(told, user);
  EXPECT_EQ(outcome.code, ErrorCode::mpi_failure);
  expect_words(outcome.text, {"MPI_Send with rank 42"});
  MPI_Comm_free(&user);
  EXPECT_EQ(fail(channel).code, ErrorCode::mpi_failure);
  EXPECT_EQ(told, MPI_COMM_WORLD) << "where the communicator is freed";
  // MPI_SUCCESS, as MPICH 5.0 returns it from a call whose error a handler has seen.
  MPI_Comm_call_errhandler(channel.get(), MPI_ERR_RANK);
  EXPECT_EQ(outcome_of([] { check(MPI_SUCCESS, "MPI_Send"); }).code, ErrorCode::mpi_failure);
  EXPECT_NO_THROW(check(MPI_SUCCESS, "MPI_Send"));
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&handler);
}

/// What a call of these tests agrees on.
struct Record {
  std::uint64_t most = 0;
  std::uint64_t budget = 0;
  bool any = false;
  bool all = true;
  double seconds = 0;
  std::int64_t bytes = 8;
  std::optional<int> order = {};

  void agree(const Channel& channel, const std::optional<Diagnostic>& mine = std::nullopt) {
    Agreement agreement;
    agreement.largest(most);
    agreement.least(budget);
    agreement.largest(any);
    agreement.least(all);
    agreement.largest(seconds);
    agreement.equal({.name = "bytes", .remedy = "fix it", .code = ErrorCode::block_size_mismatch},
                    bytes);
    agreement.equal({"the order", nullptr}, order);
    agreement.run(channel, mine);
  }
};

TEST(Agreement, GivesEveryRankTheLargestAndTheLeast) {
  const Channel channel = Channel::open(MPI_COMM_WORLD);
  Record record;
  record.most = rank() == 0 ? std::numeric_limits<std::uint64_t>::max() : 5;
  record.budget = static_cast<std::uint64_t>(100 - rank());
  record.any = rank() == size() - 1;
  record.all = rank() != 0;
  record.seconds = 0.25 * rank();
  if (rank() == size() - 1) record.order = -3;
  record.agree(channel);
  EXPECT_EQ(record.most, std::uint64_t{std::numeric_limits<std::int64_t>::max()});
  EXPECT_EQ(record.budget, static_cast<std::uint64_t>(100 - (size() - 1)));
  EXPECT_TRUE(record.any);
  EXPECT_FALSE(record.all);
  EXPECT_EQ(record.seconds, 0.25 * (size() - 1));
  EXPECT_EQ(record.order, -3) << "of the one rank that has it";
}

TEST(Agreement, LeavesWhatNoRankHas) {
  Record record;
  record.agree(Channel::open(MPI_COMM_WORLD));
  EXPECT_FALSE(record.order.has_value());
}

TEST(Agreement, SaysWhichValueDiffersAndOnWhichRanks) {
  const Channel channel = Channel::open(MPI_COMM_WORLD);
  if (size() == 1) return;
  const int last = size() - 1;
  const auto text_of = [&](Record record, const std::optional<Diagnostic>& mine = std::nullopt) {
    const Outcome outcome = outcome_of([&] { record.agree(channel, mine); });
    const bool same = same_on_all_ranks(outcome);
    EXPECT_TRUE(same);
    return outcome.text;
  };
  const std::string others = last == 1 ? "rank 0" : "ranks 0-" + std::to_string(last - 1);
  Record bytes;
  if (rank() == last) bytes.bytes = -16;
  EXPECT_EQ(text_of(bytes), "valet: bytes differs: -16 on rank " + std::to_string(last) +
                                ", 8 on " + others + "; fix it [block_size_mismatch]");
  Record first;
  first.order = rank() == last ? 7 : 1;
  EXPECT_EQ(text_of(first), "valet: the order differs: one on " + others + ", another on rank " +
                                std::to_string(last) +
                                "; give the same on all ranks [invalid_argument]");
  Record scattered;
  scattered.bytes = rank() % 2;
  if (size() == 5) {
    expect_words(text_of(scattered), {"0 on 3 of the ranks 0-4, 1 on 2 of the ranks 1-3;"});
  }
  Record many;
  many.bytes = rank();
  if (size() == 5) {
    expect_words(text_of(many), {"3 on rank 3 and others elsewhere;"});
  }
  // What a rank found counts for more.
  std::optional<Diagnostic> mine;
  if (rank() == last) mine = Diagnostic{ErrorCode::infeasible, "no room"};
  EXPECT_EQ(text_of(bytes, mine), "valet: rank " + std::to_string(last) + ": no room [infeasible]");
}

TEST(Agreement, ThrowsTheTextOfTheLowestRankThatFailed) {
  const Channel channel = Channel::open(MPI_COMM_WORLD);
  for (int lowest = 0; lowest < size(); ++lowest) {
    std::optional<Diagnostic> mine;
    // Texts of different lengths, one of them very long.
    if (rank() >= lowest)
      mine = Diagnostic{rank() == lowest ? ErrorCode::slot_taken_twice : ErrorCode::infeasible,
                        "found by " + std::to_string(rank()) +
                            std::string(static_cast<std::size_t>(3000 * rank()), '.')};
    const Outcome outcome = outcome_of([&] { agree(channel, mine); });
    const bool same = same_on_all_ranks(outcome);
    EXPECT_TRUE(same);
    EXPECT_EQ(outcome.code, ErrorCode::slot_taken_twice);
    const std::string name = std::to_string(lowest);
    expect_words(outcome.text, {"rank " + name + ": found by " + name});
  }
}

TEST(Agreement, SumsAndMaximaAreElementwise) {
  const Channel channel = Channel::open(MPI_COMM_WORLD);
  const auto ranks = static_cast<std::uint64_t>(size());
  std::array<std::uint64_t, 2> sums{1, std::uint64_t{1} << 40};
  sum(channel, sums);
  EXPECT_EQ(sums, (std::array<std::uint64_t, 2>{ranks, ranks << 40}));
  std::array<std::uint64_t, 2> most{static_cast<std::uint64_t>(rank()), 3};
  maximum(channel, std::span<std::uint64_t>(most));
  EXPECT_EQ(most, (std::array<std::uint64_t, 2>{ranks - 1, 3}));
}

/// Words that rank `from` has for rank `to` in a random pattern that all ranks know.
std::uint64_t words_between(std::uint64_t pattern, int from, int to, std::uint64_t most) {
  std::mt19937_64 random(seed() + 1'000'003 * pattern + 1009 * static_cast<std::uint64_t>(from) +
                         static_cast<std::uint64_t>(to));
  if (pattern == 0 || from == to) return 0;  // the first pattern is empty
  return pick(random, 0, 1) == 0 ? 0 : pick(random, 1, most);
}

TEST(SparseExchange, DeliversEveryNoticeOnce) {
  constexpr std::uint64_t patterns = 60;
  const Channel channel = Channel::open(MPI_COMM_WORLD);
  for (std::uint64_t pattern = 0; pattern < patterns; ++pattern) {
    Ledger ledger;
    std::vector<SparseCount> outgoing;
    std::vector<std::array<std::uint64_t, 3>> expected;
    for (int peer = size() - 1; peer >= 0; --peer)
      if (const auto words = words_between(pattern, rank(), peer, 1000); words > 0)
        outgoing.push_back({peer, words, words * 3});
    for (int peer = 0; peer < size(); ++peer)
      if (const auto words = words_between(pattern, peer, rank(), 1000); words > 0)
        expected.push_back({static_cast<std::uint64_t>(peer), words, words * 3});
    Vector<SparseCount> received{LedgerAllocator<SparseCount>(ledger)};
    exchange_sparse_counts(channel, ledger, outgoing, received);
    std::vector<std::array<std::uint64_t, 3>> got;
    for (const SparseCount& count : received)
      got.push_back({static_cast<std::uint64_t>(count.rank), count.count, count.detail});
    ASSERT_TRUE(all_ranks(got == expected)) << "pattern " << pattern;
  }
}

/// One side of an exchange of lists: the lists of this pattern that are not empty.
struct Lists {
  std::vector<int> ranks;
  std::vector<std::vector<std::uint64_t>>* words;

  [[nodiscard]] std::size_t size() const { return ranks.size(); }
  [[nodiscard]] int rank(std::size_t i) const { return ranks[i]; }
  [[nodiscard]] std::uint64_t count(std::size_t i) const { return (*words)[i].size(); }
  void provide(std::size_t i, std::uint64_t first, std::span<std::uint64_t> out) const {
    std::copy_n((*words)[i].begin() + static_cast<std::ptrdiff_t>(first), out.size(), out.begin());
  }
  void consume(std::size_t i, std::uint64_t first, std::span<const std::uint64_t> in) const {
    std::copy(in.begin(), in.end(), (*words)[i].begin() + static_cast<std::ptrdiff_t>(first));
  }
};

std::uint64_t word(int from, int to, std::uint64_t k) {
  return static_cast<std::uint64_t>(from) << 48 | static_cast<std::uint64_t>(to) << 32 | k;
}

// N neighbours with short lists take N/32 round trips; long messages take no more memory than with
// four of them outstanding.
TEST(NeighbourWords, HasManyShortMessagesAndFewLongOnes) {
  EXPECT_EQ(WordMessages{1}.short_entries(), 1U);
  EXPECT_EQ(WordMessages{4}.short_entries(), 4U);
  EXPECT_EQ(WordMessages{512}.short_entries(), 64U);
  for (const std::size_t entries : {1, 2, 3, 4, 5, 7, 20, 64, 100, 256, 512}) {
    const WordMessages messages{entries};
    EXPECT_GE(messages.words(), WordMessages::most * messages.short_entries()) << entries;
    EXPECT_GE(messages.words(), WordMessages::few * entries) << entries;
    if (entries >= 32) {
      EXPECT_EQ(messages.words(), WordMessages::few * entries) << entries;
    }
  }
  EXPECT_EQ(words_of_neighbours(512) * sizeof(std::uint64_t), std::size_t{32} << 10);
  EXPECT_EQ(words_of_neighbours(0), 0U);
}

TEST(NeighbourWords, TakesLittleWhereThereAreFewLists) {
  EXPECT_EQ((WordMessages{.entries = 1, .lists = 0}.words()), WordMessages::few);
  EXPECT_EQ((WordMessages{.entries = 2, .lists = 10}.words()), 20U);
  EXPECT_EQ((WordMessages{.entries = 2, .lists = 1000}.words()), 2 * WordMessages::most);
}

TEST(NeighbourWords, DeliversEveryListInOrder) {
  constexpr std::uint64_t patterns = 40;
  const Channel channel = Channel::open(MPI_COMM_WORLD);
  for (std::uint64_t pattern = 0; pattern < patterns; ++pattern)
    for (const std::size_t entries : {1, 7, 64, 512}) {
      Ledger ledger;
      std::vector<std::vector<std::uint64_t>> sent, received, expected;
      Lists outgoing{{}, &sent};
      Lists incoming{{}, &received};
      for (int peer = 0; peer < test::size(); ++peer) {
        const auto fill = [&](std::uint64_t count, int from, int to) {
          std::vector<std::uint64_t> list(count);
          for (std::uint64_t k = 0; k < count; ++k) list[k] = word(from, to, k);
          return list;
        };
        if (const auto count = words_between(pattern, test::rank(), peer, 300); count > 0) {
          outgoing.ranks.push_back(peer);
          sent.push_back(fill(count, test::rank(), peer));
        }
        if (const auto count = words_between(pattern, peer, test::rank(), 300); count > 0) {
          incoming.ranks.push_back(peer);
          received.emplace_back(count, 0);
          expected.push_back(fill(count, peer, test::rank()));
        }
      }
      NeighbourWords(channel, ledger, a_tag, entries, outgoing, incoming).run();
      ASSERT_TRUE(all_ranks(received == expected)) << "pattern " << pattern;
    }
}

TEST(Messages, PiecesArriveConsecutively) {
  if (size() == 1) GTEST_SKIP() << "needs a peer";
  const Channel channel = Channel::open(MPI_COMM_WORLD);
  Ledger ledger;
  std::array<std::byte, 100> memory;
  for (std::size_t k = 0; k < memory.size(); ++k) memory[k] = static_cast<std::byte>(k);
  PieceList list(ledger);
  for (const MemoryPiece piece :
       {MemoryPiece{&memory[50], 5}, MemoryPiece{&memory[3], 1}, MemoryPiece{&memory[90], 10}})
    list.pieces.push_back(piece);
  std::array<std::byte, 16> received{};
  Requests requests(ledger, 2, channel);
  post_receive(channel, received.data(), received.size(), (rank() + size() - 1) % size(), a_tag,
               requests[0]);
  post_send_pieces(channel, list, (rank() + 1) % size(), a_tag, requests[1]);
  while (requests.wait_any()) {
  }
  EXPECT_TRUE(requests.idle(0) && requests.idle(1));
  const std::array<int, 16> expected{50, 51, 52, 53, 54, 3, 90, 91, 92, 93, 94, 95, 96, 97, 98, 99};
  for (std::size_t k = 0; k < expected.size(); ++k)
    EXPECT_EQ(received[k], static_cast<std::byte>(expected[k]));
}

TEST(CheckedCount, PassesWhatFitsAndRefusesTheRest) {
  constexpr std::uint64_t most = std::numeric_limits<int>::max();
  EXPECT_EQ(checked_count(0), 0);
  EXPECT_EQ(checked_count(most), std::numeric_limits<int>::max());
  for (const std::uint64_t count : {most + 1, ~std::uint64_t{0}}) {
    const Outcome outcome = outcome_of([&] { static_cast<void>(checked_count(count)); });
    EXPECT_EQ(outcome.code, ErrorCode::internal);
    expect_words(outcome.text, {std::to_string(count)});
  }
}

}  // namespace
}  // namespace valet::mpi
