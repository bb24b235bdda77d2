// SPDX-License-Identifier: BSD-3-Clause
#include "rebalance/cells.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace valet::rebalance {
namespace {

using Key = std::int64_t;
using Keys = std::array<Key, Columns::most>;

/// Objects that are read at a time; their numbers stay in the first-level cache.
constexpr std::size_t block_size = 256;

/// Cells that one cell is split into. Below 2^dimensions it may not come apart at all.
constexpr double least_parts = 8;
constexpr double most_parts = 4096;

/// Coordinates shrink by it, so that differences and margins of finite numbers are finite.
constexpr double shrinking = 0.25;

/// A cell so many times above its limits is worth a pass over its objects, to find where they are;
/// a cell that stays above them round after round is, too.
constexpr double crowded = 64;

/// Cells side by side; of dimensions that do not exist there is one layer.
struct Grid {
  Point origin{};     ///< as a position
  double factor = 0;  ///< from positions to the grid; a power of two
  std::array<int, Columns::most> stride{};
  int first = 0;  ///< number of the first cell

  [[nodiscard]] int along(std::size_t d, double position) const {
    return stride[d] * static_cast<int>((position - origin[d]) * factor);
  }
};

/// A cell that is split: into a grid in its box, or, where its objects share a place, into pieces
/// of equal count by index.
struct Split {
  // First what every object needs.
  Grid grid;
  bool in_pieces = false;
  int parts = 0;
  std::uint32_t seen = 0;   ///< objects given to pieces
  std::uint32_t count = 0;  ///< of its objects
  std::size_t cell = 0;
  int shift = 0;          ///< of the boxes of the grid
  bool searched = false;  ///< whether its objects are looked at to find their range
  Keys low{};             ///< range of the keys of its objects
  Keys high{};

  /// The finest grid over the range of the keys that has not more cells than wanted.
  void fit(std::size_t dimensions, double wanted);
};

void Split::fit(std::size_t dimensions, double wanted) {
  in_pieces = low == high;
  if (in_pieces) {
    parts = static_cast<int>(std::min(wanted, static_cast<double>(count)));
    return;
  }
  const auto cells = [&] {
    double product = 1;
    for (std::size_t d = 0; d < dimensions; ++d)
      product *= static_cast<double>((high[d] >> shift) - (low[d] >> shift) + 1);
    return product;
  };
  while (cells() > wanted) ++shift;
  parts = 1;
  grid.factor = std::ldexp(1, -shift);
  for (std::size_t d = 0; d < dimensions; ++d) {
    grid.stride[d] = parts;
    grid.origin[d] = static_cast<double>((low[d] >> shift) << shift);
    parts *= static_cast<int>((high[d] >> shift) - (low[d] >> shift) + 1);
  }
}

}  // namespace

Octree::Octree(const Box& range, std::size_t dimensions, OctreeShape shape)
    : dimensions_(dimensions) {
  const bool cubes = shape == OctreeShape::cubes;
  Point extent{};
  for (std::size_t d = 0; d < dimensions; ++d)
    extent[d] = shrinking * range.high[d] - shrinking * range.low[d];
  if (cubes) extent.fill(*std::ranges::max_element(extent));
  // A plane of the octree should not be where a partitioner likes to cut.
  constexpr Point margin_of_cubes{0.0573, 0.0718, 0.0392};
  constexpr double widest_margin = 0.0931;
  constexpr double margin_of_hsfc = 1.6e-7;  // as partitioners have it, on either side
  for (std::size_t d = 0; d < dimensions; ++d) {
    const double margin = cubes ? margin_of_cubes[d] : margin_of_hsfc;
    const double margins = cubes ? widest_margin : 2 * margin_of_hsfc;
    low_[d] = shrinking * range.low[d] - extent[d] * margin;
    const double scale = std::ldexp(1 / (extent[d] * (1 + margins)), bits);
    scale_[d] = std::isfinite(scale) ? scale : 0;
  }
}

void Octree::to_positions(std::size_t d, std::span<double> coordinates) const {
  for (double& x : coordinates) x = (shrinking * x - low_[d]) * scale_[d];
}

Key Octree::key(std::size_t d, double coordinate) const {
  to_positions(d, std::span(&coordinate, 1));
  return static_cast<Key>(coordinate);
}

