// SPDX-License-Identifier: BSD-3-Clause
#include "arrivals.hpp"

#include "batches.hpp"

#include <algorithm>
#include <sys/mman.h>

namespace valet::zoltan {
namespace {

constexpr std::size_t large_page = std::size_t{2} << 20;
constexpr std::size_t small_page = std::size_t{4} << 10;

std::size_t rounded_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

/// Collects the objects of one call to a multi unpack.
class UnpackCall {
 public:
  UnpackCall(Context& context, Imports& imports, std::byte* held, bool fits_one_call)
      : context_(context),
        imports_(imports),
        held_(held),
        fixed_base_(fits_one_call),
        offsets_(context.ledger, imports.count),
        own_sizes_(context.ledger, imports.in_order != nullptr ? imports.count : 0),
        sizes_(imports.in_order != nullptr ? own_sizes_.data() : imports.sizes.data()) {}

  std::optional<Diagnostic> add(const ArrivalWalk::Object& object) {
    const std::uint64_t low = fixed_base_ ? 0 : std::min(low_, object.offset);
    const std::uint64_t high =
        std::max(high_, object.offset + static_cast<std::uint64_t>(object.size));
    if (!fixed_base_ && end_ > first_ && high - low > largest_batch) {
      if (auto diagnostic = call()) return diagnostic;
      return add(object);
    }
    if (end_ == first_) low_ = low;
    if (low < low_) {
      for (std::uint64_t k = first_; k < end_; ++k) offsets_[k] += static_cast<int>(low_ - low);
      low_ = low;
    }
    high_ = high;
    sizes_[end_] = object.size;
    offsets_[end_++] = static_cast<int>(object.offset - low_);
    return std::nullopt;
  }

  std::optional<Diagnostic> call() {
    if (first_ == end_) return std::nullopt;
    const ObjectIds ids{imports_.gids, nullptr};
    const std::size_t count = end_ - first_;
    auto diagnostic = context_.callbacks.unpack_many({ids.gid(context_.callbacks.entries(), first_),
                                                      {sizes_ + first_, count},
                                                      {offsets_.data() + first_, count},
                                                      held_ + low_},
                                                     first_);
    if (!diagnostic) context_.report.objects_unpacked += count;
    first_ = end_;
    low_ = ~std::uint64_t{0};
    high_ = 0;
    return diagnostic;
  }

 private:
  Context& context_;
  Imports& imports_;
  std::byte* held_;
  bool fixed_base_;
  Array<int> offsets_;
  Array<int> own_sizes_;
  int* sizes_;
  std::uint64_t first_ = 0;
  std::uint64_t end_ = 0;
  std::uint64_t low_ = ~std::uint64_t{0};
  std::uint64_t high_ = 0;
};

}  // namespace

HeldMemory::HeldMemory(Ledger& ledger, std::size_t bytes) { allocate(ledger, bytes); }

void HeldMemory::allocate(Ledger& ledger, std::size_t bytes) {
  release();
  if (bytes == 0) return;
  const std::size_t needed = rounded_up(bytes, small_page);
  const std::size_t slack = needed >= large_page ? large_page : 0;
  void* const mapped = mmap(nullptr, needed + slack, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  auto* begin = static_cast<std::byte*>(mapped);
  if (slack > 0) {
    // Only what lies between: a large page must not reach beyond the end of what was asked for.
    const std::size_t head =
        (large_page - reinterpret_cast<std::uintptr_t>(begin) % large_page) % large_page;
    if (head > 0) munmap(begin, head);
    begin += head;
    if (slack > head) munmap(begin + needed, slack - head);
    madvise(begin, needed, MADV_HUGEPAGE);
  }
  ledger_ = &ledger;
  data_ = begin;
  bytes_ = needed;
  ledger.add(bytes_);
}

void HeldMemory::release() {
  if (data_ == nullptr) return;
  munmap(data_, bytes_);
  ledger_->subtract(bytes_);
  data_ = nullptr;
}

ArrivalWalk::ArrivalWalk(Ledger& ledger, const Imports& imports)
    : imports_(imports), cursors_(LedgerAllocator<Cursor>(ledger)) {
  cursors_.reserve(imports.sources.size());
  std::uint64_t object = 0;
  std::uint64_t offset = 0;
  for (const Peer& source : imports.sources) {
    cursors_.push_back({object, object + source.count, offset});
    // Only an import list jumps between sources; otherwise one cursor follows the other.
    if (imports.in_order != nullptr)
      for (std::uint64_t k = 0; k < source.count; ++k)
        offset += static_cast<std::uint64_t>(plain_size(imports.sizes[object + k]));
    object += source.count;
  }
}

ArrivalWalk::Object ArrivalWalk::next() {
  if (imports_.in_order != nullptr) {
    const int rank = imports_.in_order->procs[done_++];
    if (imports_.sources[source_].rank != rank) source_ = imports_.in_order->peer_of(rank);
  } else {
    while (cursors_[source_].object == cursors_[source_].end) {
      const std::uint64_t offset = cursors_[source_].offset;
      cursors_[++source_].offset = offset;
    }
  }
  Cursor& cursor = cursors_[source_];
  const Object object{source_, plain_size(imports_.sizes[cursor.object]), cursor.offset,
                      cursor.object};
  ++cursor.object;
  cursor.offset += static_cast<std::uint64_t>(object.size);
  return object;
}

std::optional<Diagnostic> unpack_all(Context& context, Imports& imports, std::byte* held,
                                     std::uint64_t bytes) {
  ArrivalWalk walk(context.ledger, imports);
  if (context.callbacks.unpacks_many()) {
    UnpackCall call(context, imports, held, bytes <= largest_batch);
    for (std::uint64_t k = 0; k < imports.count; ++k)
      if (auto diagnostic = call.add(walk.next())) return diagnostic;
    return call.call();
  }
  const ObjectIds ids{imports.gids, nullptr};
  for (std::uint64_t k = 0; k < imports.count; ++k) {
    const ArrivalWalk::Object object = walk.next();
    if (auto diagnostic = context.callbacks.unpack_one(ids.gid(context.callbacks.entries(), k),
                                                       object.size, held + object.offset, k))
      return diagnostic;
    ++context.report.objects_unpacked;
  }
  return std::nullopt;
}

}  // namespace valet::zoltan
