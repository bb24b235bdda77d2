// SPDX-License-Identifier: BSD-3-Clause

// Cells of random objects: what they hold, where they are, and when they are split. No MPI.

#include "rebalance/cells.hpp"

#include "seed.hpp"
#include "testing.hpp"

namespace valet::rebalance {
namespace {

using test::seed;

/// Objects in an array with all coordinates of one behind the other.
struct Objects {
  std::size_t dimensions = 3;
  std::vector<double> places;
  std::vector<double> weights;

  [[nodiscard]] std::size_t count() const { return places.size() / dimensions; }
  [[nodiscard]] Point place(std::size_t object) const {
    Point point{};
    std::copy_n(&places[dimensions * object], dimensions, point.begin());
    return point;
  }
  [[nodiscard]] Columns coordinates() const {
    return array_columns(places.data(), count(), dimensions)();
  }
  [[nodiscard]] Box range() const {
    Box box;
    for (std::size_t d = 0; d < dimensions; ++d) {
      box.low[d] = std::numeric_limits<double>::infinity();
      box.high[d] = -box.low[d];
      for (std::size_t k = d; k < places.size(); k += dimensions) {
        box.low[d] = std::min(box.low[d], places[k]);
        box.high[d] = std::max(box.high[d], places[k]);
      }
    }
    return box;
  }
  [[nodiscard]] double weight(std::size_t k) const { return weights.empty() ? 1 : weights[k]; }
  [[nodiscard]] double total() const {
    double sum = 0;
    for (std::size_t k = 0; k < count(); ++k) sum += weight(k);
    return sum;
  }
};

using Spread = std::function<void(std::vector<double>& place, std::function<double()> any)>;
struct Distribution {
  const char* name;
  Spread spread;
};
const std::vector<Distribution>& distributions() {
  static const std::vector<Distribution> all{{"uniform", [](auto&, auto) {}},
                                             {"clustered",
                                              [](auto& place, auto any) {
                                                if (any() < 0.8)
                                                  for (double& x : place) x = 0.37 + 0.2 * x;
                                              }},
                                             {"needle",
                                              [](auto& place, auto any) {
                                                for (double& x : place) x = place[0] + 1e-6 * any();
                                              }},
                                             {"plane", [](auto& place, auto) { place[0] = 0.5; }},
                                             {"lattice",
                                              [](auto& place, auto) {
                                                for (double& x : place) x = std::floor(20 * x);
                                              }},
                                             {"spike", [](auto& place, auto any) {
                                                if (any() < 0.9)
                                                  for (double& x : place) x = 0.3 + 1e-9 * x;
                                              }}};
  return all;
}

Objects random_objects(const Distribution& distribution, std::size_t dimensions, std::size_t count,
                       std::uint64_t salt = 0) {
  std::mt19937_64 random(seed() + salt);
  std::uniform_real_distribution<double> from_0_to_1(0, 1);
  const auto any = [&] { return from_0_to_1(random); };
  Objects objects;
  objects.dimensions = dimensions;
  std::vector<double> place(dimensions);
  for (std::size_t k = 0; k < count; ++k) {
    std::ranges::generate(place, any);
    distribution.spread(place, any);
    objects.places.insert(objects.places.end(), place.begin(), place.end());
    objects.weights.push_back(k % 7 == 0 ? 0 : 0.5 + any());
  }
  return objects;
}

struct Binned {
  Binned(const Objects& objects, const CellLimits& limits, const Box& range,
         OctreeShape shape = OctreeShape::cubes)
      : octree(range, objects.dimensions, shape),
        cell_of(objects.count()),
        cells(ledger, octree, objects.coordinates(), objects.range(),
              objects.weights.empty() ? Columns{}
                                      : array_columns(objects.weights.data(), objects.count(), 1)(),
              limits, cell_of) {}
  Binned(const Objects& objects, const CellLimits& limits)
      : Binned(objects, limits, objects.range()) {}

