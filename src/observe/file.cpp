// SPDX-License-Identifier: BSD-3-Clause
#include "observe/file.hpp"

#include "base/diagnose.hpp"
#include "base/file_limit.hpp"
#include "base/machine_identity.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <random>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace valet::observe {
namespace {

/// Whether nothing can take this path's place: a pipe, a device, what a descriptor stands for.
bool is_written_in_place(const std::string& path) {
  struct stat status {};
  if (path.starts_with("/dev/std") || path.starts_with("/dev/fd/") || path.starts_with("/proc/"))
    return true;
  return stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
}

/// The file itself, which need not be there, where the path is a link to one.
std::string resolved(std::filesystem::path path) {
  constexpr int most_links = 40;
  std::error_code error;
  for (int k = 0; k < most_links && std::filesystem::is_symlink(path, error); ++k)
    path = path.parent_path() / std::filesystem::read_symlink(path, error);
  return path.string();
}

/// What an attempt with some names returns, the first time that the name was free: names in the
/// same directory for a file that is not complete.
template <class Attempt>
int with_free_name(const std::string& path, std::string& name, Attempt&& attempt) {
  constexpr int most_attempts = 100;
  int result = -1;
  for (int k = 0; k < most_attempts; ++k) {
    name = path + ".valet_" + std::to_string(std::random_device()());
    result = attempt(name.c_str());
    if (result >= 0 || errno != EEXIST) break;
  }
  if (result < 0) name.clear();
  return result;
}

std::string path_of_descriptor(const std::string& owner, std::uint64_t descriptor) {
  return "/proc/" + owner + "/fd/" + std::to_string(descriptor);
}

}  // namespace

void File::open_parts(int descriptor) {
  descriptor_ = descriptor;
  has_parts_ = descriptor >= 0;
  offset_ = 0;
  most_bytes_ = detail::most_file_bytes();
  if (!has_parts_) error_ = errno;
}

void File::create(const std::string& path) {
  if (is_written_in_place(path)) {
    descriptor_ = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    struct stat status {};
    if (descriptor_ < 0 || fstat(descriptor_, &status) != 0) {
      error_ = errno;
    } else if (S_ISREG(status.st_mode)) {  // where standard output goes
      offset_ = static_cast<std::uint64_t>(status.st_size);
      most_bytes_ = detail::most_file_bytes();
    }
    return;
  }
  path_ = resolved(path);
  if (access(path_.c_str(), W_OK) != 0 && errno != ENOENT)
    error_ = errno;
  else
    make_in_directory();
}

