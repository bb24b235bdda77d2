// SPDX-License-Identifier: BSD-3-Clause

// What a call takes beside the swarm: by Valet's own account, as Valet asks the system for it, and
// as the process grows, where DMSwarmMigrate() takes a copy of what leaves and one of what arrives.

#include "counted_new.hpp"
#include "process_memory.hpp"
#include "promise.hpp"
#include "swarms.hpp"

namespace valet::test {
namespace {

/// As many points on every rank before as after, of which every second one changes its rank.
void fill_and_shift(Swarm& swarm, PetscInt count) {
  swarm.fill(count, 1'000'000 * rank(), 0);
  swarm.send([](std::size_t k) { return (rank() + static_cast<int>(k % 2)) % size(); });
}

TEST(PetscMemory, OfValetIsWithinThePromise) {
  for (const std::size_t budget : {std::size_t{32} << 10, std::size_t{4} << 20}) {
    constexpr PetscInt count = 20'000;
    const OwnComm comm;
    Swarm swarm([](DM) {}, comm);
    fill_and_shift(swarm, count);
    Valet_Options options = Valet_Options_default();
    options.budget_bytes = budget;
    Valet_Report report = Valet_Report_default();
    const AskedBytes asked;
    EXPECT_EQ(migrate(swarm, &options, &report).text, "");
    const std::uint64_t most_asked = asked.most();
    const std::uint64_t promised =
        promised_bytes(budget, report.neighbours, static_cast<std::uint64_t>(size())) + 8 * count;
    EXPECT_TRUE(all_ranks(most_asked <= promised)) << most_asked << " of " << promised;
    EXPECT_TRUE(all_ranks(report.extra_bytes_bound <= promised)) << report.extra_bytes_bound;
    EXPECT_TRUE(all_ranks(swarm.rows_are_right()));
  }
}

/// The growth of the process at its peak, while so many points move.
template <class Move>
long long growth_while(Swarm& swarm, PetscInt count, Move&& move) {
  fill_and_shift(swarm, count);
  EXPECT_TRUE(restart_resident_peak());
  const long long before = status_bytes("VmHWM");
  move();
  return max_over_ranks(status_bytes("VmHWM") - before);
}

TEST(PetscMemory, OfTheProcessGrowsByTheBudgetNotByWhatMoves) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer has its own memory";
#endif
  if (!all_ranks(restart_resident_peak() && status_bytes("VmHWM") > 0))
    GTEST_SKIP() << "this system does not report resident peaks";
  constexpr PetscInt count = 100'000;
  constexpr long long row_bytes = 8 + 8 + 24 + 2 + 24 + 15, mebibyte = 1 << 20;
  Swarm swarm, stock;
  Valet_Options options = Valet_Options_default();
  options.budget_bytes = mebibyte;
  const long long growth =
      growth_while(swarm, count, [&] { EXPECT_EQ(migrate(swarm, &options).text, ""); });
  const long long stock_growth =
      growth_while(stock, count, [&] { require(DMSwarmMigrate(stock, PETSC_TRUE)); });
  if (rank() == 0)
    std::cout << count * row_bytes / mebibyte << " MiB a rank, half of which moves: growth "
              << growth / 1024 << " KiB, by DMSwarmMigrate() " << stock_growth / 1024 << " KiB\n";
  EXPECT_LT(growth, 4 * mebibyte);
  if (size() > 1) {
    EXPECT_GT(stock_growth, count * row_bytes / 2);
  }
}

}  // namespace
}  // namespace valet::test
