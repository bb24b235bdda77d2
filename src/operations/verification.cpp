// SPDX-License-Identifier: BSD-3-Clause
#include "operations/verification.hpp"

#include "mpi/tags.hpp"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <string>

namespace valet::operations {
namespace {

/// Adds up hashes of blocks, a few slots at a time through scratch.
template <class Index>
class ChecksumOfBlocks {
 public:
  ChecksumOfBlocks(StorageBackend& backend, std::span<std::byte> scratch)
      : backend_(backend),
        scratch_(scratch),
        batch_(std::min(slots_.size(), scratch.size() / backend.block_bytes())) {}

  void add(Index slot, std::uint64_t seed) {
    slots_[size_] = slot;
    seeds_[size_] = seed;
    if (++size_ == batch_) flush();
  }

  std::uint64_t take_sum() {
    flush();
    return std::exchange(sum_, 0);
  }

 private:
  void flush() {
    const std::size_t bytes = backend_.block_bytes();
    backend_.gather(std::span<const Index>(slots_).first(size_), scratch_.data());
    for (std::size_t k = 0; k < size_; ++k)
      sum_ += XXH3_64bits_withSeed(scratch_.data() + k * bytes, bytes, seeds_[k]);
    size_ = 0;
  }

  StorageBackend& backend_;
  std::span<std::byte> scratch_;
  std::array<Index, 256> slots_{};
  std::array<std::uint64_t, 256> seeds_{};
  std::size_t batch_;
  std::size_t size_ = 0;
  std::uint64_t sum_ = 0;
};

}  // namespace

template <class Index>
Verification<Index>::Verification(const mpi::Channel& channel, Ledger& ledger,
                                  const plan::Flows<Index>& flows)
    : flows_(flows),
      sent_(ledger, flows.outgoing.size()),
      expected_(ledger, flows.incoming.size()),
      arrived_(ledger, flows.incoming.size()),
      imports_(ledger, flows.in_order() ? flows.incoming.size() : 0, flows.any.grain),
      holes_(ledger, flows),
      words_(channel, ledger, mpi::tag_checksum, 1, {flows.outgoing, sent_.data()},
             {flows.incoming, expected_.data()}) {}

template <class Index>
void Verification<Index>::before(StorageBackend& backend, std::span<std::byte> scratch) {
  ChecksumOfBlocks<Index> checksum(backend, scratch);
  for (std::size_t i = 0; i < flows_.outgoing.size(); ++i) {
    const plan::Outgoing<Index>& flow = flows_.outgoing[i];
    for (std::uint64_t k = 0; k < flow.count; ++k) checksum.add(flows_.exports[flow.first + k], k);
    sent_[i] = checksum.take_sum();
  }
  stayed_ = staying(backend, scratch, false);
}

/// The sum over the blocks that stay, wherever they are. All slots that were occupied, less the
/// exports, are the fixed blocks and the old slots of moved ones; moved blocks then count with
/// their final slot in place of the old one.
template <class Index>
std::uint64_t Verification<Index>::staying(StorageBackend& backend, std::span<std::byte> scratch,
                                           bool moved) const {
  ChecksumOfBlocks<Index> checksum(backend, scratch);
  const storage::SlotSet& free = flows_.initially_free;
  for (std::uint64_t slot = free.next_absent(0); slot < flows_.slots;
       slot = free.next_absent(slot + 1))
    checksum.add(static_cast<Index>(slot), slot);
  std::uint64_t sum = checksum.take_sum();
  for (const Index slot : flows_.exports) checksum.add(slot, slot);
  flows_.for_each_local_move([&](Index from, Index) { checksum.add(from, from); });
  sum -= checksum.take_sum();
  flows_.for_each_local_move([&](Index from, Index to) { checksum.add(moved ? to : from, to); });
  return sum + checksum.take_sum();
}

template <class Index>
void Verification<Index>::sum_arrivals(StorageBackend& backend, std::span<std::byte> scratch) {
  ChecksumOfBlocks<Index> checksum(backend, scratch);
  for (std::size_t i = 0; i < flows_.incoming.size(); ++i) {
    const plan::Incoming<Index>& flow = flows_.incoming[i];
    Index cursor = flow.cursor;
    for (std::uint64_t k = 0; k < flow.count; ++k) {
      Index slot = 0;
      cursor = flows_.final_slots(cursor, 1, &slot);
      checksum.add(slot, k);
    }
    arrived_[i] = checksum.take_sum();
  }
}

template <class Index>
void Verification<Index>::sum_arrivals_in_order(StorageBackend& backend,
                                                std::span<std::byte> scratch) {
  ChecksumOfBlocks<Index> checksum(backend, scratch);
  std::fill(arrived_.begin(), arrived_.end(), 0);
  for_each_landing(flows_, imports_, holes_,
                   [&](const schedule::FlowPiece& piece, std::span<const Index> slots) {
                     for (std::uint64_t k = 0; k < piece.count; ++k)
                       checksum.add(slots[k], piece.first + k);
                     arrived_[piece.flow] += checksum.take_sum();
                   });
}

template <class Index>
std::optional<Diagnostic> Verification<Index>::after(StorageBackend& backend,
                                                     std::span<std::byte> scratch) {
  words_.run();
  std::optional<Diagnostic> diagnostic;
  if (staying(backend, scratch, true) != stayed_)
    diagnostic =
        Diagnostic{ErrorCode::corrupted,
                   "the blocks that stay are not what they were; restart from a checkpoint and "
                   "report this"};
  flows_.in_order() ? sum_arrivals_in_order(backend, scratch) : sum_arrivals(backend, scratch);
  for (std::size_t i = 0; i < flows_.incoming.size(); ++i)
    if (arrived_[i] != expected_[i])
      diagnostic =
          Diagnostic{ErrorCode::corrupted,
                     "the " + std::to_string(flows_.incoming[i].count) + " blocks from rank " +
                         std::to_string(flows_.incoming[i].rank) +
                         " are not what that rank sent; restart from a checkpoint and report this"};
  return diagnostic;
}

template class Verification<std::uint32_t>;
template class Verification<std::uint64_t>;

}  // namespace valet::operations
