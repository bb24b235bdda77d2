// SPDX-License-Identifier: BSD-3-Clause

// The promise of redistribute() for general grids: ranks with many cells, one or none, in one array
// or an array for each cell, to and from general grids and block-cyclic layouts.

#include "moved_arrays.hpp"
#include "named_budget.hpp"

namespace valet::test {
namespace {

/// The cells of this rank. Elements are filled with their number in the array.
class Cells {
 public:
  /// @param padding  Elements of gaps per dimension in arrays of the cells; -1: one array for all.
  Cells(const GridLayout& grid, std::size_t element_bytes, IndexOrder order, std::int64_t padding)
      : element_bytes_(element_bytes), order_(order), together_(padding < 0) {
    const Numbers numbers = numbers_of({grid.layout}, order, grid.layout.ranks());
    for (int g = 0; g < grid.layout.ranks(); ++g) {
      if ((grid.ranks.empty() ? g : row_of(grid.ranks, g)) != rank()) continue;
      Cell& cell = cells_.emplace_back(Cell{grid.layout.local_extents(g), {}, row_of(numbers, g)});
      cell.strides = cell.extents;
      std::int64_t stride = 1;
      for (std::size_t step = 0; step < cell.extents.size(); ++step) {
        const std::size_t d =
            order == IndexOrder::row_major ? cell.extents.size() - 1 - step : step;
        cell.strides[d] = stride;
        stride *= cell.extents[d] + std::max<std::int64_t>(padding, 0);
      }
      cell.begin = memory_.size();
      memory_.resize(memory_.size() + static_cast<std::size_t>(stride) * element_bytes, untouched);
      cell.bytes = memory_.size() - cell.begin;
    }
  }

  [[nodiscard]] SourceArray source() { return array<const void*>(); }
  [[nodiscard]] TargetArray target() { return array<void*>(); }
  void fill() { write(memory_); }
  [[nodiscard]] long long wrong_bytes() const {
    std::vector<std::byte> expected(memory_.size(), untouched);
    write(expected);
    long long wrong = 0;
    for (std::size_t b = 0; b < expected.size(); ++b) wrong += memory_[b] != expected[b] ? 1 : 0;
    return wrong;
  }
  [[nodiscard]] bool is_untouched() const {
    return std::ranges::count(memory_, untouched) == std::ssize(memory_);
  }

 private:
  struct Cell {
    BlockCyclic::Extents extents, strides;
    std::vector<std::uint64_t> numbers;
    std::size_t begin = 0, bytes = 0;
  };

  template <class Pointer>
  [[nodiscard]] LocalArray<Pointer> array() {
    LocalArray<Pointer> array{.order = order_};
    if (together_) {
      array.data = memory_.data();
      array.bytes = memory_.size();
    } else {
      for (const Cell& cell : cells_)
        array.cells.push_back({memory_.data() + cell.begin, cell.bytes, cell.strides});
    }
    return array;
  }
  void write(std::vector<std::byte>& memory) const {
    for (const Cell& cell : cells_) {
      std::size_t next = 0;
      for_every_element(cell.extents, order_, [&](const BlockCyclic::Extents& local) {
        std::int64_t offset = 0;
        for (std::size_t d = 0; d < local.size(); ++d) offset += local[d] * cell.strides[d];
        const std::size_t at = cell.begin + static_cast<std::size_t>(offset) * element_bytes_;
        const std::uint64_t number = cell.numbers.at(next++);
        for (std::size_t k = 0; k < element_bytes_; ++k)
          memory.at(at + k) = byte_of_element(number, element_bytes_, k);
      });
    }
  }

