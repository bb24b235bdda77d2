// SPDX-License-Identifier: BSD-3-Clause
#include "observe/file.hpp"

#include "base/machine_identity.hpp"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace valet::observe {
namespace {

constexpr std::size_t has_parts = 0, machine = 1, device = 2, inode = 3;

}  // namespace

void File::create(const std::string& path) {
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  struct stat status {};
  if (descriptor_ < 0 || fstat(descriptor_, &status) != 0)
    error_ = errno;
  else
    has_parts_ = S_ISREG(status.st_mode);
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
  has_parts_ = descriptor_ >= 0;
  if (!has_parts_) error_ = errno;
}

File::Identity File::identity() const {
  Identity identity{};
  struct stat status {};
  if (!has_parts_ || fstat(descriptor_, &status) != 0) return identity;
  identity[has_parts] = 1;
  identity[machine] = machine_identity();
  identity[device] = status.st_dev;
  identity[inode] = status.st_ino;
  return identity;
}

bool File::join(const std::string& path, const Identity& identity) {
  if (identity[has_parts] == 0 || identity[machine] == 0 || identity[machine] != machine_identity())
    return false;
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  has_parts_ = descriptor_ >= 0;
  if (has_parts_ && this->identity() == identity) return true;
  close();
  return false;
}

void File::seek(std::uint64_t offset) {
  if (has_parts_ && error_ == 0 && lseek(descriptor_, static_cast<off_t>(offset), SEEK_SET) < 0)
    error_ = errno;
}

void File::write(std::span<const char> bytes) {
  while (error_ == 0 && !bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0)
      error_ = written < 0 ? errno : EIO;
    else
      bytes = bytes.subspan(static_cast<std::size_t>(written));
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

void File::truncate(std::uint64_t size) {
  struct stat status {};
  if (!has_parts_ || error_ != 0) return;
  // Ranks may be about to write their parts, which end before.
  if (fstat(descriptor_, &status) != 0 || (static_cast<std::uint64_t>(status.st_size) > size &&
                                           ftruncate(descriptor_, static_cast<off_t>(size)) != 0))
    error_ = errno;
}

void File::close() {
  if (descriptor_ >= 0 && ::close(std::exchange(descriptor_, -1)) != 0 && error_ == 0)
    error_ = errno;
  has_parts_ = false;
}

}  // namespace valet::observe
