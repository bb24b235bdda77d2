// SPDX-License-Identifier: BSD-3-Clause
#include "storage/node_segment.hpp"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace valet::storage {

#if defined(__linux__)
namespace {

/// A huge page of most machines: where the system has some to give, memory has to begin at one.
constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

/// The segments of this process: storages are recognised by their addresses.
struct Segments {
  struct Range {
    const std::byte* first = nullptr;
    std::size_t reserved = 0;
    NodeSegmentHandle handle;
  };
  std::mutex mutex;
  std::vector<Range> ranges;

  static Segments& all() {
    static Segments segments;
    return segments;
  }
};

std::size_t in_pages(std::size_t bytes) {
  static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return (std::max<std::size_t>(bytes, 1) + page - 1) / page * page;
}

/// Beyond this limit the system ends the process (SIGXFSZ), where an answer is wanted.
bool may_have_files_of(std::size_t bytes) {
  struct rlimit limit {};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
         (limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur);
}

/// All memory of the machine, which no array outgrows.
std::size_t machine_bytes() {
  return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

std::byte* reserve(std::size_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
}

}  // namespace

NodeSegment NodeSegment::create(std::size_t bytes) {
  NodeSegment segment;
  segment.descriptor_ = memfd_create("valet", MFD_CLOEXEC);
  if (segment.descriptor_ < 0) return {};
  // A limit on addresses (ulimit -v) may leave room for what is asked for only.
  for (std::size_t wished : {std::max(in_pages(bytes), machine_bytes()), in_pages(bytes)}) {
    wished += huge_page_bytes;
    if (segment.data_ == nullptr && (segment.reserved_from_ = reserve(wished)) != nullptr) {
      const auto from = reinterpret_cast<std::uintptr_t>(segment.reserved_from_);
      const std::uintptr_t at = (from + huge_page_bytes - 1) / huge_page_bytes * huge_page_bytes;
      segment.data_ = segment.reserved_from_ + (at - from);
      segment.reserved_ = wished;
    }
  }
  if (segment.data_ == nullptr || !segment.resize(bytes)) return {};
  return segment;
}

bool NodeSegment::resize(std::size_t bytes) {
  const std::size_t before = mapped_, after = in_pages(bytes);
  const auto room = reserved_ - static_cast<std::size_t>(data_ - reserved_from_);
  if (after > room || !may_have_files_of(after)) return false;
  if (after > before) {
    if (ftruncate(descriptor_, static_cast<off_t>(after)) != 0) return false;
    if (mmap(data_ + before, after - before, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
             descriptor_, static_cast<off_t>(before)) == MAP_FAILED)
      return false;
    madvise(data_ + before, after - before, MADV_HUGEPAGE);  // a wish
  } else if (after < before) {
    if (mmap(data_ + after, before - after, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED ||
        ftruncate(descriptor_, static_cast<off_t>(after)) != 0)
      return false;
  }
  mapped_ = after;
  size_ = bytes;
  enlist();
  return true;
}

void NodeSegment::enlist() {
  Segments& segments = Segments::all();
  const std::lock_guard lock(segments.mutex);
  std::erase_if(segments.ranges, [&](const auto& range) { return range.first == data_; });
  if (size_ > 0) segments.ranges.push_back({data_, mapped_, handle()});
}

NodeSegmentHandle NodeSegment::handle() const {
  struct stat status {};
  if (descriptor_ < 0 || fstat(descriptor_, &status) != 0) return {};
  return {static_cast<std::uint64_t>(getpid()), static_cast<std::uint64_t>(descriptor_),
          static_cast<std::uint64_t>(status.st_dev), static_cast<std::uint64_t>(status.st_ino),
          mapped_};
}

NodeSegment::~NodeSegment() {
  if (reserved_from_ != nullptr) {
    size_ = 0;
    enlist();
    munmap(reserved_from_, reserved_);
  }
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::optional<NodePlace> find_in_segments(const std::byte* first) {
  Segments& segments = Segments::all();
  const std::lock_guard lock(segments.mutex);
  for (const Segments::Range& range : segments.ranges)
    if (!std::less<>()(first, range.first) &&
        std::less<>()(first, range.first + range.reserved))
      return NodePlace{range.handle, static_cast<std::uint64_t>(first - range.first)};
  return std::nullopt;
}

MappedSegment MappedSegment::open(const NodeSegmentHandle& handle) {
  const std::string path =
      "/proc/" + std::to_string(handle.process) + "/fd/" + std::to_string(handle.descriptor);
  // Should this be some other file after all, then opening it must not wait, and it is not mapped.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat status {};
  MappedSegment segment;
  if (descriptor >= 0 && fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
      static_cast<std::uint64_t>(status.st_dev) == handle.device &&
      static_cast<std::uint64_t>(status.st_ino) == handle.file &&
      static_cast<std::uint64_t>(status.st_size) >= handle.bytes) {
    void* const memory = mmap(nullptr, handle.bytes, PROT_READ, MAP_SHARED, descriptor, 0);
    if (memory != MAP_FAILED) {
      segment.handle_ = handle;
      segment.data_ = static_cast<std::byte*>(memory);
      madvise(memory, handle.bytes, MADV_HUGEPAGE);  // a wish
    }
  }
  if (descriptor >= 0) ::close(descriptor);
  return segment;
}

MappedSegment::~MappedSegment() {
  if (data_ != nullptr) munmap(data_, handle_.bytes);
}
#else
NodeSegment NodeSegment::create(std::size_t) { return {}; }
bool NodeSegment::resize(std::size_t) { return false; }
void NodeSegment::enlist() {}
NodeSegmentHandle NodeSegment::handle() const { return {}; }
NodeSegment::~NodeSegment() = default;
std::optional<NodePlace> find_in_segments(const std::byte*) { return std::nullopt; }
MappedSegment MappedSegment::open(const NodeSegmentHandle&) { return {}; }
MappedSegment::~MappedSegment() = default;
#endif

NodeSegment::NodeSegment(NodeSegment&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      mapped_(std::exchange(other.mapped_, 0)),
      reserved_from_(std::exchange(other.reserved_from_, nullptr)),
      reserved_(std::exchange(other.reserved_, 0)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

NodeSegment& NodeSegment::operator=(NodeSegment other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(mapped_, other.mapped_);
  std::swap(reserved_from_, other.reserved_from_);
  std::swap(reserved_, other.reserved_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

MappedSegment::MappedSegment(MappedSegment&& other) noexcept
    : handle_(std::exchange(other.handle_, {})), data_(std::exchange(other.data_, nullptr)) {}

MappedSegment& MappedSegment::operator=(MappedSegment other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(data_, other.data_);
  return *this;
}

}  // namespace valet::storage
