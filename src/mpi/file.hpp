// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "mpi/channel.hpp"
#include <valet/error.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace valet::mpi {

/// A file that all ranks of a channel have open through MPI. Every rank writes and reads long runs
/// of bytes at places of its own; collective calls would only copy them once more. Where the system
/// refuses something, functions return what this rank has found wrong, for the next agreement.
class File {
 public:
  File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  /// Does not close it, which is collective.
  ~File() = default;

  /// To write it; what there was stays until clear(). Collective. Where it fails on some ranks
  /// only, the others have it open for ever: closing is collective.
  [[nodiscard]] std::optional<Diagnostic> create(const Channel& channel, const std::string& path);
  /// Removes what there was. Collective.
  [[nodiscard]] std::optional<Diagnostic> clear();
  /// To read it. Collective.
  [[nodiscard]] std::optional<Diagnostic> open(const Channel& channel, const std::string& path);
  [[nodiscard]] bool is_open() const { return file_ != MPI_FILE_NULL; }
  /// Brings what was written to the disk. Collective.
  [[nodiscard]] std::optional<Diagnostic> sync();
  /// Collective, where it is open.
  [[nodiscard]] std::optional<Diagnostic> close();

  [[nodiscard]] std::optional<Diagnostic> write(std::uint64_t offset,
                                                std::span<const std::byte> bytes);
  /// All of them: else the file is too short.
  [[nodiscard]] std::optional<Diagnostic> read(std::uint64_t offset, std::span<std::byte> bytes);
  /// Of the file, in bytes.
  [[nodiscard]] std::optional<Diagnostic> size(std::uint64_t& bytes);

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  [[nodiscard]] std::optional<Diagnostic> open_as(const Channel& channel, const std::string& path,
                                                  int mode, const char* action);
  [[nodiscard]] std::optional<Diagnostic> failed(int code, const char* action) const;

  MPI_File file_ = MPI_FILE_NULL;
  std::string path_;
};

}  // namespace valet::mpi
