// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Files without a name that other processes of the machine have open: found through /proc, or
/// passed by their owner where that is another namespace, or not allowed. And memory mapped from
/// them.

#include <valet/export.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace valet::storage {

/// An open file, closed by the destructor; or none. Move-only. All functions are local.
class VALET_EXPORT FileDescriptor {
 public:
  FileDescriptor() = default;
  /// Takes over what the system gave; nothing if negative.
  explicit FileDescriptor(int number) : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept;
  FileDescriptor& operator=(FileDescriptor other) noexcept;
  FileDescriptor(const FileDescriptor&) = delete;
  ~FileDescriptor();

  /// Opens what another process has open, to read, or to write as well. Nothing where it cannot be
  /// reached; perhaps another file, if that process has ended.
  [[nodiscard]] static FileDescriptor of_process(std::uint64_t process, std::uint64_t number,
                                                 bool writes);
  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] bool is_open() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

/// Undoes a mapping of so many bytes. Local.
struct Unmap {
  std::size_t bytes = 0;
  VALET_EXPORT void operator()(std::byte* memory) const noexcept;
};
/// Memory that is mapped into this process, a file's or its own; null for none.
using Mapping = std::unique_ptr<std::byte, Unmap>;
[[nodiscard]] inline std::size_t bytes_of(const Mapping& mapping) {
  return mapping ? mapping.get_deleter().bytes : 0;
}

/// Where another process of the machine can send descriptors.
class VALET_EXPORT DescriptorBox {
 public:
  static constexpr std::size_t most = 64;  ///< descriptors at a time

  /// A new one; without an address where the system has none.
  [[nodiscard]] static DescriptorBox make();
  /// Not 0; to be told to the sender. 0 for a box that was not made.
  [[nodiscard]] std::uint64_t address() const { return address_; }
  /// Takes what was sent. @return How many descriptors came, the first of `received` on.
  std::size_t receive(std::span<FileDescriptor> received) const;
  /// Sends descriptors of this process, `most` at most, at once.
  /// @return False where the box is out of reach.
  [[nodiscard]] static bool send(std::uint64_t address, std::span<const int> descriptors);

 private:
  FileDescriptor socket_;
  std::uint64_t address_ = 0;
};

}  // namespace valet::storage
