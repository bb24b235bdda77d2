// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What Valet takes the place of: Zoltan's own migration, which packs all particles that leave into
/// one buffer and receives all that arrive in another.

#include "cloud.hpp"
#include <valet/zoltan/rebalancer.hpp>

#include <mpi.h>

#include <memory>

struct Zoltan_Struct;

namespace particles {

class PackedExchange {
 public:
  /// Collective.
  explicit PackedExchange(MPI_Comm communicator);

  /// Partitions as the rebalancer does, then moves the particles of `cloud` by Zoltan_Migrate. The
  /// report has what moved. Collective.
  /// @throws valet::Error as Rebalancer::rebalance(); std::runtime_error on this rank alone where
  ///         Zoltan fails.
  valet::zoltan::RebalanceResult rebalance(valet::zoltan::Rebalancer& rebalancer, Cloud& cloud);

 private:
  struct Destroy {
    void operator()(Zoltan_Struct* zoltan) const;
  };

  std::unique_ptr<Zoltan_Struct, Destroy> zoltan_;
};

}  // namespace particles
