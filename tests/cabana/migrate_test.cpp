// SPDX-License-Identifier: BSD-3-Clause

// Random maps of particles in AoSoAs, by ranks, by Cabana's Distributor and by plans, against the
// oracle.

#include "particles.hpp"

namespace valet::test {
namespace {

constexpr std::size_t particle_bytes = 6 * 8 + 3 * 4 + 8 + 8 * 2 + 1;

template <class Length>
class CabanaMigrate : public ::testing::Test {};
using Lengths = ::testing::Types<std::integral_constant<int, 1>, std::integral_constant<int, 4>,
                                 std::integral_constant<int, 16>>;
TYPED_TEST_SUITE(CabanaMigrate, Lengths);

/// @param move  Moves the particles of an AoSoA by a map.
template <int length, class Move>
void check_random_maps(Move&& move) {
  const std::uint64_t cases = cases_wanted(60);
  for (std::uint64_t c = 0; c < cases; ++c) {
    std::mt19937_64 random(seed() + c);
    const ParticleMap map(random);
    SCOPED_TRACE(seed_note(seed() + c) + ", " + describe(map.options));
    Particles<length> particles(map.count());
    const Report report = move(particles.aosoa, map);
    EXPECT_EQ(report.blocks_before, map.count());
    EXPECT_EQ(report.blocks_after, map.arriving());
    ASSERT_TRUE(all_ranks(particles.aosoa.size() == map.arriving()));
    EXPECT_LE(particles.aosoa.capacity(), std::max(map.count(), map.arriving()) + length - 1)
        << "more than was needed";
    EXPECT_EQ(sum_over_ranks(wrong_slots(map.content(particle_bytes),
                                         [&](std::uint64_t slot, const Address& from) {
                                           return particles.holds(slot, from);
                                         })),
              0);
    expect_within_bound(report);
  }
}

TYPED_TEST(CabanaMigrate, ByRanks) {
  check_random_maps<TypeParam::value>([](auto& aosoa, const ParticleMap& map) {
    return cabana::migrate(MPI_COMM_WORLD, aosoa, map.ranks(), map.options);
  });
}

TYPED_TEST(CabanaMigrate, ByAViewOfRanks) {
  check_random_maps<TypeParam::value>([](auto& aosoa, const ParticleMap& map) {
    const Kokkos::View<const int*, Kokkos::HostSpace> ranks = view_of(map.ranks());
    return cabana::migrate(MPI_COMM_WORLD, aosoa, ranks, map.options);
  });
}

TYPED_TEST(CabanaMigrate, ByADistributor) {
  check_random_maps<TypeParam::value>([](auto& aosoa, const ParticleMap& map) {
    const Distributor distributor(MPI_COMM_WORLD, view_of(map.ranks()));
    Options options = map.options;
    options.negative_rank = NegativeRank::refuse;  // Cabana's -1 are none of Valet's
    return map.count() % 2 == 0
               ? cabana::migrate(distributor, aosoa, options)
               : cabana::migrate(Kokkos::DefaultHostExecutionSpace(), distributor, aosoa, options);
  });
}

TYPED_TEST(CabanaMigrate, ByAPlan) {
  check_random_maps<TypeParam::value>([](auto& aosoa, const ParticleMap& map) {
    const Kokkos::DefaultHostExecutionSpace space;
    const BlockStorage storage = cabana::blocks(space, aosoa);
    Plan plan = plan_to_ranks(MPI_COMM_WORLD, storage, aosoa.size(), map.ranks(), map.options);
    const Report report = execute(plan, storage);
    aosoa.resize(report.blocks_after);
    return report;
  });
}

/// As on a device, where nothing but kernels reaches them.
TYPED_TEST(CabanaMigrate, ByKernels) {
  check_random_maps<TypeParam::value>([](auto& aosoa, const ParticleMap& map) {
    aosoa.reserve(map.arriving());
    constexpr std::size_t tile = TypeParam::value;
    const auto staged = [&]<std::size_t... M>(std::index_sequence<M...>) {
      return kokkos::staged_blocks(cabana::detail::tiles_of(
          Cabana::slice<M>(aosoa), aosoa.capacity() / tile, aosoa.capacity())...);
    };
    const BlockStorage storage = staged(std::make_index_sequence<Particles<1>::members>());
    const Report report = migrate(MPI_COMM_WORLD, storage, aosoa.size(), map.ranks(), map.options);
    aosoa.resize(report.blocks_after);
    return report;
  });
}

/// In what has been reserved nothing is allocated, and slices stay valid.
TEST(Cabana, KeepsTheMemoryWhereItFits) {
  Particles<4> particles(20);
  particles.aosoa.reserve(20 * static_cast<std::size_t>(size()));
  const auto number = Cabana::slice<2>(particles.aosoa);
  const void* const memory = particles.aosoa.data();
  cabana::migrate(MPI_COMM_WORLD, particles.aosoa, std::vector<int>(20, 0));
  EXPECT_EQ(particles.aosoa.data(), memory);
  EXPECT_EQ(particles.aosoa.size(), rank() == 0 ? 20 * static_cast<std::size_t>(size()) : 0);
  if (rank() == 0) {
    EXPECT_EQ(number(0), 0);
  }
}

/// Ranks without options drop particles of rank -1, as Cabana does.
TEST(Cabana, DropsWithoutOptions) {
  Particles<16> particles(10);
  const Report report = cabana::migrate(MPI_COMM_WORLD, particles.aosoa, std::vector<int>(10, -1));
  EXPECT_EQ(report.blocks_dropped, 10U);
  EXPECT_EQ(particles.aosoa.size(), 0U);
}

/// Slices that are given move, and the others do not.
TEST(Cabana, SlicesAreAStorage) {
  constexpr std::size_t count = 21;
  Particles<4> particles(count);
  const auto vectors = Cabana::slice<0>(particles.aosoa);
  const auto numbers = Cabana::slice<2>(particles.aosoa);
  const auto letters = Cabana::slice<4>(particles.aosoa);
  for (std::size_t k = 0; k < count; ++k) {
    vectors(k, 2, 1) = rank() + 0.5;
    letters(k) = static_cast<char>(rank());
  }
  const BlockStorage storage = cabana::blocks(vectors, numbers);
  EXPECT_EQ(storage.slots(), count);
  EXPECT_EQ(storage.block_bytes(), 56U);
  EXPECT_FALSE(storage.grows());
  const std::vector<int> to(count, (rank() + 1) % size());
  migrate(MPI_COMM_WORLD, storage, count, to, {.order = Order::stable});
  const int from = (rank() + size() - 1) % size();
  for (std::size_t k = 0; k < count; ++k) {
    EXPECT_EQ(vectors(k, 2, 1), from + 0.5);
    EXPECT_EQ(particles.origin(k), (Address{from, k}));
    EXPECT_EQ(letters(k), static_cast<char>(rank()));
  }
}

TEST(Cabana, OnlyWhatIsNotConstGrows) {
  Particles<4> particles(10);
  EXPECT_TRUE(cabana::blocks(particles.aosoa).grows());
  const auto shallow = particles.aosoa;
  const BlockStorage storage = cabana::blocks(shallow);
  EXPECT_FALSE(storage.grows());
  EXPECT_EQ(storage.slots(), 12U) << "the capacity";
  migrate(MPI_COMM_WORLD, storage, 10, std::vector<int>(10, (rank() + 1) % size()));
  EXPECT_EQ(particles.origin(0).rank, (rank() + size() - 1) % size());
}

/// A plan serves as often as wanted, also an AoSoA that it has not seen.
TEST(Cabana, APlanServesAgain) {
  Particles<4> one(12), other(12);
  const std::vector<int> to(12, (rank() + 1) % size());
  Plan plan =
      plan_to_ranks(MPI_COMM_WORLD, cabana::blocks(one.aosoa), 12, to, {.order = Order::stable});
  execute(plan, cabana::blocks(one.aosoa));
  execute(plan, cabana::blocks(one.aosoa));
  execute(plan, cabana::blocks(other.aosoa));
  for (std::size_t k = 0; k < 12; ++k) {
    EXPECT_TRUE(one.holds(k, {(rank() + 2 * size() - 2) % size(), k}));
    EXPECT_TRUE(other.holds(k, {(rank() + size() - 1) % size(), k}));
  }
}

}  // namespace
}  // namespace valet::test
