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

#include <memory>
#include <optional>
#include <string>

namespace valet::zoltan {

/// Whether a method asks for coordinates in any case.
[[nodiscard]] bool goes_by_coordinates(const std::string& method);
/// Whether a method goes by the order of ranks and slots only.
[[nodiscard]] bool goes_by_order(const std::string& method);

class ZoltanPartition {
 public:
  /// Collective. @throws Error invalid_argument on all ranks alike.
  ZoltanPartition(const mpi::Channel& communicator, const RebalancerOptions& options);

  /// Gives each object a rank, and a part where parts are not ranks. Collective.
  ///
  /// @param objects  Looked at, and at least one on some rank [local].
  /// @param ranks    objects.count entries, written [local].
  /// @param parts    Likewise; empty where there is one part for each rank.
  /// @throws Error when Zoltan fails, on all ranks alike.
  void partition(const mpi::Channel& communicator, const Objects& objects, Array<int>& ranks,
                 Array<int>& parts);

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
};

}  // namespace valet::zoltan
