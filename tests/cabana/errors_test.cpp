// SPDX-License-Identifier: BSD-3-Clause

// What is wrong with one rank's particles, ranks or memory is the same error on all ranks, and
// nothing has changed.

#include "particles.hpp"

namespace valet::test {
namespace {

/// A distributor whose particles cannot be read.
struct Unreadable {
  [[nodiscard]] static MPI_Comm comm() { return MPI_COMM_WORLD; }
  [[nodiscard]] static std::size_t exportSize() { return 10; }
  [[nodiscard]] static int numNeighbor() { return 1; }
  [[nodiscard]] static int neighborRank(int) { return rank(); }
  [[nodiscard]] static std::size_t numExport(int) {
    if (is_odd()) throw std::runtime_error("no exports today");
    return 10;
  }
  [[nodiscard]] static Kokkos::View<std::size_t*, Kokkos::HostSpace> getExportSteering() {
    Kokkos::View<std::size_t*, Kokkos::HostSpace> steering("steering", 10);
    for (std::size_t k = 0; k < 10; ++k) steering(k) = k;
    return steering;
  }
};

}  // namespace
}  // namespace valet::test

template <>
struct Cabana::is_distributor<valet::test::Unreadable> : std::true_type {};

namespace valet::test {
namespace {

#ifdef VALET_TEST_WITH_CABANA
/// While one lives, Kokkos refuses memory for particles, with this exception.
class Refusal {
 public:
  explicit Refusal(bool refuses) {
    if (refuses) Kokkos::Tools::Experimental::set_allocate_data_callback(refuse);
  }
  Refusal(const Refusal&) = delete;
  Refusal& operator=(const Refusal&) = delete;
  ~Refusal() { Kokkos::Tools::Experimental::set_allocate_data_callback(nullptr); }

 private:
  static void refuse(Kokkos::Tools::SpaceHandle, const char*, const void*, std::uint64_t) {
    throw std::bad_alloc();
  }
};
#else
class Refusal {
 public:
  explicit Refusal(bool refuses) { Particles<4>::AoSoA::refuses = refuses; }
  Refusal(const Refusal&) = delete;
  Refusal& operator=(const Refusal&) = delete;
  ~Refusal() { Particles<4>::AoSoA::refuses = false; }
};
#endif

class CabanaErrors : public ::testing::Test {
 protected:
  static constexpr std::size_t count = 10;
  Particles<4> particles{count};
  std::vector<int> ranks = std::vector<int>(count, (rank() + 1) % size());

  template <class Map>
  void expect(const Map& map, ErrorCode code, const std::vector<std::string>& words,
              const Options& options = {.negative_rank = NegativeRank::drop}) {
    expect_error(
        outcome_of([&] { cabana::migrate(MPI_COMM_WORLD, particles.aosoa, map, options); }), code,
        words);
    EXPECT_TRUE(all_ranks(particles.is_untouched(count)));
  }
};

TEST_F(CabanaErrors, OtherThanOneRankForEachParticle) {
  if (is_odd()) ranks.pop_back();
  expect(ranks, ErrorCode::invalid_argument,
         {odd_name(), "AoSoA 'particles' has 10 particles", "ranks for 9"});
}

TEST_F(CabanaErrors, ADistributorOfOtherParticles) {
  if (is_odd()) ranks.resize(12, 0);
  const Distributor distributor(MPI_COMM_WORLD, view_of(ranks));
  expect_error(outcome_of([&] { cabana::migrate(distributor, particles.aosoa); }),
               ErrorCode::invalid_argument,
               {odd_name(), "has 10 particles", "ranks for 12", "make the Distributor anew"});
  EXPECT_TRUE(all_ranks(particles.is_untouched(count)));
}

TEST_F(CabanaErrors, ARankThatIsNone) {
  if (is_odd()) ranks[7] = size();
  expect(ranks, ErrorCode::rank_out_of_range, {odd_name(), std::to_string(size())});
  if (is_odd()) ranks[7] = -2;
  expect(ranks, ErrorCode::rank_out_of_range, {odd_name(), "-2"});
}

TEST_F(CabanaErrors, NobodyWhereOptionsDoNotSayDrop) {
  if (is_odd()) ranks[7] = -1;
  expect(ranks, ErrorCode::rank_out_of_range, {odd_name(), "-1"}, {});
}

TEST_F(CabanaErrors, OtherMembersOnARank) {
  if (size() == 1) return;
  Cabana::AoSoA<Cabana::MemberTypes<double>, Kokkos::HostSpace, 4> other("other", count);
  expect_error(outcome_of([&] {
                 if (is_odd())
                   cabana::migrate(MPI_COMM_WORLD, other, ranks);
                 else
                   cabana::migrate(MPI_COMM_WORLD, particles.aosoa, ranks);
               }),
               ErrorCode::block_size_mismatch, {"8 bytes"});
  EXPECT_TRUE(all_ranks(particles.is_untouched(count)));
}

/// Before anything moves; and the AoSoA does not say that it has the memory.
TEST_F(CabanaErrors, NoMemoryForWhatArrives) {
  if (size() == 1) return;
  const std::size_t capacity = particles.aosoa.capacity();
  ranks.assign(count, odd_rank());
  {
    const Refusal refusal(is_odd());
    expect(ranks, ErrorCode::out_of_memory,
           {odd_name(), "no memory for enlarging the storage", "nothing has moved"});
  }
  EXPECT_EQ(particles.aosoa.capacity(), capacity);
  cabana::migrate(MPI_COMM_WORLD, particles.aosoa, ranks, {.order = Order::stable});
  EXPECT_EQ(particles.aosoa.size(), is_odd() ? count * static_cast<std::size_t>(size()) : 0);
  for (std::size_t k = 0; k < particles.aosoa.size(); ++k) {
    const std::size_t from = k / count;  // those that stay come first
    const Address origin{from == 0 ? odd_rank() : static_cast<int>(from) - 1, k % count};
    EXPECT_TRUE(particles.holds(k, origin));
  }
}

/// Slices cannot be enlarged.
TEST_F(CabanaErrors, SlicesThatAreTooShort) {
  if (size() == 1) return;
  const auto numbers = Cabana::slice<2>(particles.aosoa);
  ranks.assign(count, odd_rank());
  expect_error(outcome_of([&] { migrate(MPI_COMM_WORLD, cabana::blocks(numbers), count, ranks); }),
               ErrorCode::infeasible, {odd_name(), "has 10 slots"});
  EXPECT_TRUE(all_ranks(particles.is_untouched(count)));
}

/// All have moved then, so that the size has to say how many there are.
TEST_F(CabanaErrors, WhatACallbackThrows) {
  ranks.assign(count, odd_rank());
  const Options options{.progress = [](const Progress&) { throw std::runtime_error("no paper"); }};
  expect_error(
      outcome_of([&] { cabana::migrate(MPI_COMM_WORLD, particles.aosoa, ranks, options); }),
      ErrorCode::callback_failed, {"no paper", "every block"});
  EXPECT_EQ(particles.aosoa.size(), is_odd() ? count * static_cast<std::size_t>(size()) : 0);
}

TEST_F(CabanaErrors, WhatIsThrownWhileRanksAreRead) {
  expect_error(outcome_of([&] { cabana::migrate(Unreadable(), particles.aosoa); }),
               ErrorCode::callback_failed,
               {odd_name(), "reading the ranks of the particles failed: no exports today",
                "nothing has moved"});
  EXPECT_TRUE(all_ranks(particles.is_untouched(count)));
}

}  // namespace
}  // namespace valet::test
