// SPDX-License-Identifier: BSD-3-Clause
#include "bindings/c_call.hpp"
#include "geometry/intersection.hpp"
#include <valet/intersect.hpp>
#include <valet/redistribute.hpp>
#include <valet/scalapack.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

using namespace valet::c;

namespace {

valet::IndexOrder to_order(int order) {
  if (order != VALET_ROW_MAJOR && order != VALET_COLUMN_MAJOR)
    refuse("unknown order ", order, "; give VALET_ROW_MAJOR or VALET_COLUMN_MAJOR");
  return order == VALET_ROW_MAJOR ? valet::IndexOrder::row_major : valet::IndexOrder::column_major;
}

/// The caller's values for each dimension; none where he gives none.
template <class Value>
valet::layout::PerDimension<Value> to_values(const Value* values, int dimensions) {
  if (values == nullptr) return {};
  return valet::layout::PerDimension<Value>(
      std::span(values, static_cast<std::size_t>(dimensions)));
}

valet::GridLayout to_grid(const Valet_Layout& layout) {
  require_number(static_cast<std::uint64_t>(layout.dimensions), "dimensions of a layout");
  const valet::BlockCyclic cyclic(
      to_values(layout.extents, layout.dimensions),
      to_values(layout.block_sizes, layout.dimensions), to_values(layout.grid, layout.dimensions),
      to_order(layout.rank_order), to_values(layout.first_ranks, layout.dimensions));
  valet::GridLayout grid{cyclic};
  if (layout.ranks != nullptr) grid.ranks.assign(layout.ranks, layout.ranks + cyclic.ranks());
  return grid;
}

void require_layouts(const Valet_Layout* one, const Valet_Layout* other) {
  for (const Valet_Layout* const layout : {one, other})
    require_pointer(layout, "a layout", "give both layouts");
}

template <class Pointer>
valet::LocalArray<Pointer> to_array(const Valet_Array* array, int dimensions) {
  if (array == nullptr) return {};
  require_number(array->bytes, "the bytes of its array");
  return {.data = array->data,
          .bytes = array->bytes,
          .order = to_order(array->order),
          .strides = to_values(array->strides, dimensions)};
}

/// The arguments of a redistribution, as C++ has them.
struct LayoutCall {
  valet::GridLayout from, to;
  valet::SourceArray source;
  valet::TargetArray target;
  valet::LayoutOptions options;
};

LayoutCall to_layout_call(const Valet_Layout* from, const Valet_Layout* to,
                          std::size_t element_bytes, const Valet_Array* source,
                          const Valet_Array* target, const valet::Options& chosen,
                          const Valet_Report* report) {
  require_report(report);
  require_number(element_bytes, "element_bytes");
  require_layouts(from, to);
  auto options = to_element_options<valet::LayoutOptions>(chosen);
  options.method = chosen.method;
  return {to_grid(*from), to_grid(*to), to_array<const void*>(source, from->dimensions),
          to_array<void*>(target, to->dimensions), std::move(options)};
}

}  // namespace

valet::GridLayout valet::c::to_layout(const Valet_Layout* layout) {
  require_pointer(layout, "the layout", "give a Valet_Layout");
  return to_grid(*layout);
}

valet::TargetArray valet::c::to_array(const Valet_Array* array, const Valet_Layout& layout) {
  return ::to_array<void*>(array, layout.dimensions);
}

valet::ObjectLayout valet::c::to_object_layout(const Valet_Object_layout& layout) {
  if (layout.tiling == nullptr) {
    require_number(layout.block_size, "the block_size of a Valet_Object_layout");
    return {layout.block_size, layout.ranks};
  }
  if (layout.tiling->ranks != nullptr)
    refuse(
        "the tiling of a Valet_Object_layout has a list of ranks; give NULL: rank r of the grid is "
        "rank r of the communicator");
  return ObjectLayout::tiles(to_grid(*layout.tiling).layout, to_order(layout.numbering));
}

