// SPDX-License-Identifier: BSD-3-Clause
#include "workspace.hpp"

#include "mpi/check.hpp"

#include <algorithm>
#include <memory>
#include <new>
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

int delete_workspace(MPI_Comm, int, void* attribute, void*) {
  delete static_cast<Workspace*>(attribute);
  return MPI_SUCCESS;
}

int workspace_key() {
  static const int key = [] {
    int created = MPI_KEYVAL_INVALID;
    mpi::check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_workspace, &created, nullptr),
               "MPI_Comm_create_keyval");
    return created;
  }();
  return key;
}

/// Whether the list is the ranks of the peers already; it is so afterwards.
bool update(Vector<int>& ranks, std::span<const Peer> peers) {
  if (std::ranges::equal(ranks, peers, {}, {}, &Peer::rank)) return true;
  ranks.clear();
  for (const Peer& peer : peers) ranks.push_back(peer.rank);
  return false;
}

}  // namespace

std::uint64_t pages_for(std::uint64_t bytes) {
  return rounded_up(bytes + (bytes + first_byte >= large_page ? first_byte : 0), small_page);
}

std::byte* PackedMemory::reserve(std::size_t bytes, std::size_t room) {
  const std::size_t needed = pages_for(bytes);
  if (bytes_ >= needed && bytes_ <= std::max(needed, room)) return data_;
  const std::size_t spare = std::min(2 * bytes_, room / small_page * small_page);
  release();
  if (bytes > 0) map(std::max(needed, spare));
  return data_;
}

void PackedMemory::map(std::size_t bytes) {
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

void PackedMemory::release() {
  if (pages_ == nullptr) return;
  munmap(pages_, bytes_);
  ledger_.subtract(bytes_);
  pages_ = data_ = nullptr;
  bytes_ = 0;
}

Workspace& Workspace::of(MPI_Comm communicator) {
  void* attribute = nullptr;
  int found = 0;
  mpi::check(
      MPI_Comm_get_attr(communicator, workspace_key(), static_cast<void*>(&attribute), &found),
      "MPI_Comm_get_attr");
  if (found != 0) return *static_cast<Workspace*>(attribute);
  auto workspace = std::make_unique<Workspace>(communicator);
  mpi::check(MPI_Comm_set_attr(communicator, workspace_key(), workspace.get()),
             "MPI_Comm_set_attr");
  return *workspace.release();
}

WorkspaceLoan::WorkspaceLoan(MPI_Comm communicator) : kept_(Workspace::of(communicator)) {
  if (kept_.is_lent_) nested_.emplace(communicator);
  get().is_lent_ = true;
}

std::byte* Workspace::place_arrivals(std::uint64_t bytes, std::uint64_t room) {
  const std::span<std::byte> own = node.memory().own();
  node.give_out(bytes > own.size());
  if (bytes <= own.size()) {
    arrived.release();
    return own.data() + (own.size() - bytes < first_byte ? 0 : first_byte);
  }
  return arrived.reserve(bytes, room);
}

void Workspace::keep_within(std::uint64_t budget) {
  if (ledger.current_bytes() > budget) arrived.release();
  if (ledger.current_bytes() > budget) sent.release();
}

void Workspace::release() {
  node.release();
  arrived.release();
  sent.release();
}

bool Workspace::has_met(std::span<const Peer> destinations, std::span<const Peer> sources) {
  const bool same_destinations = update(destinations_, destinations);
  return update(sources_, sources) && same_destinations;
}

}  // namespace valet::zoltan
