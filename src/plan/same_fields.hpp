// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "mpi/agreement.hpp"
#include <valet/storage_backend.hpp>

#include <cstdint>
#include <functional>
#include <optional>

namespace valet::plan {

/// What the blocks of a call consist of: the rows, the labels and the order of their fields, which
/// must be the same on all ranks. Otherwise the values of one field would end in another.
class SameFields {
 public:
  using Visit = std::function<void(const BlockField&)>;

  /// @param for_each  Calls its argument for each field, in order; no field where this rank does
  /// not
  ///                  know them. Must outlive the agreement.
  explicit SameFields(std::function<void(const Visit&)> for_each);

  /// Adds two values to an agreement, which throws an Error that names the first field that
  /// differs: block_size_mismatch if the bytes of a block differ, else field_mismatch. This must
  /// outlive its run.
  void join(mpi::Agreement& agreement, const mpi::Channel& channel);

 private:
  [[noreturn]] void throw_difference(const mpi::Channel& channel) const;

  std::function<void(const Visit&)> for_each_;
  std::optional<std::uint64_t> fields_;   ///< a hash of rows and labels, nothing if not known
  std::optional<std::uint64_t> extents_;  ///< of extents, nothing where no field has any
};

/// The fields of a storage; none if it has no slots and does not know its blocks.
[[nodiscard]] SameFields fields_of(const StorageBackend& backend);

}  // namespace valet::plan
