// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Zoltan's partition behind one class: from columns of numbers, and from what the application
/// tells Zoltan itself, to a rank per object.

#include "mpi/channel.hpp"
#include "objects.hpp"
#include "part_ranks.hpp"
#include "zoltan_weights.hpp"
#include <valet/error.hpp>
#include <valet/ledger.hpp>
#include <valet/zoltan/rebalancer.hpp>

#include <zoltan.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace valet::zoltan {

/// Whether a method asks for coordinates in any case.
[[nodiscard]] bool goes_by_coordinates(const std::string& method);
/// Whether a method goes by the order of ranks and slots only.
[[nodiscard]] bool goes_by_order(const std::string& method);

/// Whether its objects are dealt in blocks: CYCLIC or BLOCK_CYCLIC.
[[nodiscard]] bool deals_blocks(const std::string& method);

/// What Zoltan is given.
struct GivenObjects {
  const Objects& objects;
  /// Weights of each object: those that it has, then 1. [global]
  std::size_t weight_dimensions = 0;
  double total_weight = 0;  ///< of the objects of all ranks, above 0 [global]
};

class ZoltanPartition {
 public:
  /// Collective. @throws Error invalid_argument on all ranks alike.
  ZoltanPartition(const mpi::Channel& communicator, const RebalancerOptions& options);

  /// Gives each object a rank, and a part where parts are not ranks. Collective.
  ///
  /// @param ledger   Is told what Zoltan takes, about, while it does.
  /// @param part_ranks  Of part_counts().
  /// @param given    At least one object on some rank [local].
  /// @param ranks    An entry for each object, written [local].
  /// @param parts    Likewise; empty where there is one part for each rank.
  /// @param mine     What this rank found wrong before [local].
  /// @return Whether Zoltan was asked: not for fewer than two objects a part where a rank has
  ///         several parts, which it may never finish. [global]
  /// @throws Error when Zoltan fails, on all ranks alike.
  bool partition(const mpi::Channel& communicator, Ledger& ledger, const PartRanks& part_ranks,
                 const GivenObjects& given, Array<int>& ranks, Array<int>& parts,
                 std::optional<Diagnostic> mine = std::nullopt);

  /// From the next partition on, Zoltan can say where a point is: after RCB, RIB or HSFC.
  void keep_cuts();

  [[nodiscard]] const PartCounts& part_counts() const { return part_counts_; }
  /// Whether parts are not ranks.
  [[nodiscard]] bool has_parts() const { return part_counts_.are_given; }
  [[nodiscard]] Zoltan_Struct* handle() const { return zoltan_.get(); }

 private:
  struct Destroy {
    void operator()(Zoltan_Struct* zoltan) const;
  };

  [[nodiscard]] std::optional<Diagnostic> set(const std::string& name, const std::string& value);
  [[nodiscard]] std::optional<Diagnostic> set_all(const RebalancerOptions& options);
  [[nodiscard]] std::optional<Diagnostic> set_user_parameter(const std::string& name,
                                                             const std::string& value);

  [[nodiscard]] std::optional<Diagnostic> check_parts(const PartRanks& part_ranks) const;
  void ask(const mpi::Channel& communicator, Ledger& ledger, const ZoltanWeights& weights,
           Array<int>& ranks, Array<int>& parts);

  std::unique_ptr<Zoltan_Struct, Destroy> zoltan_;
  bool asks_queries_;          ///< the method goes by what the application tells Zoltan
  bool bisects_;               ///< the method is RCB or RIB
  bool follows_curve_;         ///< the method is HSFC
  bool is_stock_;              ///< objects are given as they are, for Zoltan's own partition
  bool keeps_planes_ = false;  ///< RCB_RECTILINEAR_BLOCKS
  PartCounts part_counts_;
};

}  // namespace valet::zoltan
