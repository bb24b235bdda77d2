// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/detail/cxx20.hpp>
#include <valet/export.hpp>
#include <valet/mpi.hpp>

#include <cstddef>
#include <memory>

namespace valet::storage {
class NodeSegment;
}  // namespace valet::storage

namespace valet::detail {

/// The memory of a node array, without a type: entries of `entry_bytes`. Copies share it, and it is
/// freed with the last of them.
class VALET_EXPORT NodeBytes {
 public:
  /// No memory.
  NodeBytes() = default;
  /// As node_array(). Collective.
  NodeBytes(MPI_Comm communicator, std::size_t count, std::size_t entry_bytes);

  /// As NodeArray::resize(). Local.
  void resize(std::size_t count, std::size_t entry_bytes) const;
  /// The first entry; null without memory. Local.
  [[nodiscard]] void* data() const noexcept;
  /// Bytes. Local.
  [[nodiscard]] std::size_t size() const noexcept;
  /// Local.
  [[nodiscard]] bool is_shared() const noexcept;

 private:
  std::shared_ptr<storage::NodeSegment> segment_;
};

}  // namespace valet::detail
