// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Memory of an application that ranks of its node can map: a file without a name, mapped where
/// addresses are reserved for what it may grow to. Storages whose rows lie there are recognised by
/// their addresses, so that a rank pulls blocks straight from another rank's slots.

#include "storage/descriptors.hpp"
#include <valet/export.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace valet::storage {

/// How a process of the same machine finds a segment, and what tells it that this is the one; plain
/// words, to be sent to it. Another one after each change of the size.
struct NodeSegmentHandle {
  std::uint64_t process = 0;
  std::uint64_t descriptor = 0;
  std::uint64_t device = 0;
  std::uint64_t file = 0;   ///< its number on the device
  std::uint64_t bytes = 0;  ///< whole pages

  [[nodiscard]] bool operator==(const NodeSegmentHandle&) const = default;
};

/// Freed with this, whoever has it mapped. All functions are local.
class VALET_EXPORT NodeSegment {
 public:
  /// Memory of `bytes` zeros, whose pages are taken when they are first touched. Where the system
  /// has none to share it is ordinary memory, which grows in the same way.
  /// @return Null where the system refuses that, too. @throws std::bad_alloc.
  [[nodiscard]] static std::unique_ptr<NodeSegment> create(std::size_t bytes);
  NodeSegment(const NodeSegment&) = delete;
  NodeSegment& operator=(const NodeSegment&) = delete;
  ~NodeSegment();

  /// Changes the size where it is: what was there stays, what is new is zero.
  /// @return False where the system refuses, or addresses end: then nothing has changed.
  [[nodiscard]] bool resize(std::size_t bytes);
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// What it can grow to.
  [[nodiscard]] std::size_t room() const { return room_; }
  [[nodiscard]] bool is_shared() const { return descriptor_.is_open(); }
  [[nodiscard]] const NodeSegmentHandle& handle() const { return handle_; }
  /// Notes a use by an execution, which has a number; whether none has used it before.
  [[nodiscard]] bool is_new_to(std::uint64_t execution) const;

 private:
  NodeSegment() = default;
  bool open_file();
  bool reserve(std::size_t room);
  bool take_pages(std::size_t bytes);
  void advise(std::size_t before) const;

  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t room_ = 0;
  Mapping reserved_;  ///< room_ and what precedes data_ up to a huge page
  FileDescriptor descriptor_;
  NodeSegmentHandle handle_;
  mutable std::atomic<std::uint64_t> first_execution_ = 0;
};

/// Where memory of this process lies in a segment.
struct NodePlace {
  NodeSegmentHandle segment;
  std::uint64_t offset_bytes = 0;

  [[nodiscard]] bool operator==(const NodePlace&) const = default;
};
/// @param execution  Not 0; a segment is left out in the first one that looks for it.
/// @return Nothing where the first byte is in no segment of this process. Local, thread-safe.
[[nodiscard]] VALET_EXPORT std::optional<NodePlace> find_in_segments(const std::byte* first,
                                                                     std::uint64_t execution = 0);

/// A segment of another process, mapped into this one for as long as it has users. To map a page
/// takes as long as to copy half of it, so the mapping stays for the next user until several plans
/// have had no use of it. The memory itself is freed when its owner frees it. All functions are
/// local and thread-safe.
class VALET_EXPORT MappedSegment {
 public:
  MappedSegment() = default;
  /// @return Empty where it is not mapped yet.
  [[nodiscard]] static MappedSegment find(const NodeSegmentHandle& handle);
  /// @return Empty where it cannot be reached. @throws std::bad_alloc.
  [[nodiscard]] static MappedSegment open(const NodeSegmentHandle& handle,
                                          const FileDescriptor& descriptor);
  /// Unmaps what had no user at the last so many calls of this function, this one included.
  /// @param calls  At least 1.
  static void unmap_unused(unsigned calls);
  /// Of all that is mapped.
  [[nodiscard]] static std::uint64_t mapped_bytes();

  /// What it was asked for with.
  [[nodiscard]] const NodeSegmentHandle& handle() const { return handle_; }
  /// Null if empty.
  [[nodiscard]] std::byte* data() const;

 private:
  struct MappedFile;

  NodeSegmentHandle handle_;
  std::shared_ptr<MappedFile> mapping_;
};

}  // namespace valet::storage
