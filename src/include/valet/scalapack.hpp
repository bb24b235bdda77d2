// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// ScaLAPACK array descriptors (ScaLAPACK Users' Guide, section 4.3.3): nine integers DTYPE, CTXT,
/// M, N, MB, NB, RSRC, CSRC, LLD that describe a two-dimensional block-cyclic array. They do not
/// contain the shape of the process grid, which belongs to the BLACS context.

#include <valet/block_cyclic.hpp>
#include <valet/export.hpp>

#include <array>
#include <span>

namespace valet::layout {

/// DTYPE, CTXT, M, N, MB, NB, RSRC, CSRC, LLD.
using ScalapackDescriptor = std::array<int, 9>;

/// The layout of a dense array (DTYPE 1) from its descriptor. Local.
///
/// @param descriptor               Nine integers, of any process of the grid; CTXT and LLD (entry
///                                 [8]) are not part of a layout.
/// @param grid_rows, grid_columns  The process grid, from BLACS_GRIDINFO.
/// @param rank_order               How BLACS_GRIDINIT numbered the processes; its default is
///                                 'Row-major'.
/// @throws Error invalid_argument: not nine integers, another DTYPE, a leading dimension that is
///         too small for every process, and as BlockCyclic. A rank's leading dimension must also
///         cover its own rows; calls that get the array check that.
[[nodiscard]] VALET_EXPORT BlockCyclic
from_scalapack(std::span<const int> descriptor, int grid_rows, int grid_columns,
               IndexOrder rank_order = IndexOrder::row_major);

/// The descriptor of a two-dimensional layout. Local.
///
/// @param layout             A layout of two dimensions.
/// @param context            BLACS context of a grid of the layout's shape.
/// @param leading_dimension  Of this rank's column-major local array, in elements.
/// @throws Error invalid_argument: not two dimensions, a general grid, an extent or block size over
///         2^31-1, a leading dimension that is too small for every process.
[[nodiscard]] VALET_EXPORT ScalapackDescriptor to_scalapack(const BlockCyclic& layout, int context,
                                                            int leading_dimension);

}  // namespace valet::layout
