// SPDX-License-Identifier: BSD-3-Clause
#include "base/diagnose.hpp"
#include <valet/scalapack.hpp>

#include <algorithm>
#include <limits>

namespace valet::layout {
namespace {

enum Entry { dtype, ctxt, m, n, mb, nb, rsrc, csrc, lld, entries };

constexpr int dense_matrix = 1;

template <class... Parts>
[[noreturn]] void refuse_descriptor(const Parts&... parts) {
  refuse("ScaLAPACK descriptor: ", parts...);
}

/// Which process it is for is not known here. The one that gets blocks last has the fewest rows.
void check_leading_dimension(int leading_dimension, const Dimension& rows) {
  const int last = (rows.first_rank() > 0 ? rows.first_rank() : rows.ranks()) - 1;
  const std::int64_t least = std::max<std::int64_t>(rows.local_extent(last), 1);
  if (leading_dimension < least)
    refuse_descriptor("leading dimension LLD = ", leading_dimension, " must be at least ", least,
                      ", and at least the rank's local rows (NUMROC)");
}

int as_integer(std::int64_t value, const char* what) {
  if (value > std::numeric_limits<int>::max())
    refuse_descriptor(what, " = ", value, " does not fit ScaLAPACK's 32-bit integers");
  return static_cast<int>(value);
}

}  // namespace

BlockCyclic from_scalapack(std::span<const int> descriptor, int grid_rows, int grid_columns,
                           IndexOrder rank_order) {
  if (descriptor.size() != entries)
    refuse_descriptor("it has ", descriptor.size(), " integers, but a dense array has 9");
  if (descriptor[dtype] != dense_matrix)
    refuse_descriptor(
        "DTYPE = ", descriptor[dtype],
        " is not 1, a dense block-cyclic array; band descriptors (501, 502) are not layouts of "
        "a whole array");
  BlockCyclic layout{{descriptor[m], descriptor[n]},
                     {descriptor[mb], descriptor[nb]},
                     {grid_rows, grid_columns},
                     rank_order,
                     {descriptor[rsrc], descriptor[csrc]}};
  check_leading_dimension(descriptor[lld], layout.dimension(0));
  return layout;
}

ScalapackDescriptor to_scalapack(const BlockCyclic& layout, int context, int leading_dimension) {
  if (layout.dimensions() != 2)
    refuse_descriptor("it describes two dimensions, the layout has ", layout.dimensions());
  if (layout.is_cut()) refuse_descriptor("it describes equal blocks, but the layout is cut");
  const Dimension& rows = layout.dimension(0);
  const Dimension& columns = layout.dimension(1);
  ScalapackDescriptor descriptor{};
  descriptor[dtype] = dense_matrix;
  descriptor[ctxt] = context;
  descriptor[m] = as_integer(rows.extent(), "M");
  descriptor[n] = as_integer(columns.extent(), "N");
  descriptor[mb] = as_integer(rows.block_size(), "MB");
  descriptor[nb] = as_integer(columns.block_size(), "NB");
  descriptor[rsrc] = rows.first_rank();
  descriptor[csrc] = columns.first_rank();
  check_leading_dimension(leading_dimension, rows);
  descriptor[lld] = leading_dimension;
  return descriptor;
}

}  // namespace valet::layout
