// SPDX-License-Identifier: BSD-3-Clause

#include "exact_sum.hpp"

#include "test_comm.hpp"

#include <cfloat>

namespace amr::test {
namespace {

using namespace valet::test;

/// Values of all magnitudes and both signs, the same on all ranks.
std::vector<double> values() {
  std::mt19937_64 random(seed());
  std::vector<double> list{DBL_MAX / 4, -DBL_MIN, DBL_TRUE_MIN, -DBL_TRUE_MIN / 1, 0.0, -0.0, 1.0};
  for (int k = 0; k < 2000; ++k)
    list.push_back(std::ldexp(static_cast<double>(random()) - 0x1p63,
                              static_cast<int>(random() % 2000) - 1060));
  return list;
}

/// The sum over all ranks when value k is added by rank owner(k).
template <class Owner>
ExactSum sum_of(const std::vector<double>& list, Owner&& owner) {
  ExactSum sum;
  for (std::size_t k = 0; k < list.size(); ++k)
    if (owner(k) == rank()) sum.add(list[k]);
  return sum.over_ranks(MPI_COMM_WORLD);
}

TEST(ExactSum, DependsNeitherOnOrderNorOnRanks) {
  SCOPED_TRACE(seed_note());
  std::vector<double> list = values();
  const ExactSum on_first = sum_of(list, [](std::size_t) { return 0; });
  std::shuffle(list.begin(), list.end(), std::mt19937_64(seed() + 1));
  const ExactSum cyclic = sum_of(list, [](std::size_t k) { return static_cast<int>(k) % size(); });
  EXPECT_TRUE(on_first == cyclic);
}

TEST(ExactSum, SeesTheLastBitOfTheSmallestValue) {
  std::vector<double> list = values();
  const ExactSum sum = sum_of(list, [](std::size_t) { return 0; });
  list.push_back(DBL_TRUE_MIN);
  EXPECT_FALSE(sum_of(list, [](std::size_t) { return size() - 1; }) == sum);
}

TEST(ExactSum, CancelsToNothing) {
  std::vector<double> list = values();
  const std::size_t half = list.size();
  for (std::size_t k = 0; k < half; ++k) list.push_back(-list[k]);
  const ExactSum sum = sum_of(list, [](std::size_t k) { return static_cast<int>(k % 7) % size(); });
  EXPECT_TRUE(sum == ExactSum().over_ranks(MPI_COMM_WORLD));
  EXPECT_EQ(sum.value(), 0.0);
}

TEST(ExactSum, ValueIsTheSum) {
  ExactSum sum;
  if (rank() == 0)
    for (const double value : {0.1, 1e17, 0.25, -1e17}) sum.add(value);
  EXPECT_DOUBLE_EQ(sum.over_ranks(MPI_COMM_WORLD).value(), 0.35);
}

}  // namespace
}  // namespace amr::test
