// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/block_cyclic.hpp>
#include <valet/dimension.hpp>

#include <array>
#include <functional>

namespace valet::bench {

/// ScaLAPACK's pdgemr2d, the peer of redistribute(), between column-major local arrays without
/// gaps.
using Pdgemr2d = std::function<void(const double* source, double* target)>;

/// Between two layouts of a matrix on grids of the first ranks; nothing where this program was
/// built without ScaLAPACK or the array is no matrix. Collective over MPI_COMM_WORLD, also to call
/// and to destroy.
[[nodiscard]] Pdgemr2d make_pdgemr2d(const BlockCyclic& from, const BlockCyclic& to);

/// Indices of one dimension that two coordinates share and that follow each other. ScaLAPACK's own
/// structure.
struct SharedInterval {
  int local;  ///< the first one, on my side
  int length;
};

/// Whether this program was built with a ScaLAPACK whose function for it can be called: it is no
/// part of the interface.
[[nodiscard]] bool has_scalapack_intervals();

/// A dimension as ScaLAPACK takes it: the rows of a matrix with one column.
struct ScalapackDimension {
  /// @throws Error invalid_argument: an extent beyond 2^31-1.
  explicit ScalapackDimension(const layout::Dimension& dimension);
  int extent;
  int ranks;
  std::array<int, 9> descriptor;
};

/// What a coordinate of `mine` shares with one of `theirs`, as pdgemr2d computes it for each pair
/// of processes and each of the two dimensions (ScaLAPACK, REDIST/SRC/pdgemr.c). Local.
/// @param found  Room for as many intervals as the two coordinates have blocks together.
/// @return Intervals found.
[[nodiscard]] int scalapack_intervals(const ScalapackDimension& mine,
                                      const ScalapackDimension& theirs, int coordinate, int peer,
                                      SharedInterval* found);

}  // namespace valet::bench
