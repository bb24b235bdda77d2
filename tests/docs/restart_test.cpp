// SPDX-License-Identifier: BSD-3-Clause

// Runs the snippets of the page about another number of ranks: five ranks write, two go on.

#include "file_cases.hpp"
#include "reference_c.h"
#include <valet/valet.hpp>

#include <numeric>

#ifdef VALET_DOCS_IN_FORTRAN
extern "C" void fortran_restarted(int comm, const Valet_Storage* particles, std::int64_t count);
extern "C" void fortran_resized_lists(int comm, const Valet_Ragged_storage* lists,
                                      std::int64_t* count);
extern "C" void fortran_resized(int comm, const Valet_Storage* particles, std::int64_t* count);
#endif

namespace {

using valet::test::rank;
using valet::test::SharedPath;
using valet::test::size;

TEST(Restart, GoesOnInAnotherLayout) {
  const SharedPath where;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(where.folder());
  std::vector<std::uint64_t> ids(100);
  std::vector<std::array<double, 3>> places(100);
  std::iota(ids.begin(), ids.end(), 100 * static_cast<std::uint64_t>(rank()));
  for (std::size_t k = 0; k < 100; ++k) places[k][2] = static_cast<double>(ids[k]);
  const auto put = valet::BlockCyclic::block({50, 50}, {size(), 1});
  const auto got = valet::BlockCyclic::cyclic({50, 50}, {1, size()});
  std::vector<double> density(static_cast<std::size_t>(put.local_elements(rank())));
  for (std::size_t k = 0; k < density.size(); ++k)
    density[k] = static_cast<double>(
        put.global_indices(rank(), {static_cast<std::int64_t>(k) / 50, 0})[0] * 50 +
        static_cast<std::int64_t>(k) % 50);
  {
    valet::Junction file = valet::Junction::create(MPI_COMM_WORLD, "state.valet");
    file.put({valet::field(ids, 1, "id"), valet::field(places, 1, "place")}, ids.size(),
             "particles")
        .wait();
    file.put(std::span<const double>(density), {put}, "density").wait();
    file.close();
  }
  density.assign(static_cast<std::size_t>(got.local_elements(rank())), -1);
  {
    valet::Junction file = valet::Junction::open(MPI_COMM_WORLD, "state.valet");
    const int writers = file.other_ranks();
    EXPECT_EQ(writers, size());
    const auto grow = [&](std::uint64_t count) {
      ids.resize(count);
      places.resize(count);
      return valet::BlockStorage{valet::field(ids, 1, "id"), valet::field(places, 1, "place")};
    };
    file.get(grow, "particles").wait();
    file.get(std::span(density), {got}, "density").wait();
  }
  std::filesystem::current_path(before);
  for (std::size_t k = 0; k < ids.size(); ++k) {
    EXPECT_EQ(ids[k], 100 * static_cast<std::uint64_t>(rank()) + k);
    EXPECT_EQ(places[k][2], static_cast<double>(ids[k]));
  }
  const std::int64_t columns = got.local_extents(rank())[1];
  for (std::int64_t i = 0; i < 50; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      EXPECT_EQ(density[static_cast<std::size_t>(i * columns + j)],
                static_cast<double>(i * 50 + rank() + j * size()));
}

TEST(Restart, GoesOnInTheRunningJob) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  const int ranks = size();
  std::vector<std::array<double, 3>> positions(100);
  std::uint64_t count = rank() < 2 ? 50 : 0;
  for (std::uint64_t k = 0; k < count; ++k)
    positions[k][1] = static_cast<double>(50 * static_cast<std::uint64_t>(rank()) + k);
  const valet::BlockStorage particles{valet::field(positions, 1, "position")};
  valet::ResizeResult now =
      valet::resize(comm, particles, count, 2, 4);  // 2 ranks had them, 4 have them
  now = valet::resize(comm, particles, now.count, 4, 1);
  if (!now.is_active) std::puts("this rank is empty and may leave");
  EXPECT_EQ(now.count, rank() < 1 ? 100U : 0U);

  valet::ResizeOptions options;
  options.balance = valet::ResizeBalance::numbering;
  options.released = [&](std::uint64_t first, std::uint64_t slots) {
    valet::give_back(positions.data(), sizeof positions[0], first, slots);
  };
  now = valet::resize(comm, particles, now.count, 1, ranks, options);
  const std::uint64_t share = 100 / static_cast<std::uint64_t>(ranks);
  EXPECT_LE(now.count - share, 1U);
}

/// Particles that are numbers, of which each rank gets its own back.
class RestartInOtherLanguages : public testing::Test {
 protected:
  void SetUp() override {
    std::iota(values_.begin(), values_.end(), 10 * rank());
    Valet_Storage_add_field(particles_, values_.data(), values_.size(), sizeof(double),
                            sizeof(double), "x");
  }
  void TearDown() override {
    for (std::size_t k = 0; k < values_.size(); ++k)
      EXPECT_EQ(values_[k], static_cast<double>(10 * rank()) + static_cast<double>(k));
    Valet_Storage_free(particles_);
  }

