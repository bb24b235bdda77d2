// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/export.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace valet::observe {

/// A file without a name, for what does not fit the memory that it may take; gone with the process
/// at the latest. Unbuffered, so it takes no memory. All functions are local.
class VALET_EXPORT SpoolFile {
 public:
  SpoolFile() = default;
  SpoolFile(const SpoolFile&) = delete;
  SpoolFile& operator=(const SpoolFile&) = delete;
  ~SpoolFile();

  /// Appends; makes the file in $TMPDIR, or /tmp, at the first time. False where the system does
  /// not take all of it: then nothing was appended.
  [[nodiscard]] bool append(std::span<const std::byte> bytes);
  /// Reads from an offset on. False where that much is not there.
  [[nodiscard]] bool read(std::uint64_t offset, std::span<std::byte> bytes) const;
  void clear();
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace valet::observe
