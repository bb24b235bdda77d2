// SPDX-License-Identifier: BSD-3-Clause

#include "storage/loan.hpp"

#include "base/machine_identity.hpp"
#include "test_comm.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

namespace valet::storage {
namespace {

using namespace valet::test;

constexpr std::size_t line = 64, limit = 100'000, bytes = 50'000;

/// Calls on a communicator of their own, one after the other.
class Loans : public testing::Test {
 protected:
  Loans() { MPI_Comm_dup(MPI_COMM_WORLD, &communicator_); }
  ~Loans() override { MPI_Comm_free(&communicator_); }

  /// A call with a budget of so many bytes: action(loan).
  template <class Action>
  void call(std::size_t limit_bytes, bool keep, Action&& action) {
    const std::size_t before = ledger_.current_bytes();
    {
      const mpi::Channel channel = mpi::Channel::open_for_call(communicator_);
      Loan loan(channel, ledger_, limit_bytes, keep);
      action(loan);
      mpi::agree(channel, std::nullopt);
    }
    EXPECT_EQ(ledger_.current_bytes(), before);
  }
  /// One that leaves scratch of `bytes`, and where it is.
  const std::byte* leave_scratch(bool keep = true) {
    const std::byte* data = nullptr;
    call(limit, keep, [&](Loan& loan) {
      loan.take_scratch(bytes);
      data = loan.scratch().data();
    });
    return data;
  }

  MPI_Comm communicator_ = MPI_COMM_NULL;
  Ledger ledger_;
};

TEST_F(Loans, KeepScratchForTheNextCallWhichCountsItFromTheBeginning) {
  const std::byte* const data = leave_scratch();
  call(limit, true, [&](Loan& loan) {
    EXPECT_EQ(ledger_.current_bytes(), bytes + line);
    loan.take_scratch(bytes / 2);
    EXPECT_EQ(loan.scratch().data(), data);
    EXPECT_EQ(loan.scratch().size(), bytes + line);
  });
  EXPECT_EQ(ledger_.peak_bytes(), bytes + line);
}

TEST_F(Loans, FreeWhatIsMoreThanTheLimitWithoutCountingIt) {
  leave_scratch();
  ledger_.reset_peak();
  call(bytes, true, [&](Loan& loan) {
    EXPECT_EQ(ledger_.peak_bytes(), 0U);
    loan.take_scratch(1000);
    EXPECT_EQ(loan.scratch().size(), 1000 + line);
  });
  leave_scratch();
  call(limit, true, [&](Loan& loan) {
    loan.limit(bytes);
    EXPECT_TRUE(loan.scratch().empty());
  });
  call(limit, true, [&](Loan&) { EXPECT_EQ(ledger_.current_bytes(), 0U); });
}

TEST_F(Loans, KeepNothingWhereTheyAreNotTo) {
  leave_scratch(false);
  call(limit, true, [&](Loan&) { EXPECT_EQ(ledger_.current_bytes(), 0U); });
  leave_scratch();
  call(limit, false, [&](Loan&) { EXPECT_EQ(ledger_.current_bytes(), 0U); });
  const auto take_large = [&](Loan& loan) {
    loan.keep_scratch_up_to(bytes - 1);
    loan.take_scratch(bytes);
  };
  call(limit, true, take_large);
  call(limit, true, [&](Loan&) { EXPECT_EQ(ledger_.current_bytes(), 0U); });
  leave_scratch();
  call(limit, true, take_large);
  call(limit, true,
       [&](Loan&) { EXPECT_EQ(ledger_.current_bytes(), bytes + line) << "it was kept"; });
}

TEST_F(Loans, GiveLeakedScratchToNobody) {
  call(limit, true, [&](Loan& loan) {
    const std::byte* data = nullptr;
    {
#if defined(__SANITIZE_ADDRESS__)
      const __lsan::ScopedDisabler meant;
#endif
      loan.take_scratch(bytes);
      data = loan.scratch().data();
      loan.leak_scratch();
    }
    EXPECT_EQ(ledger_.current_bytes(), 0U);
    loan.take_scratch(bytes);
    EXPECT_NE(loan.scratch().data(), data);
  });
}

TEST_F(Loans, DivideTheLimitBetweenTheNodeAndScratch) {
  constexpr std::size_t page = 4096;
  std::vector<int> others;
  for (int other = 0; other < size(); ++other)
    if (other != rank()) others.push_back(other);
  std::size_t shared = 0;
  call(limit, true, [&](Loan& loan) {
    const mpi::Channel channel = mpi::Channel::open_for_call(communicator_);
    NodeWish wish(channel, ledger_, others, others);
    wish.allowance = wish.wish = page;
    mpi::Agreement agreement;
    loan.join(agreement, &wish);
    agreement.run(channel, std::nullopt);
    loan.share(wish);
    shared = loan.node().bytes();
  });
  if (sum_over_ranks(static_cast<long long>(shared)) == 0)
    GTEST_SKIP() << "no memory to share on this system";
  EXPECT_EQ(shared, page * others.size() + page);
  call(limit, true, [&](Loan& loan) {
    EXPECT_GE(ledger_.current_bytes(), page) << "what is kept counts";
    loan.take_scratch(limit - shared);
    EXPECT_GE(ledger_.current_bytes(), limit - shared + line + page) << "as much is left";
    loan.take_scratch(limit - shared + 1);
    EXPECT_EQ(ledger_.current_bytes(), limit - shared + 1 + line) << "what nobody uses makes room";
  });
}

}  // namespace
}  // namespace valet::storage