double Octree::coordinate(std::size_t d, Key key) const {
  return (low_[d] + (scale_[d] > 0 ? static_cast<double>(key) / scale_[d] : 0)) / shrinking;
}

/// One round of splitting after the other.
class Cells::Splitting {
 public:
  Splitting(Cells& cells, const Octree& octree, const Columns& coordinates, const Columns& weights,
            const CellLimits& limits, std::span<int> cell_of)
      : octree_(octree),
        cells_(cells.cells_),
        coordinates_(coordinates),
        weights_(weights),
        limits_(limits),
        cell_of_(cell_of),
        splits_(cells_.get_allocator()),
        split_of_(cells_.get_allocator()) {
    std::iota(members_.begin(), members_.end(), 0);
  }

  /// Makes the first cells, of all objects.
  void begin(const Box& range) {
    Split& split = splits_.emplace_back();
    split.count = static_cast<std::uint32_t>(cell_of_.size());
    for (std::size_t d = 0; d < octree_.dimensions(); ++d) {
      split.low[d] = octree_.key(d, range.low[d]);
      split.high[d] = octree_.key(d, range.high[d]);
    }
    add_parts(split, room() / 2);
    if (split.in_pieces) {
      std::ranges::fill(cell_of_, 0);
      split_of_.assign(1, 0);
    }
    move_objects();
  }

  /// Splits what is above the limits. Returns whether there was anything.
  bool go_on() {
    choose();
    find_boxes();
    find_ranges();
    number_parts();
    if (splits_.empty()) return false;
    move_objects();
    return true;
  }

 private:
  [[nodiscard]] double load(std::size_t cell) const {
    return std::max(cells_[cell].weight / limits_.weight, cells_[cell].count / limits_.count);
  }
  [[nodiscard]] double room() const {
    return static_cast<double>(limits_.cells - std::min(limits_.cells, cells_.size()));
  }
  [[nodiscard]] Split& split_of(std::uint64_t object) {
    return splits_[static_cast<std::size_t>(split_of_[static_cast<std::size_t>(cell_of_[object])])];
  }

  /// The cells above the limits, heaviest first.
  void choose() {
    const double most = round_ > 1 ? limits_.tolerated : 1;
    Vector<int> heavy_cells(cells_.get_allocator());
    for (std::size_t c = 0; c < cells_.size(); ++c)
      if (cells_[c].count > 1 && load(c) > most) heavy_cells.push_back(static_cast<int>(c));
    std::ranges::sort(heavy_cells, [this](int a, int b) {
      const double load_a = load(static_cast<std::size_t>(a));
      const double load_b = load(static_cast<std::size_t>(b));
      return load_a > load_b || (load_a == load_b && a < b);
    });
    heavy_cells.resize(
        std::min(heavy_cells.size(), static_cast<std::size_t>(room() / least_parts)));
    splits_.clear();
    split_of_.assign(cells_.size(), -1);
    for (const int c : heavy_cells) {
      const auto number = static_cast<std::size_t>(c);
      const Cell& cell = cells_[number];
      split_of_[number] = static_cast<int>(splits_.size());
      Split& split = splits_.emplace_back();
      split.cell = number;
      split.count = cell.count;
      split.searched = cell.shift > 0 && (round_ > 3 || load(number) > crowded);
    }
  }

  /// Where the objects of the chosen cells are at most.
  void find_boxes() {
    std::array<std::uint32_t, block_size> objects{};
    std::array<Columns::Numbers, block_size> points{};
    for (std::size_t first = 0; first < splits_.size(); first += block_size) {
      const auto part =
          std::span(splits_).subspan(first, std::min(block_size, splits_.size() - first));
      std::ranges::transform(part, objects.begin(),
                             [this](const Split& split) { return cells_[split.cell].object; });
      coordinates_.gather(std::span(objects).first(part.size()), points.data());
      for (std::size_t s = 0; s < part.size(); ++s) {
        Split& split = part[s];
        const int shift = cells_[split.cell].shift;
        for (std::size_t d = 0; d < octree_.dimensions(); ++d) {
          const Key key = octree_.key(d, points[s][d]) >> shift;
          split.low[d] = key << shift;
          split.high[d] = ((key + 1) << shift) - 1;
        }
      }
    }
  }

