// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Where the patches shall go.

#include "forest.hpp"
#include "regrid.hpp"
#include <valet/zoltan/rebalancer.hpp>

#include <mpi.h>

#include <optional>
#include <string>
#include <vector>

namespace amr {

enum class Method { curve, hsfc, graph };

/// What is balanced over the ranks.
enum class Balance {
  work,   ///< in the next steps
  count,  ///< patches: what fits the slots
};

/// The load balancer: p4est's curve, or Zoltan's Hilbert curve (HSFC) on the centres of the
/// patches, or Zoltan's graph partitioner (PHG) on the graph of leaves that share a face.
class Partitioner {
 public:
  Partitioner(MPI_Comm communicator, Method method);

  /// A rank for each old leaf. Collective; the members of a unit get one rank.
  ///
  /// Balance::count makes the number of slots a constraint. Along the curve, work is balanced as
  /// far as `slots_per_rank` allows; Zoltan balances the number of patches instead, because neither
  /// method takes a second weight with a bound of its own.
  /// @throws valet::Error when Zoltan fails, on all ranks alike.
  [[nodiscard]] std::vector<int> partition(Forest& forest, const Mesh& mesh,
                                           const Transition& transition, Balance balance,
                                           std::uint64_t slots_per_rank);

 private:
  [[nodiscard]] std::vector<int> with_zoltan(const Mesh& mesh, const Transition& transition,
                                             Balance balance);

  MPI_Comm communicator_;
  Method method_;
  int rank_ = 0;
  int size_ = 1;
  std::optional<valet::zoltan::Rebalancer> rebalancer_;
};

}  // namespace amr
