// SPDX-License-Identifier: BSD-3-Clause

// Runs the snippets in C and Fortran of the page about data between jobs: a simulation on three
// ranks, its analysis on the others.

#include "reference_c.h"
#include "two_sides.hpp"

#include <cstdlib>

extern "C" {
void fortran_simulated(Valet_Junction* analysis, const std::int64_t* n, double* part,
                       std::size_t bytes, const Valet_Storage* particles, std::int64_t count,
                       int* owners, const Valet_Ragged_storage* lists);
void fortran_analysed(int comm, const std::int64_t* n, double* part, std::size_t bytes,
                      const Valet_Storage* particles, Valet_Storage_for_fn* room_for, void* room,
                      const Valet_Ragged_storage* lists, std::int64_t* count);
}

namespace {

using valet::test::TwoSides;

constexpr std::int64_t n = 100;
constexpr std::uint64_t count = 8, most = 24;
constexpr int simulating = 3;

class ReferenceOfJunctions : public testing::Test {
 protected:
  void SetUp() override {
    if (valet::test::size() != 7) GTEST_SKIP() << "sides of 3 and 4 ranks";
    sides_.emplace(simulating);
    particles_ = Valet_Storage_create();
    lists_ = Valet_Ragged_storage_create();
    Valet_Storage_add_field(particles_, x_.data(), most, sizeof(double), sizeof(double), "x");
    Valet_Ragged_storage_add_field(lists_, values_.data(), values_.size() * sizeof(double),
                                   lengths_.data(), most, sizeof(double), "values");
    if (!sides_->is_first) return;
    for (std::uint64_t k = 0; k < count; ++k) {
      x_[k] = static_cast<double>(count) * sides_->own_rank + static_cast<double>(k);
      values_[k] = x_[k];
      lengths_[k] = sizeof(double);
    }
    for (std::size_t k = 0; k < part_.size(); ++k)
      part_[k] = static_cast<double>(34 * sides_->own_rank) + static_cast<double>(k);
  }
  void TearDown() override {
    Valet_Storage_free(particles_);
    Valet_Storage_free(room_.storage);
    Valet_Ragged_storage_free(lists_);
    std::free(room_.values);
    sides_.reset();
  }
  [[nodiscard]] Valet_Junction* connected() const {
    Valet_Junction* junction = nullptr;
    EXPECT_EQ(Valet_Junction_connect(sides_->between(), "flow", nullptr, &junction), VALET_SUCCESS);
    return junction;
  }
  /// What the analysis must have got.
  void expect_all(std::uint64_t lists) const {
    for (std::size_t k = 0; k < 25; ++k)
      EXPECT_EQ(part_[k], static_cast<double>(4 * k) + sides_->own_rank) << "the array";
    // Particles k and k + 4 of each rank are for rank k.
    EXPECT_EQ(lists, 2 * simulating);
    for (std::size_t k = 0; k < lists; ++k) {
      const double x = static_cast<double>(4 * k) + sides_->own_rank;
      EXPECT_EQ(x_[k], x) << "those dealt";
      EXPECT_EQ(room_.values[k], x) << "those of room that grew";
      EXPECT_EQ(values_[k], x) << "lists";
    }
  }

  std::optional<TwoSides> sides_;
  Valet_Storage* particles_ = nullptr;
  Valet_Ragged_storage* lists_ = nullptr;
  Room room_ = {nullptr, nullptr};
  std::vector<double> part_ = std::vector<double>(34), x_ = std::vector<double>(most, -1),
                      values_ = x_;
  std::vector<std::uint64_t> lengths_ = std::vector<std::uint64_t>(most);
  std::vector<int> owners_ = std::vector<int>(count);
};

TEST_F(ReferenceOfJunctions, InC) {
  const std::size_t bytes = part_.size() * sizeof(double);
  if (sides_->is_first)
    return simulated(connected(), n, part_.data(), bytes, particles_, count, owners_.data(),
                     lists_);
  expect_all(analysed(sides_->between(), n, part_.data(), bytes, particles_, &room_, lists_));
}

#ifdef VALET_DOCS_IN_FORTRAN
TEST_F(ReferenceOfJunctions, InFortran) {
  const std::size_t bytes = part_.size() * sizeof(double);
  if (sides_->is_first)
    return fortran_simulated(connected(), &n, part_.data(), bytes, particles_, count,
                             owners_.data(), lists_);
  std::int64_t lists = 0;
  fortran_analysed(MPI_Comm_c2f(sides_->between()), &n, part_.data(), bytes, particles_, grown_room,
                   &room_, lists_, &lists);
  expect_all(static_cast<std::uint64_t>(lists));
}
#endif

}  // namespace
