// SPDX-License-Identifier: BSD-3-Clause
#include "operations/layout/grid_side.hpp"

#include "geometry/walks.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

namespace valet::layout {
namespace {

std::string shape_of(const BlockCyclic::Extents& extents) {
  std::string text;
  for (const std::int64_t extent : extents)
    text += (text.empty() ? "" : " x ") + std::to_string(extent);
  return text;
}

std::optional<Diagnostic> check_grid(const GridSide& side, std::span<std::uint8_t> seen) {
  const std::string name = std::string("the ") + side.name + " grid";
  const std::size_t ranks = seen.size();
  const auto needed = static_cast<std::size_t>(side.layout().ranks());
  if (!side.grid.ranks.empty() && side.grid.ranks.size() != needed)
    return Diagnostic{ErrorCode::invalid_argument,
                      name + " has " + std::to_string(needed) + " ranks, but its list names " +
                          std::to_string(side.grid.ranks.size()) + "; name one for each, or none"};
  if (needed > ranks)
    return Diagnostic{ErrorCode::invalid_argument,
                      name + " has " + std::to_string(needed) + " ranks, the communicator " +
                          std::to_string(ranks) + "; take a smaller grid or more ranks"};
  std::ranges::fill(seen, std::uint8_t{0});
  for (std::size_t g = 0; g < side.grid.ranks.size(); ++g) {
    const int rank = side.grid.ranks[g];
    const std::string entry =
        name + " names rank " + std::to_string(rank) + " as its number " + std::to_string(g) + ", ";
    if (rank < 0 || static_cast<std::size_t>(rank) >= ranks)
      return Diagnostic{ErrorCode::rank_out_of_range,
                        entry + "but the communicator has ranks 0 to " + std::to_string(ranks - 1)};
    std::uint8_t& taken = seen[static_cast<std::size_t>(rank)];
    if (taken != 0)
      return Diagnostic{ErrorCode::invalid_argument,
                        entry + "which it names twice; a rank has one place in a grid"};
    taken = 1;
  }
  return std::nullopt;
}

/// Words that differ, but for accidents, where the layouts do: FNV-1a, with the top two bits clear.
class Digest {
 public:
  void add(std::int64_t value) {
    for (int byte = 0; byte < 8; ++byte) {
      hash_ ^= static_cast<std::uint64_t>(value) >> (8 * byte) & 0xff;
      hash_ *= 0x100000001b3;
    }
  }
  void add(const GridLayout& grid) {
    const BlockCyclic& layout = grid.layout;
    add(static_cast<std::int64_t>(layout.dimensions()));
    for (std::size_t d = 0; d < layout.dimensions(); ++d) {
      const Dimension& dimension = layout.dimension(d);
      add(dimension.extent());
      add(dimension.block_size());
      add(dimension.ranks());
      add(dimension.first_rank());
    }
    add(static_cast<std::int64_t>(layout.rank_order()));
    add(static_cast<std::int64_t>(grid.ranks.size()));
    for (const int rank : grid.ranks) add(rank);
  }
  [[nodiscard]] std::int64_t value() const { return static_cast<std::int64_t>(hash_ >> 2); }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

}  // namespace

GridSide::GridSide(const char* side, const GridLayout& chosen, int rank)
    : name(side), grid(chosen) {
  if (grid.ranks.empty()) {
    if (rank < layout().ranks()) grid_rank = rank;
    return;
  }
  const auto found = std::ranges::find(grid.ranks, rank);
  if (found != grid.ranks.end() && found - grid.ranks.begin() < layout().ranks())
    grid_rank = static_cast<int>(found - grid.ranks.begin());
}

std::optional<Diagnostic> check_grids(const GridSide& from, const GridSide& to,
                                      std::size_t element_bytes, std::span<std::uint8_t> seen) {
  if (element_bytes == 0)
    return Diagnostic{ErrorCode::invalid_argument, "elements of zero bytes; give their size"};
  if (!(from.layout().extents() == to.layout().extents()))
    return Diagnostic{ErrorCode::invalid_argument,
                      std::string("the ") + from.name + " layout is of an array of " +
                          shape_of(from.layout().extents()) + " elements, the " + to.name +
                          " layout of one of " + shape_of(to.layout().extents()) +
                          "; give both the same extents"};
  if (static_cast<std::uint64_t>(std::max(from.elements(), to.elements())) >
      static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) / element_bytes)
    return Diagnostic{ErrorCode::invalid_argument, "a part of more than 2^63 bytes: elements of " +
                                                       std::to_string(element_bytes) +
                                                       " bytes are too large for this array"};
  if (auto diagnostic = check_grid(from, seen)) return diagnostic;
  return check_grid(to, seen);
}

BlockCyclic::Extents adjoining_strides(const BlockCyclic::Extents& extents, IndexOrder order) {
  BlockCyclic::Extents strides = extents;
  std::int64_t stride = 1;
  for (std::size_t step = 0; step < extents.size(); ++step) {
    const std::size_t d = order == IndexOrder::column_major ? step : extents.size() - 1 - step;
    strides[d] = stride;
    stride *= std::max<std::int64_t>(extents[d], 1);
  }
  return strides;
}

template <class Pointer>
std::optional<Diagnostic> check_array(const GridSide& side, std::size_t element_bytes,
                                      const LocalArray<Pointer>& array,
                                      BlockCyclic::Extents& strides) {
  if (side.grid_rank == outside) return std::nullopt;
  const std::string name = std::string("its ") + side.name + " array";
  const BlockCyclic::Extents extents = side.layout().local_extents(side.grid_rank);
  strides = array.strides.size() == 0 ? adjoining_strides(extents, array.order) : array.strides;
  if (strides.size() != extents.size())
    return Diagnostic{ErrorCode::invalid_argument, name + " has " + std::to_string(strides.size()) +
                                                       " strides for " +
                                                       std::to_string(extents.size()) +
                                                       " dimensions; give one for each, or none"};
  const std::int64_t elements = side.elements();
  if (elements == 0) return std::nullopt;
  // Each dimension must step over all that the faster ones fill.
  const std::int64_t most =
      std::numeric_limits<std::int64_t>::max() / static_cast<std::int64_t>(element_bytes);
  std::int64_t filled = 1;
  for (std::size_t step = 0; step < extents.size(); ++step) {
    const std::size_t d =
        array.order == IndexOrder::column_major ? step : extents.size() - 1 - step;
    if (extents[d] == 1) continue;
    if (strides[d] < filled)
      return Diagnostic{ErrorCode::invalid_argument,
                        name + " has " + std::to_string(strides[d]) +
                            " elements from an index to the next in dimension " +
                            std::to_string(d) + "; a leading dimension of at least " +
                            std::to_string(filled) + " is needed for local extents of " +
                            shape_of(extents)};
    if (strides[d] > (most - filled) / (extents[d] - 1))
      return Diagnostic{ErrorCode::invalid_argument, name +
                                                         " would span more than 2^63 bytes; fix "
                                                         "its stride in dimension " +
                                                         std::to_string(d)};
    filled += strides[d] * (extents[d] - 1);
  }
  const std::uint64_t needed = static_cast<std::uint64_t>(filled) * element_bytes;
  if (needed > array.bytes)
    return Diagnostic{ErrorCode::infeasible, name + " has " + std::to_string(array.bytes) +
                                                 " bytes; the " + shape_of(extents) +
                                                 " elements of its part need " +
                                                 std::to_string(needed)};
  if (array.data == nullptr)
    return Diagnostic{ErrorCode::inaccessible_memory, name + " is a null pointer for " +
                                                          std::to_string(elements) +
                                                          " elements; allocate it first"};
  return std::nullopt;
}

template std::optional<Diagnostic> check_array(const GridSide&, std::size_t, const SourceArray&,
                                               BlockCyclic::Extents&);
template std::optional<Diagnostic> check_array(const GridSide&, std::size_t, const TargetArray&,
                                               BlockCyclic::Extents&);

void agree_on_call(const mpi::Channel& channel, const std::optional<Diagnostic>& mine,
                   const GridLayout& from, const GridLayout& to, CallNumbers& numbers) {
  const auto order = [](std::int64_t value) -> std::string {
    return static_cast<IndexOrder>(value) == IndexOrder::row_major ? "row-major" : "column-major";
  };
  const char* const same_order = "give the same order on all ranks";
  Digest digest;
  digest.add(from);
  digest.add(to);
  mpi::Agreement agreement;
  agreement.equal({"the pair of layouts and grids", nullptr}, digest.value());
  agreement.equal({.name = "element_bytes", .code = ErrorCode::block_size_mismatch},
                  numbers.element_bytes);
  agreement.equal({"the order of the source array", order, same_order}, numbers.source_order);
  agreement.equal({"the order of the target array", order, same_order}, numbers.target_order);
  agreement.equal({"LayoutOptions::trace", mpi::is_given}, numbers.traced);
  agreement.least(numbers.least);
  agreement.largest(numbers.watched);
  agreement.run(channel, mine);
}

std::uint64_t intersection_bytes(const GridSide& mine, const BlockCyclic& theirs) {
  if (mine.grid_rank == outside) return 0;
  const BlockCyclic::Coordinates place = mine.layout().coordinates(mine.grid_rank);
  std::uint64_t bytes = 0;
  for (std::size_t d = 0; d < theirs.dimensions(); ++d) {
    const DimensionPair pair(mine.layout().dimension(d), theirs.dimension(d), static_cast<int>(d));
    std::uint64_t families = 0;
    walk_aspen(pair, place[d], [&families](const SegmentFamily&) { ++families; });
    bytes += families * sizeof(DimensionIntersection::Family) +
             (static_cast<std::uint64_t>(pair.theirs.ranks) + 1) * sizeof(std::int64_t);
  }
  return bytes;
}

}  // namespace valet::layout
