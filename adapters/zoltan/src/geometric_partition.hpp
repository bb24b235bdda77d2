// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Zoltan's geometric methods, and those that go by the order of the objects, behind one class:
/// from columns of numbers to a rank per object.

#include "mpi/channel.hpp"
#include <valet/storage_backend.hpp>
#include <valet/zoltan/columns.hpp>
#include <valet/zoltan/rebalancer.hpp>

#include <zoltan.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace valet::zoltan {

/// The objects of this rank while Zoltan looks at them.
struct Objects {
  std::uint64_t count = 0;
  int rank = 0;
  Columns coordinates;
  Columns weights;            ///< no columns: all count the same
  bool count_weighs = false;  ///< every object has 1 as its last weight

  [[nodiscard]] std::size_t weight_dimensions() const {
    return weights.size + (count_weighs ? 1U : 0U);
  }
};

/// What is wrong with the numbers, if anything. Local; one pass over them. Zoltan would search for
/// the median of values that are not numbers for ever.
[[nodiscard]] std::optional<Diagnostic> check_objects(const Objects& objects);

class GeometricPartition {
 public:
  /// Collective. @throws Error invalid_argument on all ranks alike.
  GeometricPartition(const mpi::Channel& communicator, const RebalancerOptions& options);

  /// Gives each object a rank. Collective.
  ///
  /// @param objects  Checked, and at least one on some rank [local].
  /// @param ranks    objects.count entries, written [local].
  /// @throws Error when Zoltan fails, on all ranks alike.
  void partition(const mpi::Channel& communicator, const Objects& objects, std::span<int> ranks);

  [[nodiscard]] Zoltan_Struct* handle() const { return zoltan_.get(); }

 private:
  struct Destroy {
    void operator()(Zoltan_Struct* zoltan) const;
  };

  [[nodiscard]] std::optional<Diagnostic> set(const std::string& name, const std::string& value);
  [[nodiscard]] std::optional<Diagnostic> set_all(const RebalancerOptions& options);

  std::unique_ptr<Zoltan_Struct, Destroy> zoltan_;
};

/// False for BLOCK and CYCLIC, which go by the order of the objects.
[[nodiscard]] bool needs_coordinates(const std::string& method);

}  // namespace valet::zoltan