  [[nodiscard]] const Cell& cell(std::size_t object) const {
    return cells.all()[static_cast<std::size_t>(cell_of[object])];
  }

  Octree octree;
  Ledger ledger;
  std::vector<int> cell_of;
  Cells cells;
};

void expect_right_sums(const Objects& objects, const Binned& binned) {
  std::vector<double> weight(binned.cells.all().size(), 0);
  std::vector<std::uint32_t> count(weight.size(), 0);
  for (std::size_t k = 0; k < objects.count(); ++k) {
    const auto cell = static_cast<std::size_t>(binned.cell_of[k]);
    ASSERT_LT(cell, weight.size());
    weight[cell] += objects.weight(k);
    ++count[cell];
  }
  std::size_t used = 0;
  for (std::size_t c = 0; c < weight.size(); ++c) {
    const Cell& cell = binned.cells.all()[c];
    EXPECT_EQ(cell.count, count[c]);
    EXPECT_NEAR(cell.weight, weight[c], 1e-9 * objects.total());
    if (cell.count == 0) continue;
    EXPECT_EQ(binned.cells.used()[used++], static_cast<int>(c));
    EXPECT_EQ(binned.cell_of[cell.object], static_cast<int>(c)) << "a cell is where an object is";
  }
  EXPECT_EQ(used, binned.cells.used().size());
}

void expect_all_in_their_boxes(const Objects& objects, const Binned& binned) {
  for (std::size_t k = 0; k < objects.count(); ++k) {
    const Cell& cell = binned.cell(k);
    const Box box = box_of(cell, binned.octree, objects.place(cell.object));
    for (std::size_t d = 0; d < objects.dimensions; ++d) {
      const double rounding = 1e-15 * (std::abs(box.low[d]) + std::abs(box.high[d]));
      EXPECT_GE(objects.places[objects.dimensions * k + d], box.low[d] - rounding);
      EXPECT_LE(objects.places[objects.dimensions * k + d], box.high[d] + rounding);
    }
  }
}

class OfDimensions : public ::testing::TestWithParam<std::size_t> {};

TEST_P(OfDimensions, CellsHoldEveryObjectOnceAndNoneIsAboveTheLimits) {
  SCOPED_TRACE(test::seed_note());
  for (const Distribution& distribution : distributions()) {
    SCOPED_TRACE(distribution.name);
    const Objects objects = random_objects(distribution, GetParam(), 20'000);
    CellLimits limits;
    limits.weight = 0.01 * objects.total();
    limits.count = 300;
    const Binned binned(objects, limits);
    expect_right_sums(objects, binned);
    expect_all_in_their_boxes(objects, binned);
    for (const int c : binned.cells.used()) {
      const Cell& cell = binned.cells.all()[static_cast<std::size_t>(c)];
      EXPECT_TRUE(cell.count == 1 || (cell.weight <= limits.weight && cell.count <= limits.count));
    }
    EXPECT_LE(binned.cells.used().size(), 10'000U) << "cells should be few";
  }
}

/// Whether two intervals are.
bool disjoint(double low_a, double high_a, double low_b, double high_b) {
  return high_a <= low_b || high_b <= low_a;
}
bool inside(double low_a, double high_a, double low_b, double high_b) {
  return low_a >= low_b && high_a <= high_b;
}

/// Columns of the host behind staging, as a device's are.
class CountedColumns final : public StagedColumns {
 public:
  explicit CountedColumns(const Columns& columns) : columns_(columns) {}

  void bring(std::uint64_t first, std::size_t count) override {
    EXPECT_LE(first + count, columns_.slots);
    ASSERT_LE(count, most_slots);
    for (std::size_t c = 0; c < columns_.size; ++c)
      columns_.column[c].copy_to(&numbers_[c * most_slots], first, count);
    ++calls;
  }
  void bring(std::span<const std::uint32_t> slots) override {
    ASSERT_LE(slots.size(), most_slots);
    for (std::size_t c = 0; c < columns_.size; ++c)
      for (std::size_t k = 0; k < slots.size(); ++k)
        numbers_[c * most_slots + k] = columns_.column[c][slots[k]];
    ++calls;
  }
  [[nodiscard]] const double* numbers(std::size_t column) const override {
    return &numbers_[column * most_slots];
  }
  [[nodiscard]] std::size_t bytes() const override { return numbers_.size() * sizeof(double); }

  int calls = 0;

 private:
  Columns columns_;
  std::vector<double> numbers_ = std::vector<double>(Columns::most * most_slots);
};

Columns staged(const Columns& columns, const std::shared_ptr<CountedColumns>& through) {
  Columns result = columns;
  result.staged = through;
  result.column = {};  // nobody may read them
  return result;
}

TEST_P(OfDimensions, CellsOfStagedColumnsAreTheSameAndReadAFewTimes) {
  constexpr std::size_t count = 100'000;
  for (const Distribution& distribution : distributions()) {
    SCOPED_TRACE(distribution.name);
    const Objects objects = random_objects(distribution, GetParam(), count);
    CellLimits limits;
    limits.weight = 0.001 * objects.total();
    limits.cells = 8192;
    limits.parts = 12;
    limits.tolerated = 4;
    const Columns weights = array_columns(objects.weights.data(), count, 1)();
    const auto places = std::make_shared<CountedColumns>(objects.coordinates());
    const auto works = std::make_shared<CountedColumns>(weights);
    const Octree octree(objects.range(), GetParam(), OctreeShape::cubes);
    Ledger ledger;
    std::vector<int> cell_of(count), staged_cell_of(count);
    const Cells cells(ledger, octree, objects.coordinates(), objects.range(), weights, limits,
                      cell_of);
    const Cells by_staging(ledger, octree, staged(objects.coordinates(), places), objects.range(),
                           staged(weights, works), limits, staged_cell_of);
    EXPECT_EQ(cell_of, staged_cell_of);
    EXPECT_EQ(cells.heaviest(), by_staging.heaviest());
    // A pass over all objects takes 13 calls; passes are few, and lists of cells come together.
    EXPECT_LE(works->calls, 20 * 13);
    EXPECT_LE(places->calls, works->calls + 20 * 8192 / 256);
  }
}

TEST(StagedColumns, GiveTheNumbersOfAnySlots) {
  constexpr std::size_t count = 20'000;
  const Objects objects = random_objects(distributions()[0], 3, count);
  const Columns host = objects.coordinates();
  const auto through = std::make_shared<CountedColumns>(host);
  const Columns columns = staged(host, through);
  std::vector<double> copied(count);
  columns.copy_to(2, copied.data(), 1, count - 1);
  for (std::size_t k = 1; k < count; ++k) ASSERT_EQ(copied[k - 1], objects.places[3 * k + 2]);
  EXPECT_EQ(through->calls, 3);
  EXPECT_EQ(columns.number(0, count - 1), objects.places[3 * (count - 1)]);
  EXPECT_EQ(through->calls, 3) << "it was at hand";
  std::vector<std::uint32_t> list(count);
  for (std::size_t k = 0; k < count; ++k) list[k] = static_cast<std::uint32_t>(count - 1 - k);
  std::vector<Columns::Numbers> numbers(count);
  columns.gather(list, numbers.data());
  for (std::size_t k = 0; k < count; ++k)
    for (std::size_t d = 0; d < 3; ++d) ASSERT_EQ(numbers[k][d], objects.places[3 * list[k] + d]);
  EXPECT_EQ(through->calls, 6);
  EXPECT_EQ(columns.number(1, 0), objects.places[1]) << "not the first of the list";
}

TEST_P(OfDimensions, BoxesOfTwoRanksAreDisjointOrOneIsInTheOther) {
  const auto& distribution = distributions()[1];
  Objects first = random_objects(distributions()[0], GetParam(), 3000);
  const Objects second = random_objects(distribution, GetParam(), 20'000, 1);
  CellLimits limits;
  limits.weight = 0.02 * first.total();
  Box range;
  range.high.fill(1);
  for (const OctreeShape shape : {OctreeShape::cubes, OctreeShape::hilbert}) {
    const Binned one(first, limits, range, shape);
    const Binned other(second, limits, range, shape);
    for (const int a : one.cells.used())
      for (const int b : other.cells.used()) {
        const Cell& cell_a = one.cells.all()[static_cast<std::size_t>(a)];
        const Cell& cell_b = other.cells.all()[static_cast<std::size_t>(b)];
        const Box box_a = box_of(cell_a, one.octree, first.place(cell_a.object));
        const Box box_b = box_of(cell_b, other.octree, second.place(cell_b.object));
        bool apart = false;
        bool a_in_b = true;
        bool b_in_a = true;
        for (std::size_t d = 0; d < GetParam(); ++d) {
          apart = apart || disjoint(box_a.low[d], box_a.high[d], box_b.low[d], box_b.high[d]);
          a_in_b = a_in_b && inside(box_a.low[d], box_a.high[d], box_b.low[d], box_b.high[d]);
          b_in_a = b_in_a && inside(box_b.low[d], box_b.high[d], box_a.low[d], box_a.high[d]);
        }
        ASSERT_TRUE(apart || a_in_b || b_in_a);
      }
  }
}

TEST_P(OfDimensions, APlaneHasAsMuchOfTheCellsOnASideAsOfTheirObjects) {
  const Objects objects = random_objects(distributions()[0], GetParam(), 100'000);
  CellLimits limits;
  limits.weight = 0.0025 * objects.total();
  const Binned binned(objects, limits);
  for (std::size_t d = 0; d < GetParam(); ++d)
    for (const double plane : {0.2, 0.331, 0.5}) {
      double of_objects = 0;
      double of_cells = 0;
      for (std::size_t k = 0; k < objects.count(); ++k)
        if (objects.places[GetParam() * k + d] < plane) of_objects += objects.weight(k);
      for (const int c : binned.cells.used()) {
        const Cell& cell = binned.cells.all()[static_cast<std::size_t>(c)];
        if (objects.places[GetParam() * cell.object + d] < plane) of_cells += cell.weight;
      }
      EXPECT_NEAR(of_cells, of_objects, 0.01 * objects.total());
    }
}

INSTANTIATE_TEST_SUITE_P(Cells, OfDimensions, ::testing::Values(1, 2, 3));

TEST(Cells, WhatIsToleratedIsNotSplitAgainButWhatIsNotIs) {
  for (const Distribution& distribution : distributions()) {
    SCOPED_TRACE(distribution.name);
    const Objects objects = random_objects(distribution, 3, 50'000);
    CellLimits limits;
    limits.weight = 0.0025 * objects.total();
    limits.tolerated = 4;
    const Binned binned(objects, limits);
    expect_right_sums(objects, binned);
    EXPECT_LE(binned.cells.heaviest(), 4 * limits.weight);
  }
}

TEST(Cells, ObjectsAtOnePlaceAreInPiecesOfEqualCountByIndex) {
  Objects objects;
  for (int k = 0; k < 3 * 1001; ++k) objects.places.push_back(0.1 * (k % 3));
  CellLimits limits;
  limits.count = 100;
  const Binned binned(objects, limits);
  expect_right_sums(objects, binned);
  EXPECT_TRUE(std::ranges::is_sorted(binned.cell_of));
  std::uint32_t least = 1001;
  std::uint32_t most = 0;
  for (const int c : binned.cells.used()) {
    least = std::min(least, binned.cells.all()[static_cast<std::size_t>(c)].count);
    most = std::max(most, binned.cells.all()[static_cast<std::size_t>(c)].count);
  }
  EXPECT_LE(most, 100U);
  EXPECT_LE(most - least, 1U);
}

TEST(Cells, AnObjectThatIsHeavierThanTheLimitIsAlone) {
  Objects objects = random_objects(distributions()[0], 3, 5000);
  objects.weights[1234] = 1e6;
  CellLimits limits;
  limits.weight = 100;
  const Binned binned(objects, limits);
  expect_right_sums(objects, binned);
  EXPECT_EQ(binned.cell(1234).count, 1U);
  EXPECT_EQ(binned.cells.heaviest(), 1e6);
}

TEST(Cells, ObjectsWithoutWeightNeedNoSmallCells) {
  Objects objects = random_objects(distributions()[1], 3, 50'000);
  std::ranges::fill(objects.weights, 0);
  CellLimits limits;
  limits.weight = 1;
  const Binned binned(objects, limits);
  expect_right_sums(objects, binned);
  EXPECT_LE(binned.cells.used().size(), 4096U);
}

TEST(Cells, MemoryIsLimitedAndDoesNotGrowWithTheObjects) {
  for (const Distribution& distribution : distributions())
    for (const std::size_t count : {10'000, 80'000}) {
      SCOPED_TRACE(distribution.name);
      const Objects objects = random_objects(distribution, 3, count);
      CellLimits limits;
      limits.weight = 1e-5 * objects.total();
      limits.cells = 2000;
      limits.parts = 12;
      const Binned binned(objects, limits);
      expect_right_sums(objects, binned);
      EXPECT_LE(binned.cells.all().size(), 2000U);
      EXPECT_LE(binned.ledger.peak_bytes(), 2000U * 200);
    }
}

TEST(Cells, WhereMemoryIsShortTheHeaviestAreSplitFirst) {
  const Objects objects = random_objects(distributions()[1], 2, 50'000);
  CellLimits limits;
  limits.weight = 1e-5 * objects.total();
  limits.cells = 3000;
  const Binned binned(objects, limits);
  // 80 % are in 4 % of the range, which the first cells do not know.
  EXPECT_LE(binned.cells.heaviest(), 0.005 * objects.total());
}

TEST(Cells, AnyFiniteCoordinatesAreFine) {
  constexpr double most = std::numeric_limits<double>::max();
  constexpr double least = std::numeric_limits<double>::denorm_min();
  CellLimits limits;
  limits.count = 1;
  for (const double extent : {most, 1e300, 1.0, 1e-300, least, 0.0}) {
    Objects objects;
    objects.dimensions = 2;
    for (int k = -20; k <= 20; ++k) {
      objects.places.push_back(extent * (k / 20.0));
      objects.places.push_back(-extent);
    }
    for (const OctreeShape shape : {OctreeShape::cubes, OctreeShape::hilbert}) {
      const Binned binned(objects, limits, objects.range(), shape);
      expect_right_sums(objects, binned);
      EXPECT_EQ(binned.cells.used().size(), 41U) << extent;
    }
  }
}

TEST(Cells, NumbersOfAnyTypeAndStrideGiveTheSame) {
  Objects objects = random_objects(distributions()[4], 3, 10'000);
  std::vector<float> apart(7 * objects.count());
  for (std::size_t k = 0; k < objects.count(); ++k)
    for (std::size_t d = 0; d < 3; ++d)
      apart[7 * k + d] = static_cast<float>(objects.places[3 * k + d]);
  Columns columns = objects.coordinates();
  for (std::size_t d = 0; d < 3; ++d) {
    columns.column[d] = column(apart.data() + d, 7 * sizeof(float));
    if (d == 1) columns.column[d].read_many = nullptr;
  }
  CellLimits limits;
  limits.weight = 0.01 * objects.total();
  const Binned binned(objects, limits);
  std::vector<int> cell_of(objects.count());
  Ledger ledger;
  const Cells cells(ledger, binned.octree, columns, objects.range(),
                    array_columns(objects.weights.data(), objects.count(), 1)(), limits, cell_of);
  EXPECT_EQ(cell_of, binned.cell_of);
}

TEST(Cells, OfNothingThereAreNone) {
  Objects objects;
  const Binned binned(objects, {}, {});
  EXPECT_TRUE(binned.cells.used().empty());
}

}  // namespace
}  // namespace valet::rebalance
