// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What the migrations on a communicator keep for the next one: a channel and memory. The first
/// touch of a page costs more than the copy into it, and to share memory on a node takes as long as
/// to move some MiB.

#include "batches.hpp"
#include "mpi/channel.hpp"
#include "mpi/check.hpp"
#include "transport.hpp"
#include <valet/ledger.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <sys/mman.h>

namespace valet::zoltan {

inline constexpr std::size_t large_page = std::size_t{2} << 20;
inline constexpr std::size_t small_page = held_page_bytes;

/// Where objects begin in their first page, if there are many. Those of an application often begin
/// 16 bytes behind the start of a page, as malloc has them. Were it 0 here, a copy to such an
/// object would load from addresses that agree with its last stores in all bits within a page, and
/// processors take that for a dependence (4K aliasing; measured: unpacking objects of 64 KiB took
/// three times as long).
inline constexpr std::size_t first_byte = small_page / 2;

/// Whole pages for `bytes` of packed objects.
[[nodiscard]] inline std::uint64_t pages_for(std::uint64_t bytes) {
  const std::uint64_t all = bytes + (bytes + first_byte >= large_page ? first_byte : 0);
  return (all + small_page - 1) / small_page * small_page;
}

/// Memory for packed objects, straight from the operating system: in large pages where it has them.
class PackedMemory {
 public:
  explicit PackedMemory(Ledger& ledger) : ledger_(ledger) {}
  PackedMemory(const PackedMemory&) = delete;
  PackedMemory& operator=(const PackedMemory&) = delete;
  ~PackedMemory() { release(); }

  /// Has at least `bytes` from now on. What it has is kept where it suffices and is within `room`;
  /// what it takes anew is more than asked for as far as `room` goes, so that a few bytes more the
  /// next time are there already. @throws std::bad_alloc.
  std::byte* reserve(std::size_t bytes, std::size_t room) {
    const std::size_t needed = pages_for(bytes);
    if (bytes_ >= needed && bytes_ <= std::max(needed, room)) return data_;
    const std::size_t spare = std::min(2 * bytes_, room / small_page * small_page);
    release();
    if (bytes > 0) map(std::max(needed, spare));
    return data_;
  }

  void release() {
    if (pages_ == nullptr) return;
    munmap(pages_, bytes_);
    ledger_.subtract(bytes_);
    pages_ = data_ = nullptr;
    bytes_ = 0;
  }
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  void map(std::size_t bytes) {
    const bool large = bytes >= large_page;
    const std::size_t slack = large ? large_page : 0;
    void* const mapped = mmap(nullptr, bytes + slack, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    auto* begin = static_cast<std::byte*>(mapped);
    if (slack > 0) {
      // Only what lies between: a large page must not reach beyond the end of what was asked for.
      const std::size_t head =
          (large_page - reinterpret_cast<std::uintptr_t>(begin) % large_page) % large_page;
      if (head > 0) munmap(begin, head);
      begin += head;
      if (slack > head) munmap(begin + bytes, slack - head);
      madvise(begin, bytes, MADV_HUGEPAGE);
    }
    pages_ = begin;
    data_ = begin + (large ? first_byte : 0);
    bytes_ = bytes;
    ledger_.add(bytes_);
  }

  Ledger& ledger_;
  std::byte* pages_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

struct Workspace {
  explicit Workspace(MPI_Comm communicator) : channel(mpi::Channel::open(communicator)) {}

  /// That of a communicator, with which it is freed. Collective the first time.
  static Workspace& of(MPI_Comm communicator) {
    void* attribute = nullptr;
    int found = 0;
    mpi::check(MPI_Comm_get_attr(communicator, key(), static_cast<void*>(&attribute), &found),
               "MPI_Comm_get_attr");
    if (found != 0) return *static_cast<Workspace*>(attribute);
    auto workspace = std::make_unique<Workspace>(communicator);
    mpi::check(MPI_Comm_set_attr(communicator, key(), workspace.get()), "MPI_Comm_set_attr");
    return *workspace.release();
  }

  /// Where `bytes` of arrivals go: straight into the memory shared on the node, where that has room
  /// for all of them. Else into memory of their own, which is kept for the next migration as far as
  /// `room` goes. @throws std::bad_alloc.
  std::byte* place_arrivals(std::uint64_t bytes, std::uint64_t room) {
    const std::span<std::byte> own = node.memory().own();
    node.give_out(bytes > own.size());
    if (bytes <= own.size()) {
      arrived.release();
      return own.data() + (own.size() - bytes < first_byte ? 0 : first_byte);
    }
    return arrived.reserve(bytes, room);
  }

  /// At the end of a migration: gives back what is more than `budget`. Local.
  void keep_within(std::uint64_t budget) {
    if (ledger.current_bytes() > budget) arrived.release();
    if (ledger.current_bytes() > budget) sent.release();
  }

  /// Gives back all memory. Local, but all ranks do so between two migrations.
  void release() {
    node.release();
    arrived.release();
    sent.release();
  }

  /// Whether the last migration had the neighbours of the wish; remembers these for the next one.
  bool has_met(const storage::NodeWish& wish) {
    if (destinations_ == wish.destinations && sources_ == wish.sources) return true;
    destinations_ = wish.destinations;
    sources_ = wish.sources;
    return false;
  }

  Ledger ledger;
  mpi::Channel channel;
  NodeSlots node{ledger};
  PackedMemory sent{ledger};
  PackedMemory arrived{ledger};

 private:
  friend class WorkspaceLoan;

  static int destroy(MPI_Comm, int, void* attribute, void*) {
    delete static_cast<Workspace*>(attribute);
    return MPI_SUCCESS;
  }
  /// Of the attribute of a communicator.
  static int key() {
    static const int made = [] {
      int created = MPI_KEYVAL_INVALID;
      mpi::check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, destroy, &created, nullptr),
                 "MPI_Comm_create_keyval");
      return created;
    }();
    return made;
  }

  Vector<int> destinations_{ledger}, sources_{ledger};
  bool is_lent_ = false;
};

/// The workspace of a communicator for one migration; one of its own where a callback of another
/// migration makes it.
class WorkspaceLoan {
 public:
  /// Collective, if it is nested or the first.
  explicit WorkspaceLoan(MPI_Comm communicator) : kept_(Workspace::of(communicator)) {
    if (kept_.is_lent_) nested_.emplace(communicator);
    get().is_lent_ = true;
  }

  WorkspaceLoan(const WorkspaceLoan&) = delete;
  WorkspaceLoan& operator=(const WorkspaceLoan&) = delete;
  ~WorkspaceLoan() { get().is_lent_ = false; }

  [[nodiscard]] Workspace& get() { return nested_ ? *nested_ : kept_; }

 private:
  Workspace& kept_;
  std::optional<Workspace> nested_;
};

}  // namespace valet::zoltan