  SharedPath where_;
  std::vector<double> values_ = std::vector<double>(10);
  Valet_Storage* particles_ = Valet_Storage_create();
};

TEST_F(RestartInOtherLanguages, InC) {
  restarted(MPI_COMM_WORLD, where_.path().c_str(), particles_, values_.size());
}

TEST_F(RestartInOtherLanguages, ResizedInC) {
  const std::vector<double> before = values_;
  const std::uint64_t count = rank() < 2 ? 5 : 0;
  EXPECT_EQ(resized(MPI_COMM_WORLD, particles_, count), rank() == 0 ? 10U : 0U);
  for (std::size_t k = 0; rank() == 0 && k < 10; ++k)
    EXPECT_EQ(values_[k], static_cast<double>(k < 5 ? k : k + 5));
  values_ = before;
}

/// Lists of one, two, ... bytes; all of them end on the first rank.
template <class Resize>
void resize_lists(Resize&& resize) {
  std::vector<std::uint8_t> bytes(100, 0);
  std::vector<std::uint64_t> lengths(10, 0);
  const std::uint64_t count = rank() < 2 ? 4 : 0;
  std::size_t end = 0;
  for (std::size_t k = 0; k < count; ++k) {
    lengths[k] = k + 1;
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(end), k + 1,
                static_cast<std::uint8_t>(10 * rank() + static_cast<int>(k)));
    end += k + 1;
  }
  Valet_Ragged_storage* const lists = Valet_Ragged_storage_create();
  Valet_Ragged_storage_add_field(lists, bytes.data(), bytes.size(), lengths.data(), lengths.size(),
                                 1, "list");
  EXPECT_EQ(resize(lists, count), rank() == 0 ? 8U : 0U);
  if (rank() == 0) {
    EXPECT_EQ(lengths[7], 4U);
    EXPECT_EQ(bytes[19], 13) << "the last list of rank 1";
  }
  Valet_Ragged_storage_free(lists);
}

TEST(RestartInC, ResizesLists) {
  resize_lists([](Valet_Ragged_storage* lists, std::uint64_t count) {
    return resized_lists(MPI_COMM_WORLD, lists, count);
  });
}

#ifdef VALET_DOCS_IN_FORTRAN
TEST(RestartInFortran, ResizesLists) {
  resize_lists([](Valet_Ragged_storage* lists, std::uint64_t count) {
    auto now = static_cast<std::int64_t>(count);
    fortran_resized_lists(MPI_Comm_c2f(MPI_COMM_WORLD), lists, &now);
    return static_cast<std::uint64_t>(now);
  });
}

TEST_F(RestartInOtherLanguages, ResizedInFortran) {
  const std::vector<double> before = values_;
  std::int64_t count = rank() < 2 ? 5 : 0;
  fortran_resized(MPI_Comm_c2f(MPI_COMM_WORLD), particles_, &count);
  EXPECT_EQ(count, rank() == 0 ? 10 : 0);
  values_ = before;
}

TEST_F(RestartInOtherLanguages, InFortran) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(where_.folder());
  fortran_restarted(MPI_Comm_c2f(MPI_COMM_WORLD), particles_,
                    static_cast<std::int64_t>(values_.size()));
  std::filesystem::current_path(before);
}
#endif

}  // namespace
