// SPDX-License-Identifier: BSD-3-Clause
#include "operations/layout/layout_call.hpp"

#include "base/diagnose.hpp"
#include "base/promise.hpp"
#include "base/sizes.hpp"
#include "engine/arrays_at_once.hpp"
#include "geometry/intersection.hpp"
#include "geometry/numbered_array.hpp"
#include "mpi/agreement.hpp"
#include "operations/layout/redistribution.hpp"
#include "plan/check_options.hpp"

#include <xxhash.h>

#include <algorithm>
#include <string>

namespace valet::layout {
namespace {

std::optional<Diagnostic> check_grid(Ledger& ledger, const GridSide& side, std::size_t ranks) {
  const std::string name = std::string("the ") + side.name + " grid";
  const auto needed = static_cast<std::size_t>(side.layout().ranks());
  if (!side.grid.ranks.empty() && side.grid.ranks.size() != needed)
    return invalid(name, " has ", needed, " ranks, but its list names ", side.grid.ranks.size(),
                   "; name one for each, or none");
  if (needed > ranks)
    return invalid(name, " has ", needed, " ranks, the communicator ", ranks,
                   "; take a smaller grid or more ranks");
  Array<std::uint8_t> seen(ledger, side.grid.ranks.empty() ? 0 : ranks);
  std::ranges::fill(seen, std::uint8_t{0});
  for (std::size_t g = 0; g < side.grid.ranks.size(); ++g) {
    const int rank = side.grid.ranks[g];
    const std::string entry =
        name + " names rank " + std::to_string(rank) + " as its number " + std::to_string(g) + ", ";
    if (rank < 0 || static_cast<std::size_t>(rank) >= ranks)
      return diagnose(ErrorCode::rank_out_of_range, entry, "but the communicator has ranks 0 to ",
                      ranks - 1);
    std::uint8_t& taken = seen[static_cast<std::size_t>(rank)];
    if (taken != 0) return invalid(entry, "which it names twice; a rank has one place in a grid");
    taken = 1;
  }
  return std::nullopt;
}

/// Strides of an array without gaps.
BlockCyclic::Extents contiguous_strides(const BlockCyclic::Extents& extents, IndexOrder order) {
  BlockCyclic::Extents strides = extents;
  std::int64_t stride = 1;
  for (std::size_t step = 0; step < extents.size(); ++step) {
    const std::size_t d = order == IndexOrder::column_major ? step : extents.size() - 1 - step;
    strides[d] = stride;
    stride *= std::max<std::int64_t>(extents[d], 1);
  }
  return strides;
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

BlockCyclic::Extents strides_of(const BlockCyclic& layout, int grid_rank, IndexOrder order,
                                const BlockCyclic::Extents& given) {
  return given.size() == 0 ? contiguous_strides(layout.local_extents(grid_rank), order) : given;
}

GridSide::GridSide(const char* side, const GridLayout& chosen, int rank)
    : name(side), grid(chosen) {
  if (grid.ranks.empty()) {
    if (rank < layout().ranks()) grid_rank = rank;
  } else {
    const auto found = std::ranges::find(grid.ranks, rank);
    if (found != grid.ranks.end() && found - grid.ranks.begin() < layout().ranks())
      grid_rank = static_cast<int>(found - grid.ranks.begin());
  }
  if (grid_rank != outside) elements_ = layout().local_elements(grid_rank);
}

LayoutCall::LayoutCall(call::Frame& whole, const char* name, const GridLayout& source,
                       const GridLayout& target, std::size_t bytes, const LayoutOptions& chosen)
    : frame(whole),
      channel(whole.channel),
      from("source", source, channel.rank()),
      to("target", target, channel.rank()),
      element_bytes(bytes),
      options(chosen) {
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
  if (side.grid_rank == outside) return std::nullopt;
  side.order = array.order;
  const std::string name = std::string("its ") + side.name + " array";
  if (array.order != IndexOrder::row_major && array.order != IndexOrder::column_major)
    return invalid(name, " has index order ", static_cast<int>(array.order),
                   "; give row_major or column_major");
  const BlockCyclic::Extents extents = side.layout().local_extents(side.grid_rank);
  BlockCyclic::Extents& strides = side.strides;
  strides = strides_of(side.layout(), side.grid_rank, array.order, array.strides);
  if (strides.size() != extents.size())
    return invalid(name, " has ", strides.size(), " strides for ", extents.size(),
                   " dimensions; give one for each, or none");
  if (side.elements() == 0) return std::nullopt;
  std::int64_t filled = 1;
  if (auto diagnostic =
          check_strides(name, extents, strides, array.order,
                        static_cast<std::int64_t>(detail::most_bytes / element_bytes), filled))
    return diagnostic;
  if (array.bytes > detail::most_bytes)
    return invalid(name, " has ", array.bytes, " bytes, more than ", detail::most_bytes_text,
                   "; give its size in bytes");
  const std::uint64_t needed = static_cast<std::uint64_t>(filled) * element_bytes;
  if (needed > array.bytes)
    return diagnose(ErrorCode::infeasible, name, " has ", array.bytes, " bytes; the ",
                    shape_text(extents), " elements of its part need ", needed);
  if (array.data == nullptr)
    return diagnose(ErrorCode::inaccessible_memory, name, " is a null pointer for ",
                    side.elements(), " elements; allocate it first");
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

void LayoutCall::share_parts(std::uint64_t rest, std::uint64_t most_leaving) {
  frame.memory->limit(static_cast<std::size_t>(rest));
  Ledger& ledger = frame.ledger;
  if (from.elements() > 0) sent.emplace(ledger, from.layout(), from.grid_rank, to.layout());
  if (to.elements() > 0) received.emplace(ledger, to.layout(), to.grid_rank, from.layout());
  peers.emplace(ledger, channel.rank(), sent ? &*sent : nullptr, to.grid,
                received ? &*received : nullptr, from.grid);
  const std::uint64_t bytes = bytes_at_once(*peers, element_bytes);
  mine.at_once = bytes <= rest &&
                 static_cast<std::uint64_t>(peers->elements_sent) * element_bytes <= most_leaving;
  if (mine.at_once) frame.memory->take_scratch(static_cast<std::size_t>(bytes));
}

OutgoingPart LayoutCall::outgoing(const void* array) {
  if (!sent) return {};
  pack_.emplace(*sent, ArrayShape{from.strides, element_bytes}, *(*all)->target_order);
  return {to.grid_rank, &*pack_, static_cast<const std::byte*>(array)};
}

IncomingPart LayoutCall::incoming(void* array) {
  if (!received) return {};
  unpack_.emplace(*received, ArrayShape{to.strides, element_bytes}, *(*all)->target_order);
  return {from.grid_rank, &*unpack_, static_cast<std::byte*>(array)};
}

void LayoutCall::move_at_once(const void* source, void* target, Report& report) {
  const ArrayCopies copies(channel, element_bytes, outgoing(source), incoming(target));
  frame.memory->use_scratch([&](std::span<std::byte> scratch) {
    layout::move_at_once(channel, frame.ledger, *peers, copies, scratch, report);
  });
}

std::uint64_t LayoutCall::bytes_of_intersection(const GridSide& mine, const GridSide& theirs) {
  if (mine.grid_rank == outside) return 0;
  const BlockCyclic::Coordinates grid_coordinates = mine.layout().coordinates(mine.grid_rank);
  std::uint64_t bytes = 0;
  for (std::size_t d = 0; d < theirs.layout().dimensions(); ++d) {
    const DimensionPair pair(mine.layout().dimension(d), theirs.layout().dimension(d),
                             static_cast<int>(d));
    bytes +=
        intersect(pair, grid_coordinates[d], {}).families * sizeof(DimensionIntersection::Family) +
        (static_cast<std::uint64_t>(pair.theirs.ranks) + 1) * sizeof(std::int64_t);
  }
  return bytes;
}

}  // namespace valet::layout
