// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/scalapack.hpp>

#include <memory>

namespace valet::bench {

/// ScaLAPACK's pdgemr2d, the peer of redistribute(), between two layouts of a matrix of doubles on
/// grids of the first ranks. Collective over MPI_COMM_WORLD, also to construct and destroy.
class ScalapackPeer {
 public:
  virtual ~ScalapackPeer() = default;
  /// Column-major local arrays without gaps.
  virtual void run(const double* source, double* target) = 0;
};

/// nullptr where this program was built without ScaLAPACK or the array is no matrix.
[[nodiscard]] std::unique_ptr<ScalapackPeer> make_scalapack_peer(const BlockCyclic& from,
                                                                 const BlockCyclic& to);

}  // namespace valet::bench