  std::size_t find_members(std::uint64_t first, std::size_t count) {
    std::size_t found = 0;
    for (std::size_t k = 0; k < count; ++k) {
      members_[found] = static_cast<int>(k);
      found += split_of_[static_cast<std::size_t>(cell_of_[first + k])] >= 0 ? 1U : 0U;
    }
    return found;
  }

  void read_block(std::uint64_t first, std::size_t count) {
    for (std::size_t d = 0; d < octree_.dimensions(); ++d) {
      coordinates_.copy_to(d, position_[d].data(), first, count);
      octree_.to_positions(d, std::span(position_[d]).first(count));
    }
    if (weights_.size > 0) weights_.copy_to(0, weight_.data(), first, count);
  }

  /// Positions and weights. Where members are few most of the memory need not be read; of staged
  /// columns many come at a time in any case, unless there are no members in many blocks.
  void read_members(std::uint64_t first, std::size_t count, std::size_t found) {
    if (8 * found > count || (found > 0 && (coordinates_.staged || weights_.staged)))
      return read_block(first, count);
    for (std::size_t m = 0; m < found; ++m) {
      const auto k = static_cast<std::size_t>(members_[m]);
      for (std::size_t d = 0; d < octree_.dimensions(); ++d) {
        position_[d][k] = coordinates_.number(d, first + k);
        octree_.to_positions(d, std::span(position_[d]).subspan(k, 1));
      }
      if (weights_.size > 0) weight_[k] = weights_.number(0, first + k);
    }
  }

  void find_ranges() {
    if (std::ranges::none_of(splits_, &Split::searched)) return;
    for (Split& split : splits_)
      if (split.searched) std::swap(split.low, split.high);
    for (std::uint64_t first = 0; first < cell_of_.size(); first += block_size) {
      const std::size_t count = std::min<std::uint64_t>(block_size, cell_of_.size() - first);
      const std::size_t found = find_members(first, count);
      read_members(first, count, found);
      for (std::size_t m = 0; m < found; ++m) {
        const auto k = static_cast<std::size_t>(members_[m]);
        Split& split = split_of(first + k);
        if (!split.searched) continue;
        for (std::size_t d = 0; d < octree_.dimensions(); ++d) {
          const auto key = static_cast<Key>(position_[d][k]);
          split.low[d] = std::min(split.low[d], key);
          split.high[d] = std::max(split.high[d], key);
        }
      }
    }
  }

  void add_parts(Split& split, double wanted) {
    split.fit(octree_.dimensions(), std::clamp(wanted, least_parts, most_parts));
    split.grid.first = static_cast<int>(cells_.size());
    cells_.resize(cells_.size() + static_cast<std::size_t>(split.parts), {.shift = split.shift});
  }

  /// Where memory is short, all cells that are split get less of it, in proportion.
  void number_parts() {
    // Objects on a line or a plane will again be in as few of the cells, if nobody looks where.
    const auto parts = [&](const Split& split) {
      return load(split.cell) * limits_.parts / (split.searched ? 1 : std::max(filled_, 0.01));
    };
    double all = 0;
    for (const Split& split : splits_) all += parts(split);
    const double scale = std::min(1.0, room() / all);
    std::size_t done = 0;
    for (; done < splits_.size() && room() >= least_parts; ++done) {
      const std::size_t cell = splits_[done].cell;
      add_parts(splits_[done], std::min(scale * parts(splits_[done]), room()));
      cells_[cell] = {};
    }
    for (std::size_t s = done; s < splits_.size(); ++s) split_of_[splits_[s].cell] = -1;
    splits_.resize(done);
  }

  /// The numbers of the cells that all objects of the block go to.
  void number_all(const Grid& grid, std::size_t count) {
    std::fill_n(number_.begin(), count, grid.first);
    for (std::size_t d = 0; d < octree_.dimensions(); ++d)
      for (std::size_t k = 0; k < count; ++k) number_[k] += grid.along(d, position_[d][k]);
  }

  void number_members(std::uint64_t first, std::size_t found) {
    for (std::size_t m = 0; m < found; ++m) {
      const auto k = static_cast<std::size_t>(members_[m]);
      Split& split = split_of(first + k);
      const Grid& grid = split.grid;
      number_[k] = grid.first;
      if (split.in_pieces)
        number_[k] += static_cast<int>(std::uint64_t{split.seen++} *
                                       static_cast<std::uint64_t>(split.parts) / split.count);
      else
        for (std::size_t d = 0; d < Columns::most; ++d)
          number_[k] += grid.along(d, position_[d][k]);
    }
  }

