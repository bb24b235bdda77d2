// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Memory that processes of one machine share. It has no name in any file system: a peer opens it
/// through the descriptor of its owner. So a crash leaves nothing behind, and a small /dev/shm, as
/// containers have it, does not matter.

#include "storage/descriptors.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace valet::storage {

/// Whether files may have as many bytes: memory without a name counts as one, and beyond the limit
/// the system ends the process (SIGXFSZ), where an answer is wanted. Local.
[[nodiscard]] bool may_have_files_of(std::size_t bytes);

/// How a process of the same machine finds the memory; plain words, to be sent to it.
struct SharedMemoryHandle {
  std::uint64_t bytes = 0;  ///< 0: there is none
  std::uint64_t process = 0;
  std::uint64_t descriptor = 0;
  std::uint64_t key = 0;  ///< the first word of the memory, until it is first written
};

/// A mapping of shared memory into this process, undone by the destructor; the memory is freed with
/// its last mapping. All functions are local. Move-only.
class SharedMemory {
 public:
  SharedMemory() = default;
  /// New memory of `bytes`, already backed by pages; empty where the system has none to give.
  [[nodiscard]] static SharedMemory create(std::size_t bytes);
  /// The memory of a peer; empty where it cannot be reached.
  [[nodiscard]] static SharedMemory open(const SharedMemoryHandle& handle) {
    return open(handle, FileDescriptor::of_process(handle.process, handle.descriptor, true));
  }
  /// The same, where the peer has passed its descriptor.
  [[nodiscard]] static SharedMemory open(const SharedMemoryHandle& handle,
                                         FileDescriptor descriptor);

  [[nodiscard]] SharedMemoryHandle handle() const;
  /// Ends the time in which other processes can open it.
  void close() noexcept;

  [[nodiscard]] std::byte* data() const { return data_.get(); }
  [[nodiscard]] std::size_t size() const { return bytes_of(data_); }

 private:
  explicit SharedMemory(FileDescriptor descriptor) : descriptor_(std::move(descriptor)) {}
  bool map(std::size_t bytes);

  Mapping data_;
  FileDescriptor descriptor_;
};

}  // namespace valet::storage