  std::size_t element_bytes_;
  IndexOrder order_;
  bool together_;
  std::vector<Cell> cells_;
  std::vector<std::byte> memory_;
};

void expect_moved(const GridLayout& from, const GridLayout& to, std::size_t element_bytes,
                  Cells& source, Cells& target, const LayoutOptions& options) {
  source.fill();
  const Report report = redistribute(MPI_COMM_WORLD, from, to, element_bytes, source.source(),
                                     target.target(), options);
  EXPECT_EQ(sum_over_ranks(target.wrong_bytes()), 0);
  EXPECT_EQ(sum_over_ranks(source.wrong_bytes()), 0) << "the source has changed";
  const std::uint64_t neighbours = neighbours_of_rank(from, to);
  EXPECT_TRUE(all_ranks(report.neighbours == neighbours));
  EXPECT_TRUE(all_ranks(report.peak_extra_bytes <= report.extra_bytes_bound))
      << report.peak_extra_bytes << " of " << report.extra_bytes_bound;
  EXPECT_TRUE(
      all_ranks(report.extra_bytes_bound == promised_bytes(options.budget_bytes, neighbours,
                                                           static_cast<std::uint64_t>(size()))));
  EXPECT_EQ(sum_over_ranks(static_cast<long long>(report.blocks_received)),
            sum_over_ranks(static_cast<long long>(report.blocks_sent)));
  EXPECT_EQ(sum_over_ranks(static_cast<long long>(report.blocks_after)), from.layout.elements());
}

/// Cells of ranks that are drawn among some, so that others have none.
GridLayout general(RandomGrids& grids, const BlockCyclic::Extents& extents, std::int64_t most) {
  const auto pick = [&](std::int64_t least, std::int64_t end) { return grids.pick(least, end); };
  GridLayout grid{random_cuts(extents, most, grids.order(), pick)};
  const std::int64_t first = pick(0, size() - 1), last = pick(first, size() - 1);
  for (int g = 0; g < grid.layout.ranks(); ++g)
    grid.ranks.push_back(static_cast<int>(pick(first, last)));
  return grid;
}

TEST(Grids, DeliverEveryElementWhateverTheCells) {
  const std::uint64_t cases = cases_wanted(80);
  for (std::uint64_t k = 0; k < cases; ++k) {
    SCOPED_TRACE(seed_note(seed() + k));
    std::mt19937_64 random(seed() + k);
    RandomGrids grids(random);
    auto pair = grids.pair();
    GridLayout &from = pair.first, &to = pair.second;
    const std::int64_t most = std::array{12, 5, 3, 2, 2}[from.layout.dimensions() - 1];
    const std::int64_t kind = grids.pick(0, 2);  // of the two, what is general
    if (kind != 1) from = general(grids, from.layout.extents(), most);
    if (kind != 0) to = general(grids, to.layout.extents(), most);
    const std::size_t element_bytes =
        std::array<std::size_t, 6>{1, 3, 8, 12, 16, 56}[static_cast<std::size_t>(grids.pick(0, 5))];
    Cells source(from, element_bytes, grids.order(), grids.pick(-1, 2));
    Cells target(to, element_bytes, grids.order(), grids.pick(-1, 2));
    LayoutOptions options;
    options.share_memory = grids.pick(0, 1) == 0;
    const std::int64_t budget = grids.pick(0, 2);
    options.budget_bytes = budget == 0 ? 0 : budget == 1 ? 96U << 10U : 4U << 20U;
    if (budget == 0) {  // chunks of an element, or of a few
      const Outcome outcome = outcome_of([&] {
        redistribute(MPI_COMM_WORLD, from, to, element_bytes, source.source(), target.target(),
                     options);
      });
      EXPECT_TRUE(same_on_all_ranks(outcome));
      ASSERT_EQ(from.layout.elements() == 0, outcome.code == ErrorCode::success) << outcome.text;
      EXPECT_TRUE(all_ranks(from.layout.elements() == 0 || target.is_untouched()));
      options.budget_bytes = named_budget(outcome.text);
      if (from.layout.elements() > 1000) options.budget_bytes += 400 * element_bytes;
    }
    expect_moved(from, to, element_bytes, source, target, options);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(Grids, NeedNoBudgetWithoutElements) {
  GridLayout cells{BlockCyclic::cut_at({{0, 0, 0}, {0, 3, 7, 9, 20}})};
  for (int cell = 0; cell < cells.layout.ranks(); ++cell) cells.ranks.push_back(cell % size());
  const GridLayout blocks{BlockCyclic::block({0, 20}, {1, size()})};
  LayoutOptions options;
  options.budget_bytes = 0;
  for (const auto& [from, to] : {std::pair(cells, blocks), std::pair(blocks, cells)}) {
    EXPECT_EQ(redistribute(MPI_COMM_WORLD, from, to, 8, {}, {}, options).blocks_after, 0U);
  }
}

/// Every rank has cells in a diagonal of a matrix of 8 x 8 cells, in another one after it.
GridLayout diagonals(std::int64_t extent, int step, std::int64_t shift) {
  std::vector<std::int64_t> cuts(9, extent);
  for (std::int64_t c = 0; c < 8; ++c)
    cuts[static_cast<std::size_t>(c)] = c == 0 ? 0 : c * extent / 8 + shift;
  GridLayout grid{BlockCyclic::cut_at({cuts, cuts})};
  for (int g = 0; g < 64; ++g) grid.ranks.push_back((g / 8 + step * (g % 8)) % size());
  return grid;
}

// Sources with many cells, credited in turn, and messages that hold many cells.
TEST(Grids, MoveAMatrixOfManyCells) {
  const GridLayout from = diagonals(500, 1, 0), to = diagonals(500, 3, 17);
  const GridLayout dealt{BlockCyclic({500, 500}, {30, 50}, {1, size()})};
  for (const bool share_memory : {true, false})
    for (const std::size_t budget : {std::size_t{512} << 10, std::size_t{8} << 20})
      for (const auto& [before, after] :
           {std::pair(&from, &to), std::pair(&from, &dealt), std::pair(&dealt, &to)}) {
        Cells source(*before, 8, IndexOrder::column_major, 3);
        Cells target(*after, 8, IndexOrder::column_major, -1);
        expect_moved(*before, *after, 8, source, target,
                     {.budget_bytes = budget, .share_memory = share_memory});
      }
}

/// A good call, which a test spoils: cells of 12 x 10 doubles that all belong to the last rank.
struct GridCall {
  GridCall() : source(from, 8, IndexOrder::row_major, 0), target(to, 8, IndexOrder::row_major, 0) {
    source.fill();
    read = source.source();
    written = target.target();
  }
  void expect_refused(ErrorCode code, const std::vector<std::string>& words) {
    const Outcome outcome =
        outcome_of([&] { redistribute(MPI_COMM_WORLD, from, to, 8, read, written); });
    expect_error(outcome, code, words);
    EXPECT_TRUE(all_ranks(target.is_untouched()));
  }

  int last = size() - 1;
  GridLayout from{BlockCyclic::cut_at({{0, 5, 12}, {0, 10}}), {last, last}};
  GridLayout to{BlockCyclic::cut_at({{0, 12}, {0, 3, 10}}), {last, last}};
  Cells source, target;
  SourceArray read;
  TargetArray written;
};

TEST(GridErrors, AreThoseOfCells) {
  const std::string rank_name = "rank " + std::to_string(size() - 1) + ": its ";
  GridCall missing;
  if (rank() == missing.last) missing.read.cells.pop_back();
  missing.expect_refused(ErrorCode::invalid_argument,
                         {rank_name + "source array has 1 arrays for 2 cells; give one for each"});
  GridCall strided;
  if (rank() == strided.last) strided.read = {.strides = {10, 1}};
  strided.expect_refused(ErrorCode::invalid_argument,
                         {rank_name + "source array has strides, but 2 cells; give each cell an"});
  GridCall small;
  if (rank() == small.last) small.written.cells[1].bytes = 671;
  small.expect_refused(ErrorCode::infeasible, {rank_name + "target array of cell 1 has 671 bytes",
                                               "the 12 x 7 elements of its part need 672"});
  GridCall together;
  std::vector<std::byte> memory(959);
  if (rank() == together.last) together.read = {.data = memory.data(), .bytes = memory.size()};
  together.expect_refused(ErrorCode::infeasible, {"source array has 959 bytes", "need 960"});
  GridCall flat;
  if (rank() == flat.last) flat.written.cells[0].strides = {2, 1};
  flat.expect_refused(ErrorCode::invalid_argument, {"target array of cell 0 has 2 elements from",
                                                    "a leading dimension of at least 3"});
  GridCall null;
  if (rank() == null.last) null.read.cells[1].data = nullptr;
  null.expect_refused(ErrorCode::inaccessible_memory, {"cell 1 is a null pointer for 70 elements"});
  GridCall overlapping;
  if (rank() == overlapping.last)
    overlapping.read.cells[0].data = overlapping.written.cells[1].data;
  overlapping.expect_refused(ErrorCode::invalid_argument, {"source and target arrays overlap"});
}

TEST(GridErrors, AreThoseOfGrids) {
  GridCall many;
  many.from = {BlockCyclic::cut_at({std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 12}, {0, 10}})};
  many.expect_refused(
      ErrorCode::invalid_argument,
      {"the source grid has 6 cells, the communicator " + std::to_string(size()) + " ranks",
       "name the rank of each cell"});
  GridCall unnamed;
  unnamed.to.ranks.pop_back();
  unnamed.expect_refused(ErrorCode::invalid_argument, {"has 2 ranks, but its list names 1"});
  GridCall beyond;
  beyond.to.ranks[1] = size();
  beyond.expect_refused(ErrorCode::rank_out_of_range,
                        {"as its number 1, but the communicator has"});
  if (size() == 1) return;
  GridCall differing;
  if (rank() == 0) differing.from.layout = BlockCyclic::cut_at({{0, 6, 12}, {0, 10}});
  differing.expect_refused(ErrorCode::invalid_argument, {"the source layout or its grid differs"});
}

TEST(GridErrors, SayWhatTakesNoGrid) {
  GridCall call;
  std::vector<std::byte> memory(960);
  const GridLayout dealt{BlockCyclic({12, 10}, {12, 10}, {1, 1}), {size() - 1}};
  const TargetArray array{.data = memory.data(), .bytes = memory.size()};
  expect_error(
      outcome_of([&] { redistribute_in_place(MPI_COMM_WORLD, call.from, dealt, 8, array); }),
      ErrorCode::invalid_argument,
      {"rank 0: the source layout is a general grid", "redistribute it into a second array"});
  expect_error(outcome_of([&] { redistribute_in_place(MPI_COMM_WORLD, dealt, call.to, 8, array); }),
               ErrorCode::invalid_argument, {"rank 0: the target layout is a general grid"});
  std::vector<int> objects(2, rank());
  const BlockCyclic tiles = BlockCyclic::cut_at({{0, 2}, {0, size()}});
  for (const IndexOrder numbering : {IndexOrder::row_major, IndexOrder::column_major})
    expect_error(outcome_of([&] {
                   migrate_to_layout(MPI_COMM_WORLD, {field(objects)}, 2,
                                     ObjectLayout::tiles(tiles, numbering));
                 }),
                 ErrorCode::invalid_argument, {"the layout after is a general grid"});
}

}  // namespace
}  // namespace valet::test
