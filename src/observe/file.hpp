// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/export.hpp>

#include <cstdint>
#include <span>
#include <string>

namespace valet::observe {

/// A file without buffers of its own, which is there as a whole or not at all. Several processes of
/// one machine can each write their own part of it. After the first error, which is remembered,
/// nothing more is written. All functions are local.
class VALET_EXPORT File {
 public:
  /// Identifies a file of which parts can be written.
  struct Identity {
    std::uint64_t is_made = 0, has_parts = 0;
    std::uint64_t machine = 0, process = 0, descriptor = 0, device = 0, inode = 0;
  };

  File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { close(); }

  /// Makes a file in the directory of `path`, if it can without a name, so that nothing stays of it
  /// without publish(). A pipe or a device is opened: what is written goes there at once.
  void create(const std::string& path);
  /// Makes a file without a name in $TMPDIR, or /tmp, gone with the process at the latest; nothing
  /// where there is a file already.
  void create_temporary();
  /// What create() has made, if it could. A pipe or a device has no parts.
  [[nodiscard]] Identity identity() const;
  /// Opens the file of another process. False where this is not the same file on the same running
  /// system: two clients of a network file system do not see each other's pages.
  [[nodiscard]] bool join(const Identity& identity);

  /// Goes on writing there. Nothing for a pipe or a device.
  void seek(std::uint64_t offset);
  void write(std::span<const char> bytes);
  /// Reads from an offset on. False where the file ends before.
  [[nodiscard]] bool read(std::uint64_t offset, std::span<char> bytes) const;
  /// Starts from the beginning again, without the error; what was written is overwritten.
  void restart() {
    error_ = 0;
    seek(0);
  }
  /// What create() has made gets its path, in the place of what was there, and is closed. After an
  /// error it is removed, and what was there stays as it was.
  void publish();
  /// Some file systems say only now that there was no room. What create() has made and nobody has
  /// published is removed.
  void close();

  [[nodiscard]] int error() const { return error_; }

 private:
  void open_parts(int descriptor);
  void make_in_directory();
  void close_descriptor();

  int descriptor_ = -1;
  int error_ = 0;
  bool has_parts_ = false;
  std::uint64_t offset_ = 0;                      ///< of what is written next
  std::uint64_t most_bytes_ = ~std::uint64_t{0};  ///< that a file of this process may have
  std::string path_;                              ///< what publish() makes of it; empty: nothing
  std::string temporary_;                         ///< its name until then, if it has one
};

/// The warning that it could not be written. @param what  Such as "the trace". Local.
[[nodiscard]] std::string cannot_write(const char* what, const std::string& path, int error);

/// Appends a text to a file, which is made where there is none: all of it or, after an error,
/// nothing. Local. @return 0, or the error.
[[nodiscard]] VALET_EXPORT int append(const std::string& path, std::span<const char> text);

}  // namespace valet::observe
