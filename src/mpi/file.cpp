// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/file.hpp"

#include "base/diagnose.hpp"
#include "base/file_limit.hpp"
#include "mpi/check.hpp"

#include <algorithm>

namespace valet::mpi {
namespace {

/// Bytes of one call, whose number MPI takes as an int.
constexpr std::size_t most_at_once = std::size_t{1} << 30;

/// Calls move(offset, bytes) for one call's bytes at a time, until it returns what is wrong.
template <class Bytes, class Move>
std::optional<Diagnostic> in_calls(std::uint64_t offset, Bytes bytes, Move&& move) {
  while (!bytes.empty()) {
    const Bytes now = bytes.first(std::min(bytes.size(), most_at_once));
    if (auto wrong = move(static_cast<MPI_Offset>(offset), now)) return wrong;
    offset += now.size();
    bytes = bytes.subspan(now.size());
  }
  return std::nullopt;
}

int bytes_of(const MPI_Status& status) {
  int bytes = 0;
  check(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
  return bytes == MPI_UNDEFINED ? 0 : bytes;
}

}  // namespace

std::optional<Diagnostic> File::create(const Channel& channel, const std::string& path) {
  return open_as(channel, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, "created");
}

std::optional<Diagnostic> File::clear() { return failed(MPI_File_set_size(file_, 0), "emptied"); }

std::optional<Diagnostic> File::open(const Channel& channel, const std::string& path) {
  return open_as(channel, path, MPI_MODE_RDONLY, "opened");
}

std::optional<Diagnostic> File::open_as(const Channel& channel, const std::string& path, int mode,
                                        const char* action) {
  path_ = path;
  const int code = MPI_File_open(channel.get(), path.c_str(), mode, MPI_INFO_NULL, &file_);
  if (code != MPI_SUCCESS) file_ = MPI_FILE_NULL;
  return failed(code, action);
}

std::optional<Diagnostic> File::sync() { return failed(MPI_File_sync(file_), "written to disk"); }

std::optional<Diagnostic> File::close() {
  if (!is_open()) return std::nullopt;
  return failed(MPI_File_close(&file_), "closed");
}

std::optional<Diagnostic> File::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  const std::uint64_t most = detail::most_file_bytes();
  if (bytes.size() > most - std::min(most, offset))
    return diagnose(ErrorCode::file_failure, "'", path_, "' would have more than ", most,
                    " bytes, which is the limit of this process (ulimit -f)");
  return in_calls(offset, bytes,
                  [&](MPI_Offset at, std::span<const std::byte> now) -> std::optional<Diagnostic> {
                    MPI_Status status;
                    const int count = checked_count(now.size());
                    const int code =
                        MPI_File_write_at(file_, at, now.data(), count, MPI_BYTE, &status);
                    if (auto wrong = failed(code, "written")) return wrong;
                    if (bytes_of(status) == count) return std::nullopt;
                    return diagnose(ErrorCode::file_failure, "'", path_,
                                    "' cannot be written: the disk is full");
                  });
}

std::optional<Diagnostic> File::read(std::uint64_t offset, std::span<std::byte> bytes) {
  return in_calls(
      offset, bytes, [&](MPI_Offset at, std::span<std::byte> now) -> std::optional<Diagnostic> {
        MPI_Status status;
        const int count = checked_count(now.size());
        const int code = MPI_File_read_at(file_, at, now.data(), count, MPI_BYTE, &status);
        if (auto wrong = failed(code, "read")) return wrong;
        if (bytes_of(status) == count) return std::nullopt;
        return diagnose(ErrorCode::file_failure, "'", path_, "' ends at byte ",
                        static_cast<std::uint64_t>(at + bytes_of(status)),
                        " though more was written; use an older file");
      });
}

std::optional<Diagnostic> File::size(std::uint64_t& bytes) {
  MPI_Offset size = 0;
  const int code = MPI_File_get_size(file_, &size);
  bytes = static_cast<std::uint64_t>(size);
  return failed(code, "looked at");
}

std::optional<Diagnostic> File::failed(int code, const char* action) const {
  if (code == MPI_SUCCESS) return std::nullopt;
  return diagnose(ErrorCode::file_failure, "'", path_, "' cannot be ", action, ": ", text_of(code));
}

}  // namespace valet::mpi
