// SPDX-License-Identifier: BSD-3-Clause
#include "operations/layout/layout_call.hpp"

#include "base/diagnose.hpp"
#include "base/promise.hpp"
#include "base/sizes.hpp"
#include "engine/arrays_at_once.hpp"
#include "geometry/numbered_array.hpp"
#include "operations/layout/element_sum.hpp"
#include "plan/check_options.hpp"

#include <xxhash.h>

#include <algorithm>
#include <type_traits>

namespace valet::layout {
namespace {

std::optional<Diagnostic> check_grid(Ledger& ledger, const GridSide& side, std::size_t ranks) {
  const std::string name = std::string("the ") + side.name + " grid";
  const auto needed = static_cast<std::size_t>(side.layout().ranks());
  if (!side.grid.ranks.empty() && side.grid.ranks.size() != needed)
    return invalid(name, " has ", needed, " ranks, but its list names ", side.grid.ranks.size(),
                   "; name one for each, or none");
  const bool is_cut = side.layout().is_cut();
  if (needed > ranks && is_cut && side.grid.ranks.empty())
    return invalid(name, " has ", needed, " cells, the communicator ", ranks,
                   " ranks; name the rank of each cell");
  if (needed > ranks && !is_cut)
    return invalid(name, " has ", needed, " ranks, the communicator ", ranks,
                   "; take a smaller grid or more ranks");
  Array<std::uint8_t> seen(ledger, side.grid.ranks.empty() || is_cut ? 0 : ranks);
  std::ranges::fill(seen, std::uint8_t{0});
  for (std::size_t g = 0; g < side.grid.ranks.size(); ++g) {
    const int rank = side.grid.ranks[g];
    const auto entry = [&] {
      return name + " names rank " + std::to_string(rank) + " as its number " + std::to_string(g) +
             ", ";
    };
    if (rank < 0 || static_cast<std::size_t>(rank) >= ranks)
      return diagnose(ErrorCode::rank_out_of_range, entry(), "but the communicator has ranks 0 to ",
                      ranks - 1, "; ranks count from 0: fix the ranks of the layout");
    if (is_cut) continue;
    std::uint8_t& taken = seen[static_cast<std::size_t>(rank)];
    if (taken != 0) return invalid(entry(), "which it names twice; a rank has one place in a grid");
    taken = 1;
  }
  return std::nullopt;
}

std::int64_t product_of(const BlockCyclic::Extents& extents) {
  std::int64_t product = 1;
  for (const std::int64_t extent : extents) product *= extent;
  return product;
}

/// What is wrong with the strides of an array: each dimension must step over all that the faster
/// ones fill.
/// @param filled  1; gets the elements that the array spans, `most` at most.
std::optional<Diagnostic> check_strides(const std::string& name,
                                        const BlockCyclic::Extents& extents,
                                        const BlockCyclic::Extents& strides, IndexOrder order,
                                        std::int64_t most, std::int64_t& filled) {
  for (std::size_t step = 0; step < extents.size(); ++step) {
    const std::size_t d = order == IndexOrder::column_major ? step : extents.size() - 1 - step;
    if (extents[d] == 1) continue;
    if (strides[d] < filled)
      return invalid(name, " has ", strides[d], " elements from an index to the next in dimension ",
                     d, "; a leading dimension of at least ", filled,
                     " is needed for local extents of ", shape_text(extents));
    if (strides[d] > (most - filled) / (extents[d] - 1))
      return invalid(name, " would span more than ", detail::most_bytes_text,
                     "; fix its stride in dimension ", d);
    filled += strides[d] * (extents[d] - 1);
  }
  return std::nullopt;
}

/// Words that differ, but for accidents, where the layouts do.
std::uint64_t digest_of(const GridLayout& grid) {
  return XXH3_64bits_withSeed(grid.ranks.data(), grid.ranks.size() * sizeof(int),
                              layout::digest_of(std::optional(grid.layout))) >>
         2U;
}

}  // namespace

BlockCyclic::Extents strides_of(const BlockCyclic::Extents& given,
                                const BlockCyclic::Extents& extents, IndexOrder order) {
  if (given.size() > 0) return given;
  BlockCyclic::Extents strides = extents;
  std::int64_t stride = 1;
  for (std::size_t step = 0; step < extents.size(); ++step) {
    const std::size_t d = order == IndexOrder::column_major ? step : extents.size() - 1 - step;
    strides[d] = stride;
    stride *= std::max<std::int64_t>(extents[d], 1);
  }
  return strides;
}

GridSide::GridSide(const char* side, const GridLayout& chosen, int rank)
    : name(side), grid(chosen), rank_(rank) {
  const auto take = [this](int cell) {
    if (cells++ == 0) grid_rank = cell;
    const std::int64_t elements = layout().local_elements(cell);
    elements_ += elements;
    cells_with_elements_ += elements > 0 ? 1U : 0U;
  };
  if (grid.ranks.empty()) {
    if (rank < layout().ranks()) take(rank);
    return;
  }
  const std::size_t count = std::min(grid.ranks.size(), static_cast<std::size_t>(layout().ranks()));
  for (std::size_t g = 0; g < count && (cells == 0 || layout().is_cut()); ++g)
    if (grid.ranks[g] == rank) take(static_cast<int>(g));
}

LayoutCall::LayoutCall(call::Frame& whole, const char* name, const GridLayout& source,
                       const GridLayout& target, std::size_t bytes, const LayoutOptions& chosen)
    : frame(whole),
      channel(whole.channel),
      from("source", source, channel.rank()),
      to("target", target, channel.rank()),
      element_bytes(bytes),
      options(chosen),
      sent(whole.ledger),
      received(whole.ledger) {
  options.budget_bytes = detail::bounded_budget(options.budget_bytes);
  frame.caption = {name, element_bytes, options.budget_bytes};
}

std::optional<Diagnostic> LayoutCall::check_grids() const {
  if (auto diagnostic = plan::check_options(options)) return diagnostic;
  if (element_bytes == 0) return invalid("elements of zero bytes; give their size");
  if (!(from.layout().extents() == to.layout().extents()))
    return invalid("the ", from.name, " layout is of an array of ",
                   shape_text(from.layout().extents()), " elements, the ", to.name,
                   " layout of one of ", shape_text(to.layout().extents()),
                   "; give both the same extents");
  const auto most =
      static_cast<std::uint64_t>(std::max({from.elements(), to.elements(), std::int64_t{1}}));
  if (detail::bounded_product(most, element_bytes) > detail::most_bytes)
    return invalid("a part of ", most, " elements of ", element_bytes, " bytes has more than ",
                   detail::most_bytes_text, "; give the size of an element in bytes");
  const auto ranks = static_cast<std::size_t>(channel.size());
  if (auto diagnostic = check_grid(frame.ledger, from, ranks)) return diagnostic;
  return check_grid(frame.ledger, to, ranks);
}

template <class Pointer>
std::optional<Diagnostic> LayoutCall::check_array(GridSide& side,
                                                  const LocalArray<Pointer>& array) const {
  if (side.cells == 0) return std::nullopt;
  side.order = array.order;
  const std::string name = std::string("its ") + side.name + " array";
  if (array.order != IndexOrder::row_major && array.order != IndexOrder::column_major)
    return invalid(name, " has index order ", static_cast<int>(array.order),
                   "; give row_major or column_major");
  const CellArray<Pointer> whole{array.data, array.bytes, array.strides};
  if (array.cells.empty() && side.cells == 1)
    return check_part(name, side.layout().local_extents(side.grid_rank), whole, array.order);
  if (array.cells.empty() && array.strides.size() > 0)
    return invalid(name, " has strides, but ", side.cells,
                   " cells; give each cell an array of its own, in LocalArray::cells");
  if (array.cells.empty()) return check_part(name, {side.elements()}, whole, array.order);
  if (array.cells.size() != side.cells)
    return invalid(name, " has ", array.cells.size(), " arrays for ", side.cells,
                   " cells; give one for each, ascending by their numbers in the grid");
  std::optional<Diagnostic> wrong;
  std::size_t next = 0;
  side.for_each_cell([&](int cell) {
    const CellArray<Pointer>& part = array.cells[next++];
    if (!wrong)
      wrong = check_part(name + " of cell " + std::to_string(cell),
                         side.layout().local_extents(cell), part, array.order);
  });
  return wrong;
}

template <class Pointer>
std::optional<Diagnostic> LayoutCall::check_part(const std::string& name,
                                                 const BlockCyclic::Extents& extents,
                                                 const CellArray<Pointer>& part,
                                                 IndexOrder order) const {
  const BlockCyclic::Extents strides = strides_of(part.strides, extents, order);
  if (strides.size() != extents.size())
    return invalid(name, " has ", strides.size(), " strides for ", extents.size(),
                   " dimensions; give one for each, or none");
  const std::int64_t elements = product_of(extents);
  if (elements == 0) return std::nullopt;
  std::int64_t filled = 1;
  if (auto diagnostic =
          check_strides(name, extents, strides, order,
                        static_cast<std::int64_t>(detail::most_bytes / element_bytes), filled))
    return diagnostic;
  if (part.bytes > detail::most_bytes)
    return invalid(name, " has ", part.bytes, " bytes, more than ", detail::most_bytes_text,
                   "; give its size in bytes");
  const std::uint64_t needed = static_cast<std::uint64_t>(filled) * element_bytes;
  if (needed > part.bytes)
    return diagnose(ErrorCode::infeasible, name, " has ", part.bytes, " bytes; the ",
                    shape_text(extents), " elements of its part need ", needed);
  if (part.data == nullptr)
    return diagnose(ErrorCode::inaccessible_memory, name, " is a null pointer for ", elements,
                    " elements; allocate it first");
  return std::nullopt;
}

template std::optional<Diagnostic> LayoutCall::check_array(GridSide&, const SourceArray&) const;
template std::optional<Diagnostic> LayoutCall::check_array(GridSide&, const TargetArray&) const;

void LayoutSizes::join(mpi::Agreement& agreement) {
  const auto text = [](std::int64_t value) -> std::string {
    return static_cast<IndexOrder>(value) == IndexOrder::row_major ? "row-major" : "column-major";
  };
  const char* const same_order = "give the same order on all ranks";
  agreement.equal({"the order of the source array", text, same_order}, source_order);
  agreement.equal({"the order of the target array", text, same_order}, target_order);
  agreement.least(at_once);
  agreement.least(unit);
  agreement.largest(most_peers);
}

void LayoutCall::agree(const std::optional<Diagnostic>& wrong, std::uint64_t enough,
                       const storage::NodeWish* wish) {
  // Ranks outside of a grid get the order of the others.
  mine.source_order = from.order;
  mine.target_order = to.order;
  mpi::Agreement agreement;
  agreement.equal({"the source layout or its grid", nullptr}, digest_of(from.grid));
  agreement.equal({"the target layout or its grid", nullptr}, digest_of(to.grid));
  agreement.equal({.name = "element_bytes", .code = ErrorCode::block_size_mismatch}, element_bytes);
  plan::agree_on_options(agreement, options);
  frame.join(agreement);
  agreement.enough(enough);
  frame.memory->join(agreement, wish);
  all = agree_on(channel, agreement, mine, wrong);
}

void LayoutCall::describe(Report& report) const {
  report.method = frame.caption.method;
  report.block_bytes = element_bytes;
  report.blocks_before = static_cast<std::uint64_t>(from.elements());
  report.blocks_after = static_cast<std::uint64_t>(to.elements());
  report.budget_bytes = options.budget_bytes;
  report.extra_bytes_bound +=
      detail::promised_bytes(options.budget_bytes, report.neighbours,
                             static_cast<std::uint64_t>(channel.size()), frame.traces());
}

namespace {

/// Calls action(cell, elements, its part of the array) for the cells of a rank that have elements.
/// The strides of a part are those of its cell.
template <class Pointer, class Action>
void for_each_part(const GridSide& side, const LocalArray<Pointer>& array,
                   std::size_t element_bytes, Action&& action) {
  std::size_t next = 0;
  std::int64_t before = 0;  // elements of cells that lie one after the other
  side.for_each_cell([&](int cell) {
    const BlockCyclic::Extents extents = side.layout().local_extents(cell);
    CellArray<Pointer> part{array.data, array.bytes, array.strides};
    if (!array.cells.empty()) part = array.cells[next++];
    const std::int64_t elements = product_of(extents);
    if (elements == 0) return;
    part.strides = strides_of(part.strides, extents, array.order);
    using Byte = std::conditional_t<std::is_same_v<Pointer, void*>, std::byte, const std::byte>;
    part.data = static_cast<Byte*>(part.data) + static_cast<std::size_t>(before) * element_bytes;
    action(cell, part);
    if (array.cells.empty()) before += elements;
  });
}

}  // namespace

template <class Pointer>
Vector<ArrayCell> LayoutCall::find_cells(const GridSide& side, const BlockCyclic& other,
                                         const LocalArray<Pointer>& array) const {
  Vector<ArrayCell> found(frame.ledger);
  found.reserve(side.cells_with_elements());
  for_each_part(side, array, element_bytes, [&](int cell, const CellArray<Pointer>& part) {
    ArrayCell& entry = found.emplace_back(
        ArrayCell{cell, Intersection(frame.ledger, side.layout(), cell, other), part.strides,
                  static_cast<const std::byte*>(part.data), nullptr});
    if constexpr (std::is_same_v<Pointer, void*>) entry.room = static_cast<std::byte*>(part.data);
  });
  return found;
}

template Vector<ArrayCell> LayoutCall::find_cells(const GridSide&, const BlockCyclic&,
                                                  const SourceArray&) const;
template Vector<ArrayCell> LayoutCall::find_cells(const GridSide&, const BlockCyclic&,
                                                  const TargetArray&) const;

template <class Pointer>
std::uint64_t LayoutCall::sum_of(const GridSide& side, const LocalArray<Pointer>& array) const {
  std::uint64_t sum = 0;
  for_each_part(side, array, element_bytes, [&](int cell, const CellArray<Pointer>& part) {
    sum += ElementSum(side.layout(), cell, element_bytes, part.strides, part.data).sum();
  });
  return sum;
}

template std::uint64_t LayoutCall::sum_of(const GridSide&, const SourceArray&) const;
template std::uint64_t LayoutCall::sum_of(const GridSide&, const TargetArray&) const;

void LayoutCall::verify(std::uint64_t difference, Report& report) const {
  mpi::sum(channel, std::span(&difference, 1));
  if (difference != 0)
    throw Error(ErrorCode::corrupted,
                "the elements of the array are not what they were before; restart from a "
                "checkpoint and report this");
  report.verified = true;
}

template <class Source>
void LayoutCall::share_parts(const LocalArray<Source>& source, const TargetArray& target,
                             std::uint64_t rest, std::uint64_t most_leaving) {
  frame.memory->limit(static_cast<std::size_t>(rest));
  sent = find_cells(from, to.layout(), source);
  received = find_cells(to, from.layout(), target);
  peers.emplace(frame.ledger, channel.rank(), sent, to.grid, received, from.grid);
  const std::uint64_t bytes = bytes_at_once(*peers, element_bytes);
  mine.at_once = bytes <= rest &&
                 static_cast<std::uint64_t>(peers->elements_sent) * element_bytes <= most_leaving;
  if (mine.at_once) frame.memory->take_scratch(static_cast<std::size_t>(bytes));
}

template void LayoutCall::share_parts(const SourceArray&, const TargetArray&, std::uint64_t,
                                      std::uint64_t);
template void LayoutCall::share_parts(const TargetArray&, const TargetArray&, std::uint64_t,
                                      std::uint64_t);

void LayoutCall::move_at_once(Report& report) {
  frame.memory->use_scratch([&](std::span<std::byte> scratch) {
    layout::move_at_once(channel, frame.ledger, *peers, copies(), scratch, report);
  });
}

std::uint64_t LayoutCall::bytes_of_cell(const BlockCyclic& mine, int cell,
                                        const BlockCyclic& theirs, bool is_listed) {
  std::uint64_t bytes = 0;
  if (is_listed && mine.local_elements(cell) == 0) return bytes;
  const BlockCyclic::Coordinates grid_coordinates = mine.coordinates(cell);
  std::uint64_t overlapping = 1;  // cells of theirs, at most
  for (std::size_t d = 0; d < theirs.dimensions(); ++d) {
    const DimensionPair pair(mine.dimension(d), theirs.dimension(d), static_cast<int>(d));
    const std::uint64_t families = intersect(pair, grid_coordinates[d], {}).families;
    bytes += bytes_of_families(pair, families);
    overlapping *= std::min(families, static_cast<std::uint64_t>(pair.theirs.ranks));
  }
  return bytes + (is_listed ? overlapping * sizeof(ArrayPeer) : 0);
}

std::uint64_t LayoutCall::bytes_of_intersection(const GridSide& mine, const GridSide& theirs) {
  const bool is_listed = mine.layout().is_cut() || theirs.layout().is_cut();
  std::uint64_t bytes = mine.layout().is_cut() ? mine.cells_with_elements() * sizeof(ArrayCell) : 0;
  mine.for_each_cell(
      [&](int cell) { bytes += bytes_of_cell(mine.layout(), cell, theirs.layout(), is_listed); });
  return bytes;
}

}  // namespace valet::layout
