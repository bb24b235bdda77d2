// SPDX-License-Identifier: BSD-3-Clause
#include "storage/shared_memory.hpp"

#include <cstring>
#include <random>

#if defined(__linux__)
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace valet::storage {

#if defined(__linux__)
namespace {

std::uint64_t random_key() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

}  // namespace

bool may_have_files_of(std::size_t bytes) {
  struct rlimit limit {};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
         (limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur);
}

SharedMemory SharedMemory::create(std::size_t bytes) {
  if (!may_have_files_of(bytes)) return {};
  SharedMemory shared(FileDescriptor(memfd_create("valet", MFD_CLOEXEC)));
  // Pages are taken now, where it can fail, and not at the first touch, where it is a signal.
  if (!shared.descriptor_.is_open() ||
      posix_fallocate(shared.descriptor_.number(), 0, static_cast<off_t>(bytes)) != 0 ||
      !shared.map(bytes))
    return {};
  const std::uint64_t key = random_key();
  std::memcpy(shared.data(), &key, sizeof key);
  return shared;
}

/// All pages at once, which costs half of what touching them one by one does.
bool SharedMemory::map(std::size_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                            descriptor_.number(), 0);
  if (memory == MAP_FAILED) return false;
  data_ = Mapping(static_cast<std::byte*>(memory), Unmap{bytes});
  return true;
}

SharedMemory SharedMemory::open(const SharedMemoryHandle& handle, FileDescriptor descriptor) {
  SharedMemory shared(std::move(descriptor));
  struct stat status {};
  if (!shared.descriptor_.is_open() || fstat(shared.descriptor_.number(), &status) != 0 ||
      !S_ISREG(status.st_mode) || static_cast<std::uint64_t>(status.st_size) != handle.bytes ||
      !shared.map(handle.bytes) || shared.handle().key != handle.key)
    return {};
  shared.close();
  return shared;
}

SharedMemoryHandle SharedMemory::handle() const {
  SharedMemoryHandle handle{size(), static_cast<std::uint64_t>(getpid()),
                            static_cast<std::uint64_t>(descriptor_.number()), 0};
  if (data_ == nullptr) return {};
  std::memcpy(&handle.key, data(), sizeof handle.key);
  return handle;
}

void SharedMemory::close() noexcept { descriptor_ = FileDescriptor(); }
#else
SharedMemory SharedMemory::create(std::size_t) { return {}; }
SharedMemory SharedMemory::open(const SharedMemoryHandle&, FileDescriptor) { return {}; }
SharedMemoryHandle SharedMemory::handle() const { return {}; }
void SharedMemory::close() noexcept {}
#endif

}  // namespace valet::storage
