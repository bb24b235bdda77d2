// SPDX-License-Identifier: BSD-3-Clause
#include "storage/local_redistribution.hpp"

#include "base/assert.hpp"

#include <algorithm>
#include <array>

namespace valet::storage {
namespace {

/// Collects copies so that the backend gets many at a time, in the order they were asked for.
template <class Index>
class CopyBatch {
 public:
  CopyBatch(StorageBackend& backend, std::span<std::byte> scratch)
      : backend_(backend), scratch_(scratch) {}

  void add(Index from, Index to) {
    from_[size_] = from;
    to_[size_] = to;
    if (++size_ == from_.size()) flush();
  }

  void flush() {
    if (size_ == 0) return;
    backend_.copy(std::span<const Index>(from_).first(size_),
                  std::span<const Index>(to_).first(size_), scratch_);
    copies_ += size_;
    size_ = 0;
  }

  [[nodiscard]] std::uint64_t copies() const { return copies_; }

 private:
  StorageBackend& backend_;
  std::span<std::byte> scratch_;
  std::array<Index, 256> from_{};
  std::array<Index, 256> to_{};
  std::size_t size_ = 0;
  std::uint64_t copies_ = 0;
};

template <class Index>
std::uint64_t run_shifts(Origins<Index>& origins, SlotSet& free, CopyBatch<Index>& batch) {
  std::uint64_t moved = 0;
  for (std::uint64_t target = free.next(0); target < free.slots() && moved < origins.entries;
       target = free.next(target + 1)) {
    if (origins.of[target] == Origins<Index>::none) continue;
    auto to = static_cast<Index>(target);
    while (origins.of[to] != Origins<Index>::none) {
      const Index from = origins.of[to];
      batch.add(from, to);
      origins.of[to] = Origins<Index>::none;
      to = from;
      ++moved;
    }
    free.erase(target);
    free.insert(std::uint64_t{to});
  }
  return moved;
}

/// Runs the cycle through `start`: its block waits in scratch while the others move up.
template <class Index>
std::uint64_t run_cycle(StorageBackend& backend, Origins<Index>& origins, Index start,
                        CopyBatch<Index>& batch, std::span<std::byte> scratch) {
  const std::array<Index, 1> first{start};
  std::array<Index, 1> to{start};
  // The scratch holds the waiting block; what is left of it serves the copies between slots.
  backend.gather(std::span<const Index>(first), scratch.data());
  std::uint64_t moved = 1;
  for (Index from = origins.of[start]; from != start; from = origins.of[from]) {
    batch.add(from, to[0]);
    origins.of[to[0]] = Origins<Index>::none;
    to[0] = from;
    ++moved;
    // The walk reads origins.of[from] next, which is still set: only `to` was cleared.
  }
  origins.of[to[0]] = Origins<Index>::none;
  batch.flush();
  backend.scatter(scratch.data(), std::span<const Index>(to));
  return moved;
}

}  // namespace

template <class Index>
std::uint64_t redistribute_locally(StorageBackend& backend, Origins<Index>& origins, SlotSet& free,
                                   std::span<std::byte> scratch) {
  CopyBatch<Index> shifts(backend, scratch);
  std::uint64_t moved = run_shifts(origins, free, shifts);
  shifts.flush();
  std::uint64_t copies = shifts.copies();
  if (moved < origins.entries) {
    VALET_ASSERT(scratch.size() >= backend.block_bytes());
    CopyBatch<Index> batch(backend, scratch.subspan(backend.block_bytes()));
    std::uint64_t cycles = 0;
    for (std::size_t slot = 0; slot < origins.of.size() && moved < origins.entries; ++slot) {
      if (origins.of[slot] == Origins<Index>::none) continue;
      moved += run_cycle(backend, origins, static_cast<Index>(slot), batch, scratch);
      ++cycles;
    }
    copies += batch.copies() + 2 * cycles;  // into scratch and out again
  }
  VALET_ASSERT(moved == origins.entries);
  origins.entries = 0;
  return copies;
}

template std::uint64_t redistribute_locally(StorageBackend&, Origins<std::uint32_t>&, SlotSet&,
                                            std::span<std::byte>);
template std::uint64_t redistribute_locally(StorageBackend&, Origins<std::uint64_t>&, SlotSet&,
                                            std::span<std::byte>);

}  // namespace valet::storage
