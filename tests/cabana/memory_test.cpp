// SPDX-License-Identifier: BSD-3-Clause

// The memory of a migration, as the process sees it, within budget + 64 KiB + 256*neighbours +
// 8*slots, with a Distributor and 4 bytes a particle.

#include "counted_new.hpp"
#include "particles.hpp"
#include "promise.hpp"

namespace valet::test {
namespace {

TEST(CabanaMemory, IsWithinThePromise) {
  constexpr std::size_t count = 30'000;
  for (const bool by_distributor : {false, true})
    for (const std::size_t budget : {std::size_t{128} << 10, std::size_t{4} << 20}) {
      Particles<16> particles(count);
      particles.aosoa.reserve(count + count / 2);
      // Without a pattern that a layout could say.
      std::mt19937_64 random(seed() + static_cast<std::uint64_t>(rank()));
      std::vector<int> ranks(count);
      for (int& to : ranks)
        to = pick(random, 0, 3) > 0
                 ? rank()
                 : static_cast<int>(pick(random, 1, static_cast<std::uint64_t>(size()))) - 1;
      const OwnComm comm;
      const Distributor distributor(comm, view_of(ranks));
      const Options options{.budget_bytes = budget};
      const AskedBytes asked;
      const Report report = by_distributor ? cabana::migrate(distributor, particles.aosoa, options)
                                           : cabana::migrate(comm, particles.aosoa, ranks, options);
      const std::uint64_t most_asked = asked.most();
      const std::uint64_t promised = promised_bytes(budget, report.neighbours, 0) +
                                     8 * particles.aosoa.capacity() +
                                     (by_distributor ? 4 * count : 0);
      EXPECT_TRUE(all_ranks(most_asked <= promised)) << most_asked << " of " << promised;
      expect_within_bound(report);
      EXPECT_EQ(sum_over_ranks(static_cast<long long>(particles.aosoa.size())),
                static_cast<long long>(count) * size());
    }
}

}  // namespace
}  // namespace valet::test
