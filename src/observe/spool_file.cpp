// SPDX-License-Identifier: BSD-3-Clause
#include "observe/spool_file.hpp"

#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <unistd.h>

namespace valet::observe {
namespace {

int make_file() {
  const char* const directory = std::getenv("TMPDIR");
  std::string path = directory == nullptr || *directory == '\0' ? "/tmp" : directory;
#ifdef O_TMPFILE
  // Without a name from the beginning, where the file system can: that takes half as long.
  const int nameless = open(path.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (nameless >= 0) return nameless;
#endif
  path += "/valet_trace_XXXXXX";
  const int descriptor = mkstemp(path.data());
  if (descriptor >= 0) unlink(path.c_str());
  return descriptor;
}

}  // namespace

SpoolFile::~SpoolFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool SpoolFile::append(std::span<const std::byte> bytes) {
  if (descriptor_ < 0) descriptor_ = make_file();
  if (descriptor_ < 0) return false;
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t written = pwrite(descriptor_, bytes.data() + done, bytes.size() - done,
                                   static_cast<off_t>(size_ + done));
    if (written <= 0) return false;
    done += static_cast<std::size_t>(written);
  }
  size_ += bytes.size();
  return true;
}

bool SpoolFile::read(std::uint64_t offset, std::span<std::byte> bytes) const {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t got = pread(descriptor_, bytes.data() + done, bytes.size() - done,
                              static_cast<off_t>(offset + done));
    if (got <= 0) return false;
    done += static_cast<std::size_t>(got);
  }
  return true;
}

void SpoolFile::clear() {
  if (size_ > 0 && ftruncate(descriptor_, 0) != 0) {
    // What is left is written over.
  }
  size_ = 0;
}

}  // namespace valet::observe
