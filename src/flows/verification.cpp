// SPDX-License-Identifier: BSD-3-Clause
#include "flows/verification.hpp"

#include "base/memory_reserve.hpp"
#include "mpi/agreement.hpp"
#include "mpi/tags.hpp"
#include <valet/detail/block_hash.hpp>

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>

namespace valet::flows {
namespace {

/// Adds up hashes of blocks, some slots at a time: where the blocks are, or through scratch.
class ChecksumOfBlocks {
 public:
  ChecksumOfBlocks(StorageBackend& backend, std::span<std::byte> scratch, BlockHash hash,
                   const PackCheck* packs)
      : backend_(backend),
        scratch_(scratch),
        hash_(hash),
        packs_(packs),
        in_place_(backend.hashes_blocks()),
        batch_(in_place_ ? slots_.size()
                         : std::min(most_packed, scratch.size() / backend.block_bytes())) {}

  void add(SlotIndex slot, std::uint64_t seed) {
    slots_[size_] = slot;
    seeds_[size_] = seed;
    if (++size_ == batch_) flush();
  }

  std::uint64_t take_sum() {
    flush();
    return std::exchange(sum_, 0);
  }

 private:
  static constexpr std::size_t most_packed = 256;

  void flush() {
    const auto slots = SlotList(slots_).first(size_);
    const auto seeds = std::span<const std::uint64_t>(seeds_).first(size_);
    size_ = 0;
    if (in_place_) {
      if (!slots.empty()) sum_ += backend_.hash_sum(slots, seeds);
      return;
    }
    const std::size_t bytes = backend_.block_bytes();
    // What a pack leaves unwritten, such as padding, is no difference.
    if (packs_ != nullptr) std::fill_n(scratch_.data(), slots.size() * bytes, std::byte{0});
    backend_.gather(slots, scratch_.data());
    for (std::size_t k = 0; k < slots.size(); ++k) {
      std::byte* const block = scratch_.data() + k * bytes;
      // Blocks that are hashed on a device are hashed as they are.
      if (packs_ != nullptr && hash_ == BlockHash::xxh3) packs_->clear_unstable(block);
      sum_ += hash_of(block, bytes, seeds[k]);
    }
  }
  [[nodiscard]] std::uint64_t hash_of(const std::byte* block, std::size_t bytes,
                                      std::uint64_t seed) const {
    return hash_ == BlockHash::xxh3 ? XXH3_64bits_withSeed(block, bytes, seed)
                                    : detail::block_hash(block, bytes, seed);
  }

