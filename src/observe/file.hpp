// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/export.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace valet::observe {

/// A file without buffers of its own. Where several processes of one machine see the same file,
/// each can write its own part of it. After the first error, which is remembered, nothing more is
/// written. All functions are local.
class VALET_EXPORT File {
 public:
  /// Identifies a file: whether parts of it can be written, machine, device, inode.
  using Identity = std::array<std::uint64_t, 4>;

  File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { close(); }

  /// Makes the file, or opens the one that is there: what it holds is written over, which is much
  /// cheaper than letting the system throw it away first; truncate() cuts off the rest.
  void create(const std::string& path);
  /// Makes a file without a name in $TMPDIR, or /tmp, gone with the process at the latest; nothing
  /// where there is a file already.
  void create_temporary();
  /// The identity of what create() has opened. A pipe or a device has no parts.
  [[nodiscard]] Identity identity() const;
  /// Opens the file of another process. False where this is not the same file on the same running
  /// system: two clients of a network file system do not see each other's pages.
  [[nodiscard]] bool join(const std::string& path, const Identity& identity);

  /// Goes on writing there. Nothing for a pipe or a device.
  void seek(std::uint64_t offset);
  void write(std::span<const char> bytes);
  /// Reads from an offset on. False where that much is not there.
  [[nodiscard]] bool read(std::uint64_t offset, std::span<char> bytes) const;
  /// What was in the file before ends here.
  void truncate(std::uint64_t size);
  /// Begins anew, without the error; what was written is written over.
  void restart() {
    error_ = 0;
    seek(0);
  }
  /// Some file systems say only now that there was no room.
  void close();

  [[nodiscard]] int error() const { return error_; }

 private:
  int descriptor_ = -1;
  int error_ = 0;
  bool has_parts_ = false;
};

}  // namespace valet::observe
