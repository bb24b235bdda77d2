// SPDX-License-Identifier: BSD-3-Clause
#include "rebalance/cell_partition.hpp"

#include "base/memory_reserve.hpp"
#include "mpi/agreement.hpp"
#include "rebalance/dealing.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>

namespace valet::rebalance {
namespace {

/// Ranks with as many objects at most give each by itself.
constexpr std::size_t few_objects = 4096;
/// Ranks have a few thousand cells; the rest is for grids that are mostly empty, and for ranks that
/// hold far more than their share.
constexpr std::size_t least_cells = 8192;
constexpr std::size_t most_cells = 32768;
/// A cell is split where it is a heavier part of a share than the first, and as often as it is
/// heavier than the second, which is promised. The cells at a cut are a sample of what it divides:
/// the lighter they are the more exact.
constexpr double heavy = 0.0025;
constexpr double heaviest = 0.01;
/// Splits a heavy cell so that its parts are not heavy, even where its objects are not spread
/// evenly: another round costs more than some cells.
constexpr double parts_of_cell = 12;
/// What we and the partitioner take for a cell at most, with three coordinates and two weights: 76
/// and 124 bytes, or 84 and 156 where parts are not ranks.
constexpr std::uint64_t bytes_of_cell(bool has_parts) { return has_parts ? 240 : 200; }

Diagnostic no_memory(std::uint64_t objects) {
  return {ErrorCode::out_of_memory, "no memory for the cells of " + std::to_string(objects) +
                                        " objects; give a granularity of 1 to do without"};
}

}  // namespace

bool wants_cells(const Settings& settings, Basis basis, const Objects& objects) {
  if (basis != Basis::coordinates || objects.ids.size > 0) return false;
  return settings.granularity ? *settings.granularity > 1 && objects.count > 0
                              : objects.count > few_objects;
}

double imbalance_bound(const Settings& settings, const Objects& objects, double share) {
  const double with_one_more = 1 + objects.largest_weight / share;
  return std::max(settings.imbalance_tolerance, with_one_more) + tolerated_excess;
}

CellPartition::CellPartition(Ledger& ledger, Partitioner& partitioner, const PartRanks& part_ranks,
                             const Settings& settings, const Objects& objects)
    : ledger_(ledger),
      partitioner_(partitioner),
      part_ranks_(part_ranks),
      settings_(settings),
      objects_(objects),
      has_parts_(partitioner.traits().parts.are_given) {}

CellLimits CellPartition::limits() const {
  CellLimits limits;
  if (settings_.granularity) {
    limits.count = static_cast<double>(*settings_.granularity);
    return limits;
  }
  limits.weight = heavy * share_;
  if (objects_.count_weighs) limits.count = std::max(1.0, heavy * share_of_count_);
  // The map has 4 of 12 bytes for each object; the plan, which needs the rest, comes later. The
  // budget is left alone: what goes where does not depend on it.
  limits.cells = std::clamp<std::uint64_t>(8 * objects_.count / bytes_of_cell(has_parts_),
                                           least_cells, most_cells);
  limits.parts = parts_of_cell;
  limits.tolerated = heaviest / heavy;
  return limits;
}

void CellPartition::fill_cells(Array<int>& cell_of) {
  cells_.emplace(ledger_, *octree_, objects_.coordinates, objects_.range, objects_.weights,
                 limits(), std::span(cell_of));
}

/// A partitioner by Hilbert's curve should find the range of all objects, in which the octree is.
double CellPartition::place_to_give(const Cell& cell, const AllObjects& all, std::size_t d,
                                    double coordinate) const {
  if (partitioner_.traits().cells != OctreeShape::hilbert) return coordinate;
  const auto same_side = [&](double other) {
    return octree_->key(d, other) >> cell.shift == octree_->key(d, coordinate) >> cell.shift;
  };
  if (same_side(all.range.low[d])) return all.range.low[d];
  return same_side(all.range.high[d]) ? all.range.high[d] : coordinate;
}

/// The cells as objects for the partitioner.
void CellPartition::describe_cells(const AllObjects& all) {
  const std::span<const int> used = cells_->used();
  const std::size_t dimensions = octree_->dimensions();
  const std::size_t weights = cell_weights();
  coordinates_ = Array<double>(ledger_, used.size() * dimensions);
  weights_ = Array<double>(ledger_, used.size() * weights);
  std::array<std::uint32_t, read_at_a_time> objects{};
  std::array<Columns::Numbers, read_at_a_time> point{};
  for (std::size_t u = 0; u < used.size(); ++u) {
    const std::size_t k = u % objects.size();
    if (k == 0) {  // the next ones are read together
      const auto next = used.subspan(u, std::min(objects.size(), used.size() - u));
      std::ranges::transform(next, objects.begin(), [this](int number) {
        return cells_->all()[static_cast<std::size_t>(number)].object;
      });
      objects_.coordinates.gather(std::span(objects).first(next.size()), point.data());
    }
    const Cell& cell = cells_->all()[static_cast<std::size_t>(used[u])];
    weights_[weights * u] = cell.weight;
    if (weights > 1) weights_[weights * u + 1] = cell.count;
    for (std::size_t d = 0; d < dimensions; ++d)
      coordinates_[dimensions * u + d] = place_to_give(cell, all, d, point[k][d]);
  }
  given_.count = used.size();
  given_.rank = objects_.rank;
  given_.coordinates = array_columns(coordinates_.data(), used.size(), dimensions)();
  given_.weights = array_columns(weights_.data(), used.size(), weights)();
}

void CellPartition::make_cells(const AllObjects& all, Array<int>& ranks) {
  objects_.read_in([&] {
    fill_cells(ranks);
    describe_cells(all);
  });
  if (objects_.diagnostic()) return;
  chosen_ranks_ = Array<int>(ledger_, given_.count);
  rank_of_ = Array<int>(ledger_, cells_->all().size());
  if (!has_parts_) return;
  chosen_parts_ = Array<int>(ledger_, given_.count);
  part_of_ = Array<int>(ledger_, cells_->all().size());
}

void CellPartition::run(const mpi::Channel& communicator, const AllObjects& all, bool by_cells,
                        bool even_out, Array<int>& ranks, Array<int>& parts) {
  evens_out_ = even_out;
  share_ = all.weight / part_ranks_.count();
  share_of_count_ = all.count / part_ranks_.count();
  octree_.emplace(all.range, objects_.coordinates.size, partitioner_.traits().cells);
  const bool has_cells = by_cells && wants_cells(settings_, partitioner_.traits().basis, objects_);
  std::optional<Diagnostic> failed;
  if (has_cells) {
    failed = detail::unless_out_of_memory([&] { make_cells(all, ranks); },
                                          [&] { return no_memory(objects_.count); });
    if (!failed) failed = objects_.diagnostic();
  }
  if (by_cells) mpi::agree(communicator, failed);
  const Units given{has_cells ? given_ : objects_,
                    settings_.granularity == 1U ? objects_.weight_dimensions() : cell_weights(),
                    all.weight, all.range, by_cells};
  Array<int>& to_ranks = has_cells ? chosen_ranks_ : ranks;
  Array<int>& to_parts = has_cells ? chosen_parts_ : parts;
  divides_cells_ =
      partitioner_.partition(communicator, ledger_, part_ranks_, given, to_ranks, to_parts) &&
      by_cells;
  // Among few objects it is left as it is where nobody could cut more evenly.
  const double bound = divides_cells_ ? settings_.imbalance_tolerance + tolerated_excess
                                      : imbalance_bound(settings_, objects_, share_);
  // The cuts are no longer where the parts are if it does something.
  if (even_out && deal(communicator, all, given.objects, bound, to_ranks, to_parts))
    divides_cells_ = false;
  if (!has_cells) return;
  largest_share_ = cells_->heaviest() / share_;
  take_targets();
  spread(ranks, parts);
}

/// A partitioner cannot always keep the tolerance: there are no cuts inside one place.
/// @return Whether something was above the bound. [global]
bool CellPartition::deal(const mpi::Channel& communicator, const AllObjects& all,
                         const Objects& units, double bound, Array<int>& ranks,
                         Array<int>& parts) const {
  Array<int>& part_of = has_parts_ ? parts : ranks;
  const bool are_cells = &units == &given_;
  const PartsOfUnits of_units{
      units, part_of,
      [&](std::uint64_t unit) { return are_cells && is_at_one_point(cells_->used()[unit]); },
      [&](std::uint64_t unit, int part) {
        part_of[unit] = part;
        ranks[unit] = part_ranks_.rank_of(part, unit);
      }};
  Dealing dealing(communicator, ledger_, part_ranks_.count(), all.weight);
  if (dealing.imbalance(units, part_of) <= bound) return false;
  dealing.deal(of_units, settings_.imbalance_tolerance);
  return true;
}

void CellPartition::correct_division(const mpi::Channel& communicator, const AllObjects& all,
                                     double imbalance, Array<int>& ranks, Array<int>& parts) {
  constexpr double little = 0.05;
  const double bound = settings_.imbalance_tolerance + tolerated_excess;
  if (evens_out_ && imbalance <= settings_.imbalance_tolerance + little)
    deal(communicator, all, objects_, bound, ranks, parts);
  else
    keep_cells_together(communicator, ranks, parts);
}

/// Whether a cut goes through a cell: then its corners differ. Parts of RCB and RIB are convex, and
/// HSFC's curve comes into a box and leaves it at corners, but those at the very edge are
/// another's.
/// @param used  Which of the cells that hold something.
bool CellPartition::is_cut(std::size_t used, int part) {
  if (is_at_one_point(cells_->used()[used])) return false;  // its objects were dealt by index
  const std::size_t dimensions = octree_->dimensions();
  Point inside{};
  std::copy_n(coordinates_.data() + dimensions * used, dimensions, inside.begin());
  const Box box =
      box_of(cells_->all()[static_cast<std::size_t>(cells_->used()[used])], *octree_, inside);
  const double inset = partitioner_.traits().cells == OctreeShape::hilbert ? 1e-3 : 0;
  for (unsigned corner = 0; corner < 1U << dimensions; ++corner) {
    Point point{};
    for (std::size_t d = 0; d < dimensions; ++d)
      point[d] = (corner >> d & 1U) == 0 ? box.low[d] + inset * (box.high[d] - box.low[d])
                                         : box.high[d] - inset * (box.high[d] - box.low[d]);
    const std::optional<Target> there = partitioner_.target_at(point);
    if (!there) return false;
    if (there->part != part) return true;
  }
  return false;
}

bool CellPartition::is_at_one_point(int cell) const {
  return cells_->all()[static_cast<std::size_t>(cell)].shift == 0;
}

void CellPartition::take_targets() {
  const Array<int>& ranks = chosen_ranks_;
  const std::span<const int> used = cells_->used();
  for (std::size_t u = 0; u < used.size(); ++u) {
    const auto cell = static_cast<std::size_t>(used[u]);
    const int part = has_parts_ ? chosen_parts_[u] : ranks[u];
    const bool cut = divides_cells_ && is_cut(u, part);
    rank_of_[cell] = cut ? ~ranks[u] : ranks[u];
    if (has_parts_) part_of_[cell] = part;
  }
}

/// From the cell of each object to its rank and part.
void CellPartition::spread(Array<int>& ranks, Array<int>& parts) {
  CutObjects cut;
  for (std::uint64_t k = 0; k < ranks.size(); ++k) {
    const auto cell = static_cast<std::size_t>(ranks[k]);
    const int rank = rank_of_[cell];
    ranks[k] = rank < 0 ? ~rank : rank;
    if (has_parts_) parts[k] = part_of_[cell];
    cut.object[cut.count] = static_cast<std::uint32_t>(k);
    cut.count += rank < 0 && divides_cells_ ? 1U : 0U;
    if (cut.count == cut.object.size()) divide(cut, ranks, parts);
  }
  divide(cut, ranks, parts);
}

/// Sends objects to the side of the cuts that they are on.
void CellPartition::divide(CutObjects& cut, Array<int>& ranks, Array<int>& parts) const {
  // All are read before any is looked for: then their memory is waited for together.
  std::array<Point, CutObjects::most> point{};
  const bool read = objects_.failure.attempt(Objects::activity, [&] {
    objects_.coordinates.gather(std::span(cut.object).first(cut.count), point.data());
  });
  for (std::size_t c = 0; read && c < cut.count; ++c) {
    const std::optional<Target> target = partitioner_.target_at(point[c]);
    if (!target) continue;
    ranks[cut.object[c]] = target->rank;
    if (has_parts_) parts[cut.object[c]] = target->part;
  }
  cut.count = 0;
}

void CellPartition::keep_cells_together(const mpi::Channel& communicator, Array<int>& ranks,
                                        Array<int>& parts) {
  divides_cells_ = false;
  // The ranks have taken the place of the cells; these will be the same again.
  auto failed = cells_ ? detail::unless_out_of_memory(
                             [&] {
                               cells_.reset();
                               objects_.read_in([&] { fill_cells(ranks); });
                             },
                             [&] { return no_memory(objects_.count); })
                       : std::nullopt;
  if (!failed) failed = objects_.diagnostic();
  mpi::agree(communicator, failed);
  if (cells_) spread(ranks, parts);
}

}  // namespace valet::rebalance
