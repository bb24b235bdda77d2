// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// A Zoltan_Struct that Valet makes, for codes that do not call Zoltan themselves.

#include "handle/parameters.hpp"
#include "mpi/channel.hpp"
#include "rebalance/settings.hpp"
#include "rebalancer/zoltan_partition.hpp"
#include <valet/error.hpp>
#include <valet/zoltan/rebalancer.hpp>

#include <zoltan.h>

#include <memory>
#include <optional>
#include <string>

namespace valet::zoltan {

/// What the options say whatever the partitioner.
[[nodiscard]] rebalance::Settings settings_of(const RebalancerOptions& options);

/// What the parameters say of them.
void take_parameters(const MigrationParameters& parameters, rebalance::Settings& settings);

class OwnStructure {
 public:
  /// Collective. @throws Error invalid_argument on all ranks alike.
  OwnStructure(const mpi::Channel& communicator, const RebalancerOptions& options,
               const rebalance::Settings& settings);

  [[nodiscard]] Zoltan_Struct* get() const { return zoltan_.get(); }
  [[nodiscard]] const PartitionSetup& setup() const { return setup_; }

 private:
  struct Destroy {
    void operator()(Zoltan_Struct* zoltan) const;
  };

  [[nodiscard]] std::optional<Diagnostic> set(const std::string& name, const std::string& value);
  [[nodiscard]] std::optional<Diagnostic> set_all(const RebalancerOptions& options,
                                                  const rebalance::Settings& settings);
  [[nodiscard]] std::optional<Diagnostic> set_user_parameter(const std::string& name,
                                                             const std::string& value);

  std::unique_ptr<Zoltan_Struct, Destroy> zoltan_;
  PartitionSetup setup_;
};

}  // namespace valet::zoltan
