// SPDX-License-Identifier: BSD-3-Clause
#include "storage/node_segment.hpp"

#include "base/sizes.hpp"
#include "storage/huge_pages.hpp"
#include "storage/shared_memory.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <mutex>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace valet::storage {
namespace {

/// Half of the addresses that a process has.
constexpr std::size_t most_addresses = std::size_t{1} << 46;

/// What this process has of a kind. Never destroyed, as segments may outlive what is static.
template <class Entry>
struct Registry {
  std::mutex mutex;
  std::vector<Entry> list;

  static Registry& all() {
    static Registry& registry = *new Registry;
    return registry;
  }
};
using Segments = Registry<const NodeSegment*>;

std::size_t in_pages(std::size_t bytes) {
  static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return detail::rounded_up(std::max<std::size_t>(bytes, 1), page);
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
  const std::size_t bytes = room + huge_page_bytes;
  reserved_ = Mapping(reserve_addresses(bytes), Unmap{bytes});
  if (reserved_ == nullptr) return false;
  const auto from = reinterpret_cast<std::uintptr_t>(reserved_.get());
  data_ = reserved_.get() + (huge_page_bytes - from % huge_page_bytes) % huge_page_bytes;
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

bool NodeSegment::is_new_to(std::uint64_t execution) const {
  std::uint64_t first = 0;
  return first_execution_.compare_exchange_strong(first, execution) || first == execution;
}

/// Gives its pages back, though others have it mapped; but not for a process that has forked.
NodeSegment::~NodeSegment() {
  {
    const std::lock_guard lock(Segments::all().mutex);
    std::erase(Segments::all().list, this);
  }
  if (is_shared() && handle_.process == static_cast<std::uint64_t>(getpid()))
    static_cast<void>(ftruncate(descriptor_.number(), 0));
}

std::optional<NodePlace> find_in_segments(const std::byte* first, std::uint64_t execution) {
  Segments& segments = Segments::all();
  const std::lock_guard lock(segments.mutex);
  for (const NodeSegment* segment : segments.list)
    if (segment->is_shared() && !std::less<>()(first, segment->data()) &&
        std::less<>()(first, segment->data() + segment->room())) {
      if (execution > 0 && segment->is_new_to(execution)) return std::nullopt;
      return NodePlace{segment->handle(), static_cast<std::uint64_t>(first - segment->data())};
    }
  return std::nullopt;
}

struct MappedSegment::MappedFile {
  NodeSegmentHandle handle;  ///< with the most bytes that it was asked for with
  Mapping memory = {};       ///< with what the file may grow to
  unsigned unused = 0;
};

MappedSegment MappedSegment::find(const NodeSegmentHandle& handle) {
  auto& mappings = Registry<std::shared_ptr<MappedFile>>::all();
  const std::lock_guard lock(mappings.mutex);
  MappedSegment found;
  for (const std::shared_ptr<MappedFile>& mapping : mappings.list) {
    NodeSegmentHandle known = mapping->handle;
    known.bytes = handle.bytes;
    if (known != handle || handle.bytes > bytes_of(mapping->memory)) continue;
    mapping->handle.bytes = std::max(mapping->handle.bytes, handle.bytes);
    found.handle_ = handle;
    found.mapping_ = mapping;
  }
  return found;
}

MappedSegment MappedSegment::open(const NodeSegmentHandle& handle,
                                  const FileDescriptor& descriptor) {
  struct stat status {};
  if (!descriptor.is_open() || fstat(descriptor.number(), &status) != 0 ||
      !S_ISREG(status.st_mode) || static_cast<std::uint64_t>(status.st_dev) != handle.device ||
      static_cast<std::uint64_t>(status.st_ino) != handle.file ||
      static_cast<std::uint64_t>(status.st_size) < handle.bytes)
    return {};
  MappedSegment segment;
  segment.handle_ = handle;
  segment.mapping_ = std::make_shared<MappedFile>(MappedFile{handle});
  // With room for what a file will become that grows again and again.
  for (const std::size_t room : {std::bit_ceil(handle.bytes), std::size_t{handle.bytes}}) {
    void* const memory = mmap(nullptr, room, PROT_READ, MAP_SHARED, descriptor.number(), 0);
    if (memory == MAP_FAILED) continue;
    segment.mapping_->memory = Mapping(static_cast<std::byte*>(memory), Unmap{room});
#if defined(__linux__)
    madvise(memory, room, MADV_HUGEPAGE);  // wishes: of the owner, too
    madvise(memory, room, MADV_DONTDUMP);  // it is in the owner's core file
#endif
    auto& mappings = Registry<std::shared_ptr<MappedFile>>::all();
    const std::lock_guard lock(mappings.mutex);
    mappings.list.push_back(segment.mapping_);
    return segment;
  }
  return {};
}

void MappedSegment::unmap_unused(unsigned calls) {
  auto& mappings = Registry<std::shared_ptr<MappedFile>>::all();
  const std::lock_guard lock(mappings.mutex);
  std::erase_if(mappings.list, [&](const std::shared_ptr<MappedFile>& mapping) {
    mapping->unused = mapping.use_count() > 1 ? 0 : mapping->unused + 1;
    return mapping->unused >= calls;
  });
}

std::uint64_t MappedSegment::mapped_bytes() {
  auto& mappings = Registry<std::shared_ptr<MappedFile>>::all();
  const std::lock_guard lock(mappings.mutex);
  std::uint64_t bytes = 0;
  for (const std::shared_ptr<MappedFile>& mapping : mappings.list) bytes += mapping->handle.bytes;
  return bytes;
}

std::byte* MappedSegment::data() const { return mapping_ ? mapping_->memory.get() : nullptr; }

}  // namespace valet::storage
