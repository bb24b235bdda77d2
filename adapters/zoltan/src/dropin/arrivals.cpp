// SPDX-License-Identifier: BSD-3-Clause
#include "arrivals.hpp"

#include "batches.hpp"

#include <algorithm>
#include <sys/mman.h>

namespace valet::zoltan {
namespace {

constexpr std::size_t large_page = std::size_t{2} << 20;
constexpr std::size_t small_page = held_page_bytes;
/// Where objects begin in their first page, if there are many. Those of an application often begin
/// 16 bytes behind the start of a page, as malloc has them. Were it 0 here, a copy to such an
/// object would load from addresses that agree with its last stores in all bits within a page, and
/// processors take that for a dependence (4K aliasing; measured: unpacking objects of 64 KiB took
/// three times as long).
constexpr std::size_t first_byte = small_page / 2;

std::size_t rounded_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

/// One call to a multi unpack. The application's lists want ids and sizes consecutive.
std::optional<Diagnostic> call_unpack(Context& context, Imports& imports,
                                      std::span<const ArrivedRange> ranges) {
  if (ranges.empty()) return std::nullopt;
  const EntryCounts& entries = context.callbacks.entries();
  const ObjectIds ids{imports.gids, nullptr};
  const ArrivedRange& front = ranges.front();
  const std::byte* base = front.data;
  std::uint64_t count = 0;
  bool ids_follow = true;
  bool sizes_follow = true;
  for (const ArrivedRange& range : ranges) {
    base = std::min(base, static_cast<const std::byte*>(range.data));
    ids_follow = ids_follow && range.id == front.id + count;
    sizes_follow = sizes_follow && range.object == front.object + count;
    count += range.count;
  }
  if (count == 0) return std::nullopt;
  const auto words = static_cast<std::uint64_t>(entries.gid);
  Array<ZOLTAN_ID_TYPE> own_gids(context.ledger, ids_follow ? 0 : count * words);
  Array<int> own_sizes(context.ledger, sizes_follow ? 0 : count);
  Array<int> offsets(context.ledger, count);
  std::uint64_t to = 0;
  for (const ArrivedRange& range : ranges) {
    const int* const sizes = imports.sizes.data() + range.object;
    if (!ids_follow)
      std::copy_n(ids.gid(entries, range.id), range.count * words, own_gids.data() + to * words);
    if (!sizes_follow) std::copy_n(sizes, range.count, own_sizes.data() + to);
    std::ptrdiff_t offset = range.data - base;
    for (std::uint64_t k = 0; k < range.count; ++k) {
      offsets[to++] = static_cast<int>(offset);
      offset += sizes[k];
    }
  }
  int* const sizes = sizes_follow ? imports.sizes.data() + front.object : own_sizes.data();
  auto diagnostic =
      context.callbacks.unpack_many({ids_follow ? ids.gid(entries, front.id) : own_gids.data(),
                                     {sizes, count},
                                     {offsets.data(), count},
                                     const_cast<std::byte*>(base)},
                                    front.id);
  if (!diagnostic) context.report.objects_unpacked += count;
  return diagnostic;
}

std::optional<Diagnostic> unpack_many(Context& context, Imports& imports,
                                      std::span<const ArrivedRange> ranges) {
  Vector<ArrivedRange> runs(context.ledger);
  runs.reserve(ranges.size());
  std::uint64_t bytes = 0;
  const std::byte* end = nullptr;  // where the last run ends
  for (const ArrivedRange& range : ranges) {
    const bool follows = !runs.empty() && range.id == runs.back().id + runs.back().count &&
                         range.object == runs.back().object + runs.back().count &&
                         range.data == end;
    if (follows)
      runs.back().count += range.count;
    else
      runs.push_back(range);
    const std::uint64_t range_bytes = sum_of(imports.sizes_of(range));
    end = range.data + range_bytes;
    bytes += range_bytes;
  }
  if (bytes <= largest_batch) return call_unpack(context, imports, runs);
  for (ArrivedRange& left : runs) {
    while (left.count > 0) {
      ArrivedRange piece = left;
      piece.count = batch_end(imports.sizes_of(left), 0, largest_batch, 0);
      if (auto diagnostic = call_unpack(context, imports, {&piece, 1})) return diagnostic;
      left.id += piece.count;
      left.object += piece.count;
      left.data += sum_of(imports.sizes_of(piece));
      left.count -= piece.count;
    }
  }
  return std::nullopt;
}

}  // namespace

void HeldMemory::allocate(Ledger& ledger, std::size_t bytes) {
  release();
  if (bytes == 0) return;
  const bool large = bytes >= large_page;
  const std::size_t first = large ? first_byte : 0;
  const std::size_t needed = rounded_up(first + bytes, small_page);
  const std::size_t slack = large ? large_page : 0;
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
  pages_ = begin;
  data_ = begin + first;
  bytes_ = needed;
  extra_bytes_ = needed - rounded_up(bytes, small_page);
  ledger.add(bytes_);
}

void HeldMemory::release() {
  if (pages_ == nullptr) return;
  munmap(pages_, bytes_);
  ledger_->subtract(bytes_);
  pages_ = data_ = nullptr;
}

Vector<ArrivedRange> ranges_of_held(Ledger& ledger, const Imports& imports, std::byte* held) {
  Vector<ArrivedRange> ranges(ledger);
  ranges.reserve(imports.sources.size());
  std::uint64_t object = 0;
  for (std::size_t s = 0; s < imports.sources.size(); ++s) {
    ranges.push_back({s, 0, object, object, imports.sources[s].count, held});
    held += sum_of(imports.sizes_of(ranges.back()));
    object += imports.sources[s].count;
  }
  if (imports.in_order == nullptr) return ranges;
  for (std::uint64_t k = 0; k < imports.count;) {
    ArrivedRange& range = ranges[imports.in_order->peer_of(imports.in_order->procs[k])];
    range.id = k;
    k += range.count;
  }
  std::ranges::sort(ranges, {}, &ArrivedRange::id);
  return ranges;
}

void add_checksums(Checksums& sums, const Imports& imports, std::span<const ArrivedRange> ranges) {
  for (const ArrivedRange& range : ranges) {
    const std::byte* next = range.data;
    std::uint64_t number = range.number;
    for (const int size : imports.sizes_of(range)) {
      sums.add(range.source, number++, next, size);
      next += size;
    }
  }
}

std::optional<Diagnostic> unpack(Context& context, Imports& imports,
                                 std::span<const ArrivedRange> ranges) {
  if (context.callbacks.unpacks_many()) {
    std::optional<Diagnostic> failed;
    auto no_memory = within_memory("the lists of what is unpacked",
                                   [&] { failed = unpack_many(context, imports, ranges); });
    return no_memory ? no_memory : failed;
  }
  const ObjectIds ids{imports.gids, nullptr};
  for (const ArrivedRange& range : ranges) {
    std::byte* next = range.data;
    std::uint64_t k = range.id;
    for (const int size : imports.sizes_of(range)) {
      if (auto diagnostic =
              context.callbacks.unpack_one(ids.gid(context.callbacks.entries(), k), size, next, k))
        return diagnostic;
      ++context.report.objects_unpacked;
      next += size;
      ++k;
    }
  }
  return std::nullopt;
}

}  // namespace valet::zoltan
