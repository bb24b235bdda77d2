// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "flows/pack_check.hpp"
#include "mpi/agreement.hpp"
#include "mpi/channel.hpp"
#include "mpi/neighbour_words.hpp"
#include "mpi/tags.hpp"
#include "plan/any_order.hpp"
#include <valet/detail/block_hash.hpp>
#include <valet/storage_backend.hpp>

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <utility>

namespace valet::flows {

/// The hash of a block; the same on all ranks.
enum class BlockHash : std::uint8_t {
  xxh3,       ///< of the packed block: as fast as a core reads memory
  of_pieces,  ///< detail::piece_hash(), where a rank hashes its blocks on a device
};

/// Adds up hashes of blocks, some slots at a time: where the blocks are, or through scratch.
class ChecksumOfBlocks {
 public:
  /// @param block_bytes  As all ranks have agreed: a storage without slots may not know.
  ChecksumOfBlocks(StorageBackend& backend, std::size_t block_bytes, std::span<std::byte> scratch,
                   BlockHash hash, const PackCheck* packs)
      : backend_(backend),
        block_bytes_(block_bytes),
        scratch_(scratch),
        hash_(hash),
        packs_(packs),
        in_place_(backend.hashes_blocks()),
        chunk_(in_place_ ? slots_.size() : std::min(most_packed, scratch.size() / block_bytes)) {}

  void add(SlotIndex slot, std::uint64_t seed) {
    slots_[size_] = slot;
    seeds_[size_] = seed;
    if (++size_ == chunk_) flush();
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
    if (slots.empty()) return;
    if (in_place_) {
      sum_ += backend_.hash_sum(slots, seeds);
      return;
    }
    const std::size_t bytes = block_bytes_;
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
  std::size_t block_bytes_;
  std::span<std::byte> scratch_;
  BlockHash hash_;
  const PackCheck* packs_;  ///< null: the library packs the blocks
  bool in_place_;
  std::array<SlotIndex, 2048> slots_{};
  std::array<std::uint64_t, 2048> seeds_{};
  std::size_t chunk_;
  std::size_t size_ = 0;
  std::uint64_t sum_ = 0;
};

/// Proves that every block arrived as it was sent: a hash of each block, seeded with its index in
/// its flow, summed per flow at the source before and at the destination after. Blocks that stay
/// are seeded with their final slot. Memory: 24 bytes a neighbour, 48 more where blocks land in
/// order, and the scratch.
class Verification {
 public:
  /// @param block_bytes  As all ranks have agreed.
  Verification(const mpi::Channel& channel, Ledger& ledger, const plan::Flows& flows,
               std::size_t block_bytes)
      : flows_(flows),
        block_bytes_(block_bytes),
        sent_(ledger, flows.outgoing.size()),
        expected_(ledger, flows.incoming.size()),
        arrived_(ledger, flows.incoming.size()),
        imports_(ledger, flows.in_order() ? flows.incoming.size() : 0, flows.any.grain),
        holes_(ledger, flows),
        words_(channel, ledger, mpi::tag_checksum, 1, {flows.outgoing, sent_.data()},
               {flows.incoming, expected_.data()}) {}