  void move_members(std::uint64_t first, std::size_t found) {
    const bool weighted = weights_.size > 0;
    for (std::size_t m = 0; m < found; ++m) {
      const auto k = static_cast<std::size_t>(members_[m]);
      cell_of_[first + k] = number_[k];
      Cell& cell = cells_[static_cast<std::size_t>(number_[k])];
      ++cell.count;
      cell.weight += weighted ? weight_[k] : 1;
      // Multiplied by an odd number: each object has another one.
      const std::uint32_t lot = static_cast<std::uint32_t>(first + k) * 2654435761U;
      if (lot < cell.lot) {
        cell.lot = lot;
        cell.object = static_cast<std::uint32_t>(first + k);
      }
    }
  }

  void move_objects() {
    for (std::uint64_t first = 0; first < cell_of_.size(); first += block_size) {
      const std::size_t count = std::min<std::uint64_t>(block_size, cell_of_.size() - first);
      const std::size_t found = round_ == 0 ? count : find_members(first, count);
      read_members(first, count, found);
      if (round_ == 0 && !splits_[0].in_pieces)
        number_all(splits_[0].grid, count);
      else
        number_members(first, found);
      move_members(first, found);
    }
    ++round_;
    drop_empty_cells();
  }

  /// Objects on a line or a plane leave most of a grid empty; its numbers can be used again.
  void drop_empty_cells() {
    const auto used = static_cast<std::size_t>(
        std::ranges::count_if(cells_, [](const Cell& cell) { return cell.count > 0; }));
    filled_ = static_cast<double>(used) / static_cast<double>(cells_.size());
    if (cells_.size() - used < cells_.size() / 4) return;
    Vector<int>& number = split_of_;
    number.assign(cells_.size(), -1);
    std::size_t next = 0;
    for (std::size_t c = 0; c < cells_.size(); ++c) {
      if (cells_[c].count == 0) continue;
      number[c] = static_cast<int>(next);
      cells_[next++] = cells_[c];
    }
    cells_.resize(next);
    for (int& cell : cell_of_) cell = number[static_cast<std::size_t>(cell)];
  }

  const Octree& octree_;
  Vector<Cell>& cells_;
  const Columns& coordinates_;
  const Columns& weights_;
  const CellLimits& limits_;
  std::span<int> cell_of_;
  int round_ = 0;
  double filled_ = 1;  // part of the cells that holds something, when last counted
  Vector<Split> splits_;
  Vector<int> split_of_;  // of each cell; -1: stays as it is

  // The block that is read. Members are the objects of cells that are split.
  std::array<int, block_size> members_{};
  std::array<int, block_size> number_{};
  std::array<std::array<double, block_size>, Columns::most> position_{};
  std::array<double, block_size> weight_{};
};

Cells::Cells(Ledger& ledger, const Octree& octree, const Columns& coordinates, const Box& range,
             const Columns& weights, const CellLimits& limits, std::span<int> cell_of)
    : cells_(ledger), used_(ledger) {
  if (cell_of.empty()) return;
  Splitting splitting(*this, octree, coordinates, weights, limits, cell_of);
  splitting.begin(range);
  while (splitting.go_on()) {
  }
  cells_.shrink_to_fit();
  used_.reserve(cells_.size());
  for (std::size_t c = 0; c < cells_.size(); ++c)
    if (cells_[c].count > 0) used_.push_back(static_cast<int>(c));
}

double Cells::heaviest() const {
  double weight = 0;
  for (const Cell& cell : cells_) weight = std::max(weight, cell.weight);
  return weight;
}

Box box_of(const Cell& cell, const Octree& octree, const Point& point) {
  Box box;
  for (std::size_t d = 0; d < octree.dimensions(); ++d) {
    const Key key = octree.key(d, point[d]) >> cell.shift;
    box.low[d] = octree.coordinate(d, key << cell.shift);
    box.high[d] = octree.coordinate(d, (key + 1) << cell.shift);
  }
  return box;
}

}  // namespace valet::rebalance