int Valet_Layout_from_descriptor(const int* descriptor, int grid_rows, int grid_columns,
                                 int rank_order, Valet_Layout_lists* lists, Valet_Layout* layout) {
  return guarded([&] {
    require_pointer(descriptor, "the descriptor", "give its nine integers");
    require_pointer(lists, "the place for the lists of the layout", "give its address");
    require_pointer(layout, "the place for the layout", "give its address");
    const valet::BlockCyclic cyclic = valet::layout::from_scalapack(
        {descriptor, std::tuple_size_v<valet::layout::ScalapackDescriptor>}, grid_rows,
        grid_columns, to_order(rank_order));
    for (std::size_t d = 0; d < cyclic.dimensions(); ++d) {
      const valet::layout::Dimension& dimension = cyclic.dimension(d);
      lists->extents[d] = dimension.extent();
      lists->block_sizes[d] = dimension.block_size();
      lists->grid[d] = dimension.ranks();
      lists->first_ranks[d] = dimension.first_rank();
    }
    *layout = {2,           lists->extents, lists->block_sizes,
               lists->grid, rank_order,     lists->first_ranks,
               nullptr};
  });
}

int Valet_Layout_local_extents(const Valet_Layout* layout, int rank, int64_t* extents) {
  return guarded([&] {
    require_pointer(layout, "the layout", "give a Valet_Layout");
    require_pointer(extents, "the place for the extents", "give an entry for each dimension");
    const valet::BlockCyclic cyclic = to_grid(*layout).layout;
    if (rank < 0 || rank >= cyclic.ranks())
      refuse("rank ", rank, " is not one of 0 to ", cyclic.ranks() - 1,
             " of the grid; others have no part of the array");
    std::ranges::copy(cyclic.local_extents(rank), extents);
  });
}

int Valet_Redistribute(MPI_Comm communicator, const Valet_Layout* from, const Valet_Layout* to,
                       size_t element_bytes, const Valet_Array* source, const Valet_Array* target,
                       const Valet_Options* options, Valet_Report* report) {
  return guarded([&] {
    const LayoutCall call = agreed(communicator, options, [&](int, const ChosenOptions& chosen) {
      return to_layout_call(from, to, element_bytes, source, target, chosen.options, report);
    });
    write_report(valet::redistribute(communicator, call.from, call.to, element_bytes, call.source,
                                     call.target, call.options),
                 report);
  });
}

int Valet_Redistribute_in_place(MPI_Comm communicator, const Valet_Layout* from,
                                const Valet_Layout* to, size_t element_bytes,
                                const Valet_Array* array, const Valet_Options* options,
                                Valet_Report* report) {
  return guarded([&] {
    const LayoutCall call = agreed(communicator, options, [&](int, const ChosenOptions& chosen) {
      return to_layout_call(from, to, element_bytes, nullptr, array, chosen.options, report);
    });
    write_report(valet::redistribute_in_place(communicator, call.from, call.to, element_bytes,
                                              call.target, call.options),
                 report);
  });
}

int Valet_Intersect(const Valet_Layout* mine, int rank, const Valet_Layout* theirs, int peer,
                    int dimension, int algorithm, Valet_Index_family* families, int64_t room,
                    Valet_Index_families* found) {
  return guarded([&] {
    require_layouts(mine, theirs);
    require_pointer(found, "the place for the result", "give its address");
    if (room > 0) require_pointer(families, "the list of families", "allocate it, or give no room");
    const valet::BlockCyclic own = to_grid(*mine).layout, other = to_grid(*theirs).layout;
    valet::IntersectOptions options{peer, static_cast<valet::IntersectionAlgorithm>(algorithm)};
    valet::layout::check_intersection(own, rank, other, options);
    if (dimension < 0 || dimension >= mine->dimensions)
      refuse("dimension ", dimension, " is not one of 0 to ", mine->dimensions - 1);
    const auto d = static_cast<std::size_t>(dimension);
    if (peer != VALET_ALL_PEERS) options.peer = other.coordinates(peer)[d];
    const valet::layout::DimensionPair pair(own.dimension(d), other.dimension(d), dimension);
    static_assert(sizeof(Valet_Index_family) == sizeof(valet::layout::IndexFamily));
    const valet::FoundFamilies all =
        valet::intersect(pair, own.coordinates(rank)[d],
                         {reinterpret_cast<valet::layout::IndexFamily*>(families),
                          room > 0 ? static_cast<std::size_t>(room) : 0},
                         options);
    *found = {static_cast<int64_t>(all.families),
              pair.family_stride(),
              pair.local_stride(),
              pair.period,
              pair.local_period(),
              pair.extent,
              all.operations};
  });
}