  /// Before all else, where the storage of some rank is the application's: looks at how blocks are
  /// packed. Collective. @throws Error on all ranks alike, before anything moves.
  /// @param packs    Whether this rank's blocks are packed by the application.
  /// @param failure  What the storage has thrown until now, if anything.
  void examine(const mpi::Channel& channel, Ledger& ledger, StorageBackend& backend,
               std::span<std::byte> scratch, bool packs,
               const std::function<std::optional<Diagnostic>()>& failure) {
    const std::size_t bytes = block_bytes_;
    packs = packs && !backend.hashes_blocks();
    packs_.reset();
    std::optional<Diagnostic> mine = valet::detail::unless_out_of_memory(
        [&] { packs_.emplace(ledger, bytes); },
        "no memory for two bits for each byte of a block; nothing has moved");
    if (!mine && packs) {
      for_each_occupied([&](SlotIndex slot) { packs_->add(backend, scratch, slot); });
      mine = packs_->finish(backend, scratch);
    }
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
  /// Sums over what is there before the exchange. Local.
  void before(StorageBackend& backend, std::span<std::byte> scratch, BlockHash hash) {
    hash_ = hash;
    ChecksumOfBlocks checksum(backend, block_bytes_, scratch, hash_, packs());
    for (std::size_t i = 0; i < flows_.outgoing.size(); ++i) {
      const plan::Outgoing& flow = flows_.outgoing[i];
      for (std::uint64_t k = 0; k < flow.count; ++k)
        checksum.add(flows_.exports[flow.first + k], k);
      sent_[i] = checksum.take_sum();
    }
    stayed_ = staying(backend, scratch, false);
  }
  /// Sums over what is there afterwards, and compares with the sources. Collective among
  /// neighbours. Returns what does not agree, if anything.
  [[nodiscard]] std::optional<Diagnostic> after(StorageBackend& backend,
                                                std::span<std::byte> scratch) {
    words_.run();
    std::optional<Diagnostic> diagnostic;
    if (staying(backend, scratch, true) != stayed_)
      diagnostic = diagnose(
          ErrorCode::corrupted,
          "the blocks that stay are not what they were; restart from a checkpoint and report this");
    flows_.in_order() ? sum_arrivals_in_order(backend, scratch) : sum_arrivals(backend, scratch);
    for (std::size_t i = 0; i < flows_.incoming.size(); ++i)
      if (arrived_[i] != expected_[i])
        diagnostic =
            diagnose(ErrorCode::corrupted, "the ", flows_.incoming[i].count, " blocks from rank ",
                     flows_.incoming[i].rank,
                     " are not what that rank sent; restart from a checkpoint and report this");
    return diagnostic;
  }

 private:
  /// One word for each neighbour: the sum of a flow.
  template <class Flow>
  struct Sums {
    const Vector<Flow>& flows;
    std::uint64_t* sums;
    [[nodiscard]] std::size_t size() const { return flows.size(); }
    [[nodiscard]] int rank(std::size_t i) const { return flows[i].rank; }
    [[nodiscard]] std::uint64_t count(std::size_t) const { return 1; }
    void provide(std::size_t i, std::uint64_t, std::span<std::uint64_t> words) const {
      words[0] = sums[i];
    }
    void consume(std::size_t i, std::uint64_t, std::span<const std::uint64_t> words) const {
      sums[i] = words[0];
    }
  };

  /// Calls action(slot) for the slots that were occupied before the exchange.
  template <class Action>
  void for_each_occupied(Action&& action) const {
    const storage::SlotSet& free = flows_.initially_free;
    for (std::uint64_t slot = free.next_absent(0); slot < flows_.slots;
         slot = free.next_absent(slot + 1))
      action(static_cast<SlotIndex>(slot));
  }
  [[nodiscard]] std::optional<SlotIndex> free_slot() const {
    const std::uint64_t slot = flows_.initially_free.next(0);
    return slot < flows_.slots ? std::optional(static_cast<SlotIndex>(slot)) : std::nullopt;
  }
  [[nodiscard]] const PackCheck* packs() const { return packs_ ? &*packs_ : nullptr; }
  void sum_arrivals(StorageBackend& backend, std::span<std::byte> scratch) {
    ChecksumOfBlocks checksum(backend, block_bytes_, scratch, hash_, packs());
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
  void sum_arrivals_in_order(StorageBackend& backend, std::span<std::byte> scratch) {
    ChecksumOfBlocks checksum(backend, block_bytes_, scratch, hash_, packs());
    std::fill(arrived_.begin(), arrived_.end(), 0);
    for_each_landing(flows_, imports_, holes_, [&](const schedule::FlowRun& piece, SlotList slots) {
      for (std::uint64_t k = 0; k < piece.count; ++k) checksum.add(slots[k], piece.first + k);
      arrived_[piece.flow] += checksum.take_sum();
    });
  }
  /// The sum over the blocks that stay, wherever they are. All slots that were occupied, less the
  /// exports, are the fixed blocks and the old slots of moved ones; moved blocks then count with
  /// their final slot in place of the old one.
  std::uint64_t staying(StorageBackend& backend, std::span<std::byte> scratch, bool moved) const {
    ChecksumOfBlocks checksum(backend, block_bytes_, scratch, hash_, packs());
    for_each_occupied([&](SlotIndex slot) { checksum.add(slot, slot); });
    std::uint64_t sum = checksum.take_sum();
    for (const SlotIndex slot : flows_.exports) checksum.add(slot, slot);
    flows_.for_each_local_move([&](SlotIndex from, SlotIndex) { checksum.add(from, from); });
    sum -= checksum.take_sum();
    flows_.for_each_local_move(
        [&](SlotIndex from, SlotIndex to) { checksum.add(moved ? to : from, to); });
    return sum + checksum.take_sum();
  }

  const plan::Flows& flows_;
  std::size_t block_bytes_;
  Array<std::uint64_t> sent_, expected_, arrived_;
  schedule::GrainOrder imports_;  ///< where blocks land in order
  plan::HoleWalk holes_;          ///< likewise
  BlockHash hash_ = BlockHash::xxh3;
  std::uint64_t stayed_ = 0;
  std::optional<PackCheck> packs_;  ///< where some rank's storage is the application's
  mpi::NeighbourWords<Sums<plan::Outgoing>, Sums<plan::Incoming>> words_;
};

}  // namespace valet::flows
