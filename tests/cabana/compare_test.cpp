// SPDX-License-Identifier: BSD-3-Clause

// The same Distributor, with Cabana::migrate and with Valet.

#include "particles.hpp"

namespace valet::test {
namespace {

template <int length>
std::vector<Address> origins(const Particles<length>& particles) {
  std::vector<Address> result;
  for (std::size_t k = 0; k < particles.aosoa.size(); ++k) {
    result.push_back(particles.origin(k));
    EXPECT_TRUE(particles.holds(k, result.back()));
  }
  return result;
}

/// Those that stay, then the rest by the rank where they were.
void sort_by_source(std::vector<Address>& particles) {
  std::ranges::stable_sort(
      particles, {}, [](const Address& from) { return from.rank == rank() ? -1 : from.rank; });
}

/// Cabana's order is that of its neighbours; within one of them, and in the particles that stay, it
/// is Order::stable. On one and two ranks nothing is left to differ.
TEST(CabanaCompare, TheSameParticlesArriveInStableOrderBySource) {
  const std::uint64_t cases = cases_wanted(200);
  for (std::uint64_t c = 0; c < cases; ++c) {
    std::mt19937_64 random(seed() + c);
    const ParticleMap map(random);
    SCOPED_TRACE(seed_note(seed() + c));
    const Distributor distributor(MPI_COMM_WORLD, view_of(map.ranks()));
    Particles<16> theirs(map.count()), ours(map.count());
    Cabana::migrate(distributor, theirs.aosoa);
    cabana::migrate(distributor, ours.aosoa, {.order = Order::stable});
    std::vector<Address> expected = origins(theirs);
    if (size() > 2) sort_by_source(expected);
    EXPECT_TRUE(all_ranks(origins(ours) == expected));
  }
}

/// Slice after slice in Cabana, all at once in Valet.
TEST(CabanaCompare, SlicesToo) {
  const std::vector<int> ranks(40, (rank() + 1) % size());
  const Distributor distributor(MPI_COMM_WORLD, view_of(ranks));
  Particles<4> theirs(40), ours(40);
  auto vectors = Cabana::slice<0>(theirs.aosoa);
  auto numbers = Cabana::slice<2>(theirs.aosoa);
  Cabana::migrate(distributor, vectors, vectors);
  Cabana::migrate(distributor, numbers, numbers);
  migrate(MPI_COMM_WORLD,
          cabana::blocks(Cabana::slice<0>(ours.aosoa), Cabana::slice<2>(ours.aosoa)), 40, ranks,
          {.order = Order::stable});
  for (std::size_t k = 0; k < 40; ++k) {
    EXPECT_EQ(theirs.origin(k), ours.origin(k));
    EXPECT_EQ(vectors(k, 1, 1), Cabana::slice<0>(ours.aosoa)(k, 1, 1));
  }
}

}  // namespace
}  // namespace valet::test
