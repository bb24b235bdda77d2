// SPDX-License-Identifier: BSD-3-Clause
#include "storage/node_segment.hpp"

#include "storage/huge_pages.hpp"
#include "storage/shared_memory.hpp"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <mutex>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace valet::storage {
namespace {

/// Half of the addresses that a process has.
constexpr std::size_t most_addresses = std::size_t{1} << 46;

/// The segments of this process. Never destroyed, as segments may outlive what is static.
struct Segments {
  std::mutex mutex;
  std::vector<const NodeSegment*> list;

  static Segments& all() {
    static Segments& segments = *new Segments;
    return segments;
  }
};

std::size_t in_pages(std::size_t bytes) {
  static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return (std::max<std::size_t>(bytes, 1) + page - 1) / page * page;
}

/// No array outgrows the machine, but many must not use up the addresses (`ulimit -v`).
std::size_t room_to_grow() {
  std::size_t addresses = most_addresses;
  struct rlimit limit {};
  if (getrlimit(RLIMIT_AS, &limit) == 0)
    addresses = std::min(addresses, static_cast<std::size_t>(limit.rlim_cur));
  Segments& segments = Segments::all();
  const std::lock_guard lock(segments.mutex);
  for (const NodeSegment* segment : segments.list)
    addresses -= std::min(addresses, segment->room());
  const auto pages = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES));
  return std::min(pages * in_pages(1), in_pages(addresses / 16));
}

std::byte* reserve_addresses(std::size_t bytes, void* at = nullptr) {
  void* const memory = mmap(at, bytes, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | (at == nullptr ? 0 : MAP_FIXED), -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
}

}  // namespace

std::unique_ptr<NodeSegment> NodeSegment::create(std::size_t bytes) {
  if (bytes > most_addresses) return nullptr;
  Segments& segments = Segments::all();
  const std::size_t least = in_pages(bytes), most = std::max(least, room_to_grow());
  for (const bool shared : {true, false})
    for (const std::size_t room : {most, least}) {
      std::unique_ptr<NodeSegment> segment(new NodeSegment);
      if ((shared && !segment->open_file()) || !segment->reserve(room) || !segment->resize(bytes))
        continue;
      const std::lock_guard lock(segments.mutex);
      segments.list.push_back(segment.get());
      return segment;
    }
  return nullptr;
}

bool NodeSegment::open_file() {
#if defined(__linux__)
  descriptor_ = FileDescriptor(memfd_create("node_array", MFD_CLOEXEC));
  struct stat status {};
  if (!is_shared() || fstat(descriptor_.number(), &status) != 0) return false;
  handle_ = {static_cast<std::uint64_t>(getpid()), static_cast<std::uint64_t>(descriptor_.number()),
             static_cast<std::uint64_t>(status.st_dev), static_cast<std::uint64_t>(status.st_ino),
             0};
  return true;
#else
  return false;
#endif
}

/// All of a file that it may have is mapped at once, so that to grow it is enough to extend it.
bool NodeSegment::reserve(std::size_t room) {
  reserved_ = reserve_addresses(room + huge_page_bytes);
  if (reserved_ == nullptr) return false;
  const auto from = reinterpret_cast<std::uintptr_t>(reserved_);
  data_ = reserved_ + (huge_page_bytes - from % huge_page_bytes) % huge_page_bytes;
  room_ = room;
  if (is_shared() && mmap(data_, room, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                          descriptor_.number(), 0) == MAP_FAILED)
    return false;
#if defined(__linux__)
  // A core dump would look at each page of what may never be there.
  madvise(data_, room, MADV_DONTDUMP);
#endif
  return true;
}

bool NodeSegment::resize(std::size_t bytes) {
  if (bytes > room_) return false;
  const std::size_t before = handle_.bytes, after = in_pages(bytes);
  if (after != before && !take_pages(after)) return false;
  // The rest of a page stays, and may become a part of the array again.
  if (bytes < size_) std::memset(data_ + bytes, 0, std::min(size_, after) - bytes);
  size_ = bytes;
  const std::lock_guard lock(Segments::all().mutex);
  handle_.bytes = after;
  advise(before);
  return true;
}

bool NodeSegment::take_pages(std::size_t bytes) {
  const std::size_t before = handle_.bytes;
#if defined(__linux__)
  if (is_shared())
    return (bytes < before || may_have_files_of(bytes)) &&
           ftruncate(descriptor_.number(), static_cast<off_t>(bytes)) == 0;
#endif
  if (bytes < before) return reserve_addresses(before - bytes, data_ + bytes) != nullptr;
  return mprotect(data_ + before, bytes - before, PROT_READ | PROT_WRITE) == 0;
}

/// Wishes, without which all works as well.
void NodeSegment::advise([[maybe_unused]] std::size_t before) const {
#if defined(__linux__)
  const std::size_t after = handle_.bytes, huge = after / huge_page_bytes * huge_page_bytes;
  if (before < after) madvise(data_ + before, after - before, MADV_DODUMP);
  if (after < before) madvise(data_ + after, before - after, MADV_DONTDUMP);
  // Whole huge pages only: else a small array would take a large one.
  if (huge > 0) madvise(data_, huge, MADV_HUGEPAGE);
#endif
}

NodeSegment::~NodeSegment() {
  {
    const std::lock_guard lock(Segments::all().mutex);
    std::erase(Segments::all().list, this);
  }
  if (reserved_ != nullptr) munmap(reserved_, room_ + huge_page_bytes);
}

std::optional<NodePlace> find_in_segments(const std::byte* first) {
  Segments& segments = Segments::all();
  const std::lock_guard lock(segments.mutex);
  for (const NodeSegment* segment : segments.list)
    if (segment->is_shared() && !std::less<>()(first, segment->data()) &&
        std::less<>()(first, segment->data() + segment->room()))
      return NodePlace{segment->handle(), static_cast<std::uint64_t>(first - segment->data())};
  return std::nullopt;
}

MappedSegment MappedSegment::open(const NodeSegmentHandle& handle,
                                  const FileDescriptor& descriptor) {
  struct stat status {};
  MappedSegment segment;
  if (descriptor.is_open() && fstat(descriptor.number(), &status) == 0 && S_ISREG(status.st_mode) &&
      static_cast<std::uint64_t>(status.st_dev) == handle.device &&
      static_cast<std::uint64_t>(status.st_ino) == handle.file &&
      static_cast<std::uint64_t>(status.st_size) >= handle.bytes) {
    void* const memory = mmap(nullptr, handle.bytes, PROT_READ, MAP_SHARED, descriptor.number(), 0);
    if (memory != MAP_FAILED) {
      segment.handle_ = handle;
      segment.data_ = static_cast<std::byte*>(memory);
#if defined(__linux__)
      madvise(memory, handle.bytes, MADV_HUGEPAGE);  // wishes: of the owner, too
      madvise(memory, handle.bytes, MADV_DONTDUMP);  // it is in the owner's core file
#endif
    }
  }
  return segment;
}

MappedSegment::~MappedSegment() {
  if (data_ != nullptr) munmap(data_, handle_.bytes);
}

MappedSegment::MappedSegment(MappedSegment&& other) noexcept
    : handle_(std::exchange(other.handle_, {})), data_(std::exchange(other.data_, nullptr)) {}

MappedSegment& MappedSegment::operator=(MappedSegment other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(data_, other.data_);
  return *this;
}

}  // namespace valet::storage
