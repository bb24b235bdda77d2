// SPDX-License-Identifier: BSD-3-Clause
#include "block_comparison.hpp"

#include <algorithm>
#include <cstring>

namespace valet::bench {
namespace {

Bytes allocate(std::uint64_t bytes) {
  return Bytes(static_cast<std::byte*>(::operator new(bytes, page)));
}

/// The address of a block, spread over all of its bytes.
class Signature {
 public:
  explicit Signature(const Address& origin)
      : word_((static_cast<std::uint64_t>(origin.rank) << 40) + origin.slot) {}
  explicit Signature(const std::byte* block, std::size_t bytes) {
    std::memcpy(&word_, block, std::min(bytes, sizeof word_));
  }

  void write(std::byte* block, std::size_t bytes) const {
    for (std::size_t at = 0; at < bytes; at += sizeof word_) {
      const std::uint64_t word = word_ ^ at << 48;
      std::memcpy(block + at, &word, std::min(bytes - at, sizeof word));
    }
  }
  [[nodiscard]] bool matches(const std::byte* block, std::size_t bytes) const {
    bool good = true;
    for (std::size_t at = 0; at < bytes; at += sizeof word_) {
      const std::uint64_t word = word_ ^ at << 48;
      good = good && std::memcmp(block + at, &word, std::min(bytes - at, sizeof word)) == 0;
    }
    return good;
  }
  [[nodiscard]] Address origin() const {
    return {static_cast<int>(word_ >> 40), word_ & ((std::uint64_t{1} << 40) - 1)};
  }
  /// Summed over all blocks this shows whether one was lost or doubled.
  [[nodiscard]] std::uint64_t hash() const {
    std::uint64_t mixed = (word_ + 1) * 0x9E3779B97F4A7C15ULL;
    mixed ^= mixed >> 31;
    return mixed * 0xBF58476D1CE4E5B9ULL;
  }

 private:
  std::uint64_t word_ = 0;
};

}  // namespace

void require_room_for_address(std::size_t block_bytes) {
  if (block_bytes < sizeof(std::uint64_t))
    throw Error(ErrorCode::invalid_argument,
                "--block-bytes must be at least 8: a block holds its address");
}

BlockComparison::BlockComparison(const Map& map, std::size_t block_bytes, bool to_slots,
                                 const Options& options)
    : map_(map),
      block_bytes_(block_bytes),
      to_slots_(to_slots),
      options_(options),
      rank_(world_rank()),
      blocks_(map.blocks(rank_)),
      memory_(allocate(map.slots * block_bytes)) {
  ranks_.reserve(blocks_);
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(map_.ranks), 0);
  for (std::uint64_t slot = 0; slot < blocks_; ++slot) {
    const Address to = map_.destination(rank_, slot);
    if (to_slots_) addresses_.push_back(to);
    packed_already_ = packed_already_ && (slot == 0 || to.rank >= ranks_.back());
    ranks_.push_back(to.rank);
    ++counts[static_cast<std::size_t>(to.rank)];
  }
  peer_ = std::make_unique<Alltoallv>(counts, block_bytes_);
  starts_.resize(counts.size(), 0);
  for (std::size_t r = 1; r < counts.size(); ++r) starts_[r] = starts_[r - 1] + counts[r - 1];
  packed_already_ = on_all_ranks(packed_already_);
}

void BlockComparison::fill() {
  for (std::uint64_t slot = 0; slot < blocks_; ++slot)
    Signature({rank_, slot}).write(block(slot), block_bytes_);
}

double BlockComparison::run_valet() {
  const BlockStorage storage{field(memory_.get(), map_.slots, block_bytes_)};
  return slowest_seconds([&] {
    report_ = to_slots_ ? migrate(MPI_COMM_WORLD, storage, blocks_, addresses_, options_)
                        : migrate(MPI_COMM_WORLD, storage, blocks_, ranks_, options_);
  });
}

double BlockComparison::run_warm() {
  prepare_peer();
  return slowest_seconds([&] { exchange(received_.get(), packed_.get()); });
}

double BlockComparison::run_cold() {
  prepare_peer();
  return slowest_seconds([&] {
    const Bytes received = allocate(peer_->blocks_received() * block_bytes_);
    const Bytes packed = packed_already_ ? Bytes() : allocate(blocks_ * block_bytes_);
    exchange(received.get(), packed.get());
  });
}

std::uint64_t BlockComparison::peer_bytes() const {
  return (peer_->blocks_received() + (packed_already_ ? 0 : blocks_)) * block_bytes_;
}

bool BlockComparison::verified() {
  bool good = true;
  std::uint64_t sum = 0;
  std::uint64_t found = 0;
  for (std::uint64_t slot = 0; slot < map_.slots; ++slot) {
    if (!to_slots_ && slot >= report_.blocks_after) break;
    const Signature signature(block(slot), block_bytes_);
    const Address from = signature.origin();
    const bool plausible = from.rank < map_.ranks && from.slot < map_.blocks(from.rank);
    const Address to = plausible ? map_.destination(from.rank, from.slot) : Address{-1, 0};
    const bool belongs = to.rank == rank_ && (!to_slots_ || to.slot == slot);
    if (to_slots_ && !belongs) continue;  // a free slot
    good = good && belongs && signature.matches(block(slot), block_bytes_);
    sum += signature.hash();
    ++found;
  }
  std::uint64_t expected = 0;
  for (std::uint64_t slot = 0; slot < blocks_; ++slot) expected += Signature({rank_, slot}).hash();
  return on_all_ranks(good && found == report_.blocks_after) &&
         sum_of_ranks(sum) == sum_of_ranks(expected);
}

void BlockComparison::prepare_peer() {
  if (received_ != nullptr) return;
  received_ = allocate(peer_->blocks_received() * block_bytes_);
  if (!packed_already_) packed_ = allocate(blocks_ * block_bytes_);
  exchange(received_.get(), packed_.get());  // warm: every page has been touched
}

void BlockComparison::exchange(std::byte* received, std::byte* packed) {
  if (packed_already_) {
    peer_->run(memory_.get(), received);
    return;
  }
  std::vector<std::uint64_t> next = starts_;
  for (std::uint64_t slot = 0; slot < blocks_; ++slot)
    std::memcpy(packed + next[static_cast<std::size_t>(ranks_[slot])]++ * block_bytes_, block(slot),
                block_bytes_);
  peer_->run(packed, received);
}

}  // namespace valet::bench