void File::make_in_directory() {
  const std::size_t slash = path_.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
  int descriptor = -1;
#ifdef O_TMPFILE
  if (access("/proc/self/fd", X_OK) == 0)  // by which it gets its name
    descriptor = ::open(directory.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
#endif
  if (descriptor < 0)  // a file system that cannot: network file systems
    descriptor = with_free_name(path_, temporary_, [](const char* name) {
      return ::open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    });
  open_parts(descriptor);
  // As the file in whose place it comes.
  struct stat before {};
  if (descriptor >= 0 && stat(path_.c_str(), &before) == 0 &&
      fchmod(descriptor, before.st_mode & 0777U) != 0)
    error_ = errno;
}

void File::publish() {
  if (path_.empty()) return close();
  if (error_ == 0 && temporary_.empty()) {
    // A file without a name can get one that is free, not take that of another.
    const std::string own = path_of_descriptor("self", static_cast<std::uint64_t>(descriptor_));
    if (with_free_name(path_, temporary_, [&](const char* name) {
          return linkat(AT_FDCWD, own.c_str(), AT_FDCWD, name, AT_SYMLINK_FOLLOW);
        }) < 0)
      error_ = errno;
  }
  close_descriptor();
  if (error_ == 0 && std::rename(temporary_.c_str(), path_.c_str()) == 0)
    temporary_.clear();
  else if (error_ == 0)
    error_ = errno;
  close();
}

void File::create_temporary() {
  if (descriptor_ >= 0 || error_ != 0) return;
  const char* const directory = std::getenv("TMPDIR");
  std::string path = directory == nullptr || *directory == '\0' ? "/tmp" : directory;
#ifdef O_TMPFILE
  // Without a name from the beginning, where the file system can: that takes half as long.
  descriptor_ = ::open(path.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
#endif
  if (descriptor_ < 0) {
    path += "/valet_trace_XXXXXX";
    descriptor_ = mkstemp(path.data());
    if (descriptor_ >= 0) unlink(path.c_str());
  }
  open_parts(descriptor_);
}

File::Identity File::identity() const {
  const std::uint64_t is_made = error_ == 0 ? 1 : 0;
  struct stat status {};
  if (!has_parts_ || fstat(descriptor_, &status) != 0) return {.is_made = is_made};
  return {.is_made = is_made,
          .has_parts = 1,
          .machine = machine_identity(),
          .process = static_cast<std::uint64_t>(getpid()),
          .descriptor = static_cast<std::uint64_t>(descriptor_),
          .device = status.st_dev,
          .inode = status.st_ino};
}

bool File::join(const Identity& identity) {
  if (identity.has_parts == 0 || identity.machine == 0 || identity.machine != machine_identity())
    return false;
  const std::string path =
      path_of_descriptor(std::to_string(identity.process), identity.descriptor);
  // Should this be some other file after all, then opening it must not wait.
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return false;
  open_parts(descriptor);
  const Identity own = this->identity();
  if (own.device == identity.device && own.inode == identity.inode) return true;
  close();
  return false;
}

void File::seek(std::uint64_t offset) {
  if (!has_parts_ || error_ != 0) return;
  offset_ = offset;
  if (lseek(descriptor_, static_cast<off_t>(offset), SEEK_SET) < 0) error_ = errno;
}

void File::write(std::span<const char> bytes) {
  if (error_ == 0 && bytes.size() > most_bytes_ - std::min(most_bytes_, offset_)) error_ = EFBIG;
  while (error_ == 0 && !bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      error_ = written < 0 ? errno : EIO;
    } else {
      bytes = bytes.subspan(static_cast<std::size_t>(written));
      offset_ += static_cast<std::uint64_t>(written);
    }
  }
}

bool File::read(std::uint64_t offset, std::span<char> bytes) const {
  while (!bytes.empty()) {
    const ssize_t got = pread(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (got <= 0) return false;
    offset += static_cast<std::uint64_t>(got);
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
  return true;
}

void File::close_descriptor() {
  if (descriptor_ >= 0 && ::close(std::exchange(descriptor_, -1)) != 0 && error_ == 0)
    error_ = errno;
  has_parts_ = false;
}

void File::close() {
  close_descriptor();
  if (!temporary_.empty()) unlink(temporary_.c_str());
  temporary_.clear();
  path_.clear();
}

std::string cannot_write(const char* what, const std::string& path, int error) {
  return joined("cannot write ", what, " to '", path, "' (", std::strerror(error),
                "); the migration itself went on. Give a path in a directory with room for it that "
                "rank 0 can write");
}

int append(const std::string& path, std::span<const char> text) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) return errno;
  struct stat status {};
  const bool is_file = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  const std::uint64_t most_bytes = detail::most_file_bytes();
  const auto before = static_cast<std::uint64_t>(is_file ? status.st_size : 0);
  int error = 0;
  if (is_file && text.size() > most_bytes - std::min(most_bytes, before)) error = EFBIG;
  // One call, so that the lines of several programs do not mix.
  const ssize_t written = error == 0 ? ::write(descriptor, text.data(), text.size()) : 0;
  if (written < 0) error = errno;
  if (error == 0 && written < static_cast<ssize_t>(text.size())) {
    error = ENOSPC;
    const off_t end = lseek(descriptor, 0, SEEK_CUR);
    if (is_file && fstat(descriptor, &status) == 0 && status.st_size == end &&
        ftruncate(descriptor, end - written) != 0)
      error = errno;
  }
  if (::close(descriptor) != 0 && error == 0) error = errno;
  return error;
}

}  // namespace valet::observe
