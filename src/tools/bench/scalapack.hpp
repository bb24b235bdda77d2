// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/block_cyclic.hpp>

#include <functional>

namespace valet::bench {

/// ScaLAPACK's pdgemr2d, the peer of redistribute(), between column-major local arrays without
/// gaps.
using Pdgemr2d = std::function<void(const double* source, double* target)>;

/// Between two layouts of a matrix on grids of the first ranks; nothing where this program was
/// built without ScaLAPACK or the array is no matrix. Collective over MPI_COMM_WORLD, also to call
/// and to destroy.
[[nodiscard]] Pdgemr2d make_pdgemr2d(const BlockCyclic& from, const BlockCyclic& to);

}  // namespace valet::bench
