// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace valet::engine {

/// Memory for blocks that leave in the order in which they came: a ring.
class WaitingRoom {
 public:
  WaitingRoom() = default;
  WaitingRoom(std::byte* memory, std::uint64_t blocks, std::size_t block_bytes)
      : memory_(memory), blocks_(blocks), block_bytes_(block_bytes) {}

  /// Blocks for which there is room next to each other.
  [[nodiscard]] std::uint64_t next() const {
    const std::uint64_t behind = first_ + used_;
    return behind < blocks_ ? blocks_ - behind : blocks_ - used_;
  }
  [[nodiscard]] std::uint64_t blocks() const { return blocks_; }
  /// Blocks for which there is room.
  [[nodiscard]] std::uint64_t left() const { return blocks_ - used_; }
  /// Gives as many blocks room, at most next(); returns where it begins.
  std::byte* enter(std::uint64_t count) {
    const std::uint64_t index = (first_ + used_) % blocks_;
    used_ += count;
    return memory_ + index * block_bytes_;
  }
  void leave(std::uint64_t count) {
    used_ -= count;
    first_ = used_ == 0 ? 0 : (first_ + count) % blocks_;
  }

 private:
  std::byte* memory_ = nullptr;
  std::uint64_t blocks_ = 0;
  std::size_t block_bytes_ = 0;
  std::uint64_t first_ = 0;
  std::uint64_t used_ = 0;
};

}  // namespace valet::engine
