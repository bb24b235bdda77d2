// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Zoltan's partition behind one class: from columns of numbers, and from what the application
/// tells Zoltan itself, to a rank per object.

#include "mpi/channel.hpp"
#include "objects.hpp"
#include <valet/ledger.hpp>
#include <valet/storage_backend.hpp>
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

class ZoltanPartition {
 public:
  /// Collective. @throws Error invalid_argument on all ranks alike.
  ZoltanPartition(const mpi::Channel& communicator, const RebalancerOptions& options);

  /// Gives each object a rank, and a part where parts are not ranks. Collective.
  ///
  /// @param ledger   Is told what Zoltan takes, about, while it does.
  /// @param objects  Looked at, and at least one on some rank [local].
  /// @param ranks    objects.count entries, written [local].
  /// @param parts    Likewise; empty where there is one part for each rank.
  /// @param weight_dimensions  Weights of each object: those that it has, then 1. [global]
  /// @param mine     What this rank found wrong before [local].
  /// @throws Error when Zoltan fails, on all ranks alike.
  void partition(const mpi::Channel& communicator, Ledger& ledger, const Objects& objects,
                 Array<int>& ranks, Array<int>& parts, std::size_t weight_dimensions,
                 std::optional<Diagnostic> mine = std::nullopt);

  /// From the next partition on, Zoltan can say where a point is: after RCB, RIB or HSFC.
  void keep_cuts();

  /// Parts over all ranks, or ranks where there are more; a good guess where ranks differ.
  [[nodiscard]] double part_count() const { return part_count_; }
  /// Whether parts are not ranks.
  [[nodiscard]] bool has_parts() const { return has_parts_; }
  [[nodiscard]] Zoltan_Struct* handle() const { return zoltan_.get(); }

 private:
  struct Destroy {
    void operator()(Zoltan_Struct* zoltan) const;
  };

  [[nodiscard]] std::optional<Diagnostic> set(const std::string& name, const std::string& value);
  [[nodiscard]] std::optional<Diagnostic> set_all(const RebalancerOptions& options);
  [[nodiscard]] std::optional<Diagnostic> set_user_parameter(const std::string& name,
                                                             const std::string& value);

  std::unique_ptr<Zoltan_Struct, Destroy> zoltan_;
  bool has_parts_ = false;
  bool asks_queries_ = false;  ///< the method goes by what the application tells Zoltan
  double part_count_;
};

}  // namespace valet::zoltan
