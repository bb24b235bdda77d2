// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Zoltan as a partitioner: from columns of numbers, and from what the application tells Zoltan
/// itself, to a rank per object.

#include "mpi/channel.hpp"
#include "rebalance/partitioner.hpp"
#include "rebalance/settings.hpp"
#include "zoltan_weights.hpp"
#include <valet/error.hpp>
#include <valet/ledger.hpp>
#include <valet/zoltan/rebalancer.hpp>

#include <zoltan.h>

#include <memory>
#include <optional>
#include <span>
#include <string>

namespace valet::zoltan {

/// What the options say whatever the partitioner.
[[nodiscard]] rebalance::Settings settings_of(const RebalancerOptions& options);

class ZoltanPartition final : public rebalance::Partitioner {
 public:
  /// Collective. @throws Error invalid_argument on all ranks alike.
  ZoltanPartition(const mpi::Channel& communicator, const RebalancerOptions& options,
                  const rebalance::Settings& settings);

  [[nodiscard]] const rebalance::PartitionerTraits& traits() const override { return traits_; }
  /// In the ledger is what Zoltan takes, about, while it does.
  /// @return False also where Zoltan was not asked: for fewer than two objects a part where a rank
  ///         has several parts, which it may never finish.
  bool partition(const mpi::Channel& communicator, Ledger& ledger,
                 const rebalance::PartRanks& part_ranks, const rebalance::Units& units,
                 std::span<int> ranks, std::span<int> parts) override;
  [[nodiscard]] std::optional<rebalance::Target> target_at(
      const rebalance::Point& before) const override;

  /// For the application, which may tell Zoltan anything.
  [[nodiscard]] Zoltan_Struct* handle() {
    traits_.is_told_more = true;
    return zoltan_.get();
  }

 private:
  struct Destroy {
    void operator()(Zoltan_Struct* zoltan) const;
  };

  [[nodiscard]] std::optional<Diagnostic> set(const std::string& name, const std::string& value);
  [[nodiscard]] std::optional<Diagnostic> set_all(const RebalancerOptions& options,
                                                  const rebalance::Settings& settings);
  [[nodiscard]] std::optional<Diagnostic> set_user_parameter(const std::string& name,
                                                             const std::string& value);

  [[nodiscard]] std::optional<Diagnostic> check_parts(const rebalance::PartRanks& part_ranks) const;
  void ask(const mpi::Channel& communicator, Ledger& ledger, const ZoltanWeights& weights,
           std::span<int> ranks, std::span<int> parts);
  [[nodiscard]] bool has_parts() const { return traits_.parts.are_given; }

  std::unique_ptr<Zoltan_Struct, Destroy> zoltan_;
  rebalance::PartitionerTraits traits_;
  std::string method_;         ///< in upper case
  bool bisects_;               ///< the method is RCB or RIB
  bool follows_curve_;         ///< the method is HSFC
  bool is_stock_;              ///< objects are given as they are, for Zoltan's own partition
  bool keeps_planes_ = false;  ///< RCB_RECTILINEAR_BLOCKS
};

}  // namespace valet::zoltan