  StorageBackend& backend_;
  std::span<std::byte> scratch_;
  BlockHash hash_;
  const PackCheck* packs_;  ///< null: the library packs the blocks
  bool in_place_;
  std::array<SlotIndex, 2048> slots_{};
  std::array<std::uint64_t, 2048> seeds_{};
  std::size_t batch_;
  std::size_t size_ = 0;
  std::uint64_t sum_ = 0;
};

}  // namespace

Verification::Verification(const mpi::Channel& channel, Ledger& ledger, const plan::Flows& flows)
    : flows_(flows),
      sent_(ledger, flows.outgoing.size()),
      expected_(ledger, flows.incoming.size()),
      arrived_(ledger, flows.incoming.size()),
      imports_(ledger, flows.in_order() ? flows.incoming.size() : 0, flows.any.grain),
      holes_(ledger, flows),
      words_(channel, ledger, mpi::tag_checksum, 1, {flows.outgoing, sent_.data()},
             {flows.incoming, expected_.data()}) {}

std::optional<Diagnostic> Verification::look_at_packs(StorageBackend& backend,
                                                      std::span<std::byte> scratch) {
  const storage::SlotSet& free = flows_.initially_free;
  for (std::uint64_t slot = free.next_absent(0); slot < flows_.slots;
       slot = free.next_absent(slot + 1))
    packs_->add(backend, scratch, static_cast<SlotIndex>(slot));
  return packs_->finish(backend, scratch);
}

std::optional<SlotIndex> Verification::free_slot() const {
  for (SlotIndex slot = 0; slot < flows_.slots; ++slot)
    if (flows_.initially_free.contains(slot)) return slot;
  return std::nullopt;
}

void Verification::examine(const mpi::Channel& channel, Ledger& ledger, StorageBackend& backend,
                           std::span<std::byte> scratch, bool packs,
                           const std::function<std::optional<Diagnostic>()>& failure) {
  const std::size_t bytes = backend.block_bytes();
  packs = packs && !backend.hashes_blocks();
  packs_.reset();
  std::optional<Diagnostic> mine = valet::detail::unless_out_of_memory(
      [&] { packs_.emplace(ledger, bytes); },
      [] {
        return Diagnostic{ErrorCode::out_of_memory,
                          "no memory for two bits for each byte of a block; nothing has moved"};
      });
  if (!mine && packs) mine = look_at_packs(backend, scratch);
  if (auto failed = failure()) mine = std::move(failed);
  int source = packs_ && packs_->has_sample() ? channel.rank() : channel.size();
  bool has_room =
      bytes <= std::numeric_limits<int>::max() && scratch.size() / bytes >= (packs ? 2 : 1);
  mpi::Agreement agreement;
  agreement.least(source);
  agreement.least(has_room);
  agreement.run(channel, mine);
  if (has_room && source < channel.size())
    packs_->try_sample(channel, backend, scratch, source, packs ? free_slot() : std::nullopt);
  packs_->agree(channel);
}

void Verification::before(StorageBackend& backend, std::span<std::byte> scratch, BlockHash hash) {
  hash_ = hash;
  ChecksumOfBlocks checksum(backend, scratch, hash_, packs());
  for (std::size_t i = 0; i < flows_.outgoing.size(); ++i) {
    const plan::Outgoing& flow = flows_.outgoing[i];
    for (std::uint64_t k = 0; k < flow.count; ++k) checksum.add(flows_.exports[flow.first + k], k);
    sent_[i] = checksum.take_sum();
  }
  stayed_ = staying(backend, scratch, false);
}

/// The sum over the blocks that stay, wherever they are. All slots that were occupied, less the
/// exports, are the fixed blocks and the old slots of moved ones; moved blocks then count with
/// their final slot in place of the old one.
std::uint64_t Verification::staying(StorageBackend& backend, std::span<std::byte> scratch,
                                    bool moved) const {
  ChecksumOfBlocks checksum(backend, scratch, hash_, packs());
  const storage::SlotSet& free = flows_.initially_free;
  for (std::uint64_t slot = free.next_absent(0); slot < flows_.slots;
       slot = free.next_absent(slot + 1))
    checksum.add(static_cast<SlotIndex>(slot), slot);
  std::uint64_t sum = checksum.take_sum();
  for (const SlotIndex slot : flows_.exports) checksum.add(slot, slot);
  flows_.for_each_local_move([&](SlotIndex from, SlotIndex) { checksum.add(from, from); });
  sum -= checksum.take_sum();
  flows_.for_each_local_move(
      [&](SlotIndex from, SlotIndex to) { checksum.add(moved ? to : from, to); });
  return sum + checksum.take_sum();
}

void Verification::sum_arrivals(StorageBackend& backend, std::span<std::byte> scratch) {
  ChecksumOfBlocks checksum(backend, scratch, hash_, packs());
  for (std::size_t i = 0; i < flows_.incoming.size(); ++i) {
    const plan::Incoming& flow = flows_.incoming[i];
    SlotIndex cursor = flow.cursor;
    for (std::uint64_t k = 0; k < flow.count; ++k) {
      SlotIndex slot = 0;
      cursor = flows_.final_slots(cursor, 1, &slot);
      checksum.add(slot, k);
    }
    arrived_[i] = checksum.take_sum();
  }
}

void Verification::sum_arrivals_in_order(StorageBackend& backend, std::span<std::byte> scratch) {
  ChecksumOfBlocks checksum(backend, scratch, hash_, packs());
  std::fill(arrived_.begin(), arrived_.end(), 0);
  for_each_landing(flows_, imports_, holes_, [&](const schedule::FlowPiece& piece, SlotList slots) {
    for (std::uint64_t k = 0; k < piece.count; ++k) checksum.add(slots[k], piece.first + k);
    arrived_[piece.flow] += checksum.take_sum();
  });
}

std::optional<Diagnostic> Verification::after(StorageBackend& backend,
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

}  // namespace valet::flows
