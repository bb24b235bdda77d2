// SPDX-License-Identifier: BSD-3-Clause
#include "bindings/c_call.hpp"
#include <valet/redistribute.hpp>
#include <valet/valet.h>

#include <cstddef>
#include <span>
#include <string>
#include <utility>

using namespace valet::c;

namespace {

valet::IndexOrder to_order(int order) {
  if (order != VALET_ROW_MAJOR && order != VALET_COLUMN_MAJOR)
    throw valet::Error(
        valet::ErrorCode::invalid_argument,
        valet::joined("unknown order ", order, "; give VALET_ROW_MAJOR or VALET_COLUMN_MAJOR"));
  return order == VALET_ROW_MAJOR ? valet::IndexOrder::row_major : valet::IndexOrder::column_major;
}

/// The caller's values for each dimension; none where he gives none.
template <class Value>
valet::layout::PerDimension<Value> to_values(const Value* values, int dimensions) {
  if (values == nullptr) return {};
  return valet::layout::PerDimension<Value>(
      std::span(values, dimensions < 0 ? 0 : static_cast<std::size_t>(dimensions)));
}

valet::GridLayout to_grid(const Valet_Layout& layout) {
  const valet::BlockCyclic cyclic(
      to_values(layout.extents, layout.dimensions),
      to_values(layout.block_sizes, layout.dimensions), to_values(layout.grid, layout.dimensions),
      to_order(layout.rank_order), to_values(layout.first_ranks, layout.dimensions));
  valet::GridLayout grid{cyclic};
  if (layout.ranks != nullptr) grid.ranks.assign(layout.ranks, layout.ranks + cyclic.ranks());
  return grid;
}

template <class Pointer>
valet::LocalArray<Pointer> to_array(const Valet_Array* array, int dimensions) {
  if (array == nullptr) return {};
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
                          const Valet_Array* source, const Valet_Array* target,
                          const valet::Options& chosen, const Valet_Report* report) {
  require_report(report);
  for (const Valet_Layout* const layout : {from, to})
    require_pointer(layout, "a layout", "give both layouts");
  auto options = to_element_options<valet::LayoutOptions>(chosen);
  options.method = chosen.method;
  return {to_grid(*from), to_grid(*to), to_array<const void*>(source, from->dimensions),
          to_array<void*>(target, to->dimensions), std::move(options)};
}

}  // namespace

int Valet_Redistribute(MPI_Comm communicator, const Valet_Layout* from, const Valet_Layout* to,
                       size_t element_bytes, const Valet_Array* source, const Valet_Array* target,
                       const Valet_Options* options, Valet_Report* report) {
  return guarded([&] {
    const LayoutCall call = agreed(communicator, options, [&](int, const ChosenOptions& chosen) {
      return to_layout_call(from, to, source, target, chosen.options, report);
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
      return to_layout_call(from, to, nullptr, array, chosen.options, report);
    });
    write_report(valet::redistribute_in_place(communicator, call.from, call.to, element_bytes,
                                              call.target, call.options),
                 report);
  });
}
