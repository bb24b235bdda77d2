// SPDX-License-Identifier: BSD-3-Clause
#include "storage/block_merge.hpp"

#include "storage/copy.hpp"
#include <valet/error.hpp>

#include <algorithm>
#include <limits>

namespace valet::storage {
namespace {

/// Blocks of scratch. Input that is not read yet is in at most three places, each of which touches
/// less than two blocks more than it fills; one block is being written, one at the end of the data
/// may not be whole, and one is there for rounding.
constexpr std::uint64_t scratch_blocks = 9;
constexpr std::uint64_t most_cached_bytes = std::uint64_t{128} << 10;

std::uint64_t blocks_for(std::uint64_t elements, std::uint64_t block) {
  return elements / block + (elements % block != 0 ? 1 : 0);
}

std::uint64_t bytes_for(std::uint64_t elements, std::size_t element_bytes, std::uint64_t block) {
  return scratch_blocks * block * element_bytes +
         (2 * blocks_for(elements, block) + scratch_blocks) * sizeof(std::uint32_t);
}

/// Whether blocks of that size can be numbered, the scratch included.
bool can_be_numbered(std::uint64_t elements, std::uint64_t block) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max() - scratch_blocks - 1;
  return blocks_for(elements, block) <= most && block <= most;
}

}  // namespace

std::uint64_t BlockMerge::block_elements(std::uint64_t elements, std::size_t element_bytes,
                                         std::uint64_t scratch_bytes) {
  std::uint64_t best = 0;
  for (std::uint64_t block = 1; block * element_bytes * scratch_blocks <= scratch_bytes;
       block *= 2) {
    if (best > 0 &&
        (block * element_bytes > most_cached_bytes || block * (scratch_blocks - 1) > elements))
      break;
    if (can_be_numbered(elements, block) &&
        bytes_for(elements, element_bytes, block) <= scratch_bytes)
      best = block;
  }
  return best;
}

std::uint64_t BlockMerge::useful_scratch_bytes(std::uint64_t elements, std::size_t element_bytes,
                                               std::uint64_t scratch_bytes) {
  const std::uint64_t block = block_elements(elements, element_bytes, scratch_bytes);
  return block == 0 ? scratch_bytes : bytes_for(elements, element_bytes, block);
}

std::uint64_t BlockMerge::least_scratch_bytes(std::uint64_t elements, std::size_t element_bytes) {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (std::uint64_t block = 1; block <= std::max<std::uint64_t>(elements, 1); block *= 2)
    if (can_be_numbered(elements, block))
      least = std::min(least, bytes_for(elements, element_bytes, block));
  return least;
}

BlockMerge::BlockMerge(std::span<std::byte> data, std::size_t element_bytes,
                       std::span<std::byte> scratch)
    : data_(data.data()),
      element_bytes_(element_bytes),
      elements_(data.size() / element_bytes),
      block_(block_elements(elements_, element_bytes, scratch.size())) {
  if (block_ == 0) throw Error(ErrorCode::internal, "merging was given too little scratch");
  blocks_ = static_cast<Block>(blocks_for(elements_, block_));
  whole_ = static_cast<Block>(elements_ / block_);
  auto* const words = reinterpret_cast<Block*>(scratch.data());
  state_ = {words, blocks_ + scratch_blocks};
  holder_ = {words + state_.size(), blocks_};
  scratch_ = reinterpret_cast<std::byte*>(words + state_.size() + holder_.size());
  std::ranges::fill(state_, Block{0});
}

std::byte* BlockMerge::at(Block block) const {
  std::byte* const base = block < blocks_ ? data_ : scratch_;
  return base + (block < blocks_ ? block : block - blocks_) * block_ * element_bytes_;
}

void BlockMerge::expect(std::uint64_t from, std::uint64_t count) {
  for (const std::uint64_t end = from + count; from < end;) {
    const std::uint64_t block = from / block_;
    const std::uint64_t stop = std::min(end, (block + 1) * block_);
    state_[block] += static_cast<Block>(stop - from);
    from = stop;
  }
}

void BlockMerge::set_free(Block block) {
  state_[block] = free_;
  free_ = block;
}

BlockMerge::Block BlockMerge::take_free() {
  if (free_ == none) throw Error(ErrorCode::internal, "merging ran out of blocks");
  const Block block = free_;
  free_ = state_[block];
  return block;
}

/// A block of the data that is not whole takes no part: no other block has its size.
void BlockMerge::list_free_blocks() {
  for (Block block = whole_; block-- > 0;)
    if (state_[block] == 0) set_free(block);
  for (Block extra = 0; extra < scratch_blocks; ++extra) set_free(blocks_ + extra);
  started_ = true;
}

void BlockMerge::consumed(std::uint64_t from, std::uint64_t count) {
  for (const std::uint64_t end = from + count; from < end;) {
    const auto block = static_cast<Block>(from / block_);
    const std::uint64_t stop = std::min(end, (block + std::uint64_t{1}) * block_);
    state_[block] -= static_cast<Block>(stop - from);
    if (state_[block] == 0 && block < whole_) set_free(block);
    from = stop;
  }
}

void BlockMerge::append(std::uint64_t from, std::uint64_t count) {
  if (!started_) list_free_blocks();
  while (count > 0) {
    const std::uint64_t filled = appended_ % block_;
    const auto block = static_cast<std::size_t>(appended_ / block_);
    if (filled == 0) holder_[block] = take_free();
    const std::uint64_t part = std::min(count, block_ - filled);
    detail::copy_bytes(at(holder_[block]) + filled * element_bytes_, data_ + from * element_bytes_,
                       part * element_bytes_);
    consumed(from, part);
    appended_ += part;
    copied_ += part;
    from += part;
    count -= part;
  }
}

/// Copies a block of the result from one place to another.
void BlockMerge::copy_block(Block from, Block to, Block result) {
  const std::uint64_t begin = result * block_;
  const std::uint64_t count = std::min(block_, appended_ - begin);
  detail::copy_bytes(at(to), at(from), count * element_bytes_);
  copied_ += count;
}

/// Fills the free place of a block of the result, then the place that became free, and so on.
void BlockMerge::follow(Block free) {
  const auto results = static_cast<Block>(blocks_for(appended_, block_));
  for (Block to = free; to < results && state_[to] == none;) {
    const Block from = holder_[to];
    copy_block(from, to, to);
    state_[to] = to;
    holder_[to] = to;
    state_[from] = none;
    to = from;
  }
}

/// Turns a cycle of blocks through the scratch.
void BlockMerge::turn(Block start) {
  copy_block(start, blocks_, state_[start]);
  Block to = start;
  while (holder_[to] != start) {
    const Block from = holder_[to];
    copy_block(from, to, to);
    holder_[to] = to;
    to = from;
  }
  copy_block(blocks_, to, to);
  holder_[to] = to;
}

std::uint64_t BlockMerge::finish() {
  const auto results = static_cast<Block>(blocks_for(appended_, block_));
  // From here on the state of a block is the block of the result that it holds.
  std::ranges::fill(state_, none);
  for (Block result = 0; result < results; ++result) state_[holder_[result]] = result;
  for (Block result = 0; result < results; ++result)
    if (state_[result] == none) follow(result);
  for (Block result = 0; result < results; ++result)
    if (holder_[result] != result) turn(result);
  return copied_;
}

}  // namespace valet::storage
