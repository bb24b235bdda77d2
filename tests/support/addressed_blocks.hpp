// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Blocks whose value is the address they started at, in storages of several shapes.

#include "fake_device.hpp"
#include <valet/valet.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace valet::test {

enum class Shape {
  dense,       ///< one contiguous field
  structure,   ///< structure of arrays: fields of 8, 24 and 4 bytes
  strided,     ///< rows with padding behind them
  dimensions,  ///< rows whose elements are far apart, as in column-major arrays
  tiles,       ///< two members of arrays of structures of arrays, with three slots to a tile
  segments,    ///< rows in arrays of one, two, three slots and so on, the last ones first
  pointers,    ///< a pointer for each slot, the last one first
  device,      ///< memory that the host does not reach, moved by functions of the test
};

/// Those in memory of the host.
constexpr Shape all_shapes[] = {Shape::dense, Shape::structure, Shape::strided, Shape::dimensions,
                                Shape::tiles, Shape::segments,  Shape::pointers};
constexpr std::size_t last_shape = std::size(all_shapes) - 1;

/// Writes the value of a block. Every byte depends on its address, so a block that is mixed from
/// two others is found.
inline void write_block(std::byte* to, std::size_t bytes, const Address& origin) {
  std::uint64_t state = static_cast<std::uint64_t>(origin.rank) * 1'000'003 + origin.slot + 1;
  for (std::size_t k = 0; k < bytes; ++k) {
    state = state * 6'364'136'223'846'793'005ULL + 1'442'695'040'888'963'407ULL;
    to[k] = static_cast<std::byte>(state >> 56);
  }
}

/// The memory of one rank.
class AddressedBlocks {
 public:
  /// @param node  They are in memory that ranks of a node share.
  AddressedBlocks(Shape shape, std::uint64_t slots, std::size_t dense_bytes = 40, bool node = false)
      : shape_(shape), slots_(slots), dense_bytes_(dense_bytes) {
    std::size_t bytes = 0;
    switch (shape) {
      case Shape::dense: bytes = dense_bytes; break;
      case Shape::structure: bytes = 8 + 24 + 4; break;
      case Shape::strided: bytes = 32; break;
      case Shape::dimensions: bytes = 2 * 3 * 8; break;
      case Shape::tiles:
      case Shape::segments:
      case Shape::pointers: bytes = 48; break;
      case Shape::device: device_ = std::make_unique<FakeDevice>(slots, dense_bytes); return;
    }
    // Never null, also without slots; tiles are there whole.
    bytes = (slots + slots_per_tile - 1) / slots_per_tile * slots_per_tile * bytes + 8;
    if (node)
      node_ = node_array<std::byte>(MPI_COMM_SELF, bytes);
    else
      memory_.assign(bytes, std::byte{0xEE});
  }

  /// The same in every call, so that its tables are made once.
  [[nodiscard]] BlockStorage storage() {
    if (!storage_) storage_.emplace(make_storage());
    return *storage_;
  }

  void write(std::uint64_t slot, const Address& origin) {
    const auto block = value(origin);
    if (device_) return device_->write(slot, block.data());
    const auto index = static_cast<SlotIndex>(slot);
    storage().backend().scatter(block.data(), {&index, 1});
  }

  [[nodiscard]] bool holds(std::uint64_t slot, const Address& origin) {
    std::vector<std::byte> block(block_bytes());
    if (device_) {
      device_->read(slot, block.data());
      return block == value(origin);
    }
    const auto index = static_cast<SlotIndex>(slot);
    storage().backend().gather({&index, 1}, block.data());
    return block == value(origin);
  }

  /// Where it is not of the node.
  [[nodiscard]] const std::vector<std::byte>& memory() const { return memory_; }
  /// The first byte of it where it is.
  [[nodiscard]] const std::byte* node_memory() const { return node_.data(); }
  /// Null where the host reaches the blocks.
  [[nodiscard]] FakeDevice* device() const { return device_.get(); }

 private:
  static constexpr std::uint64_t slots_per_tile = 3;

  [[nodiscard]] BlockStorage make_storage() {
    std::byte* const base = node_.empty() ? memory_.data() : node_.data();
    switch (shape_) {
      case Shape::dense: return {field(base, slots_, dense_bytes_, "dense")};
      case Shape::structure:
        return {field(reinterpret_cast<double*>(base), slots_, 1, "scalar"),
                field(reinterpret_cast<double*>(base + 8 * slots_), slots_, 3, "vector"),
                field(reinterpret_cast<float*>(base + 32 * slots_), slots_, 1, "single")};
      case Shape::strided: return {strided_field(base, slots_, 20, 32, "padded")};
      case Shape::dimensions: break;
      case Shape::tiles: return tiles(base);
      case Shape::segments: return {segments(base)};
      case Shape::pointers:
        pointers_.resize(slots_);
        for (std::uint64_t slot = 0; slot < slots_; ++slot)
          pointers_[slot] = reinterpret_cast<double*>(base) + 6 * (slots_ - 1 - slot);
        return {pointed_field(std::span<double* const>(pointers_), 5, "pointers")};
      case Shape::device: return device_->storage();
    }
    return {columns(base)};
  }

  [[nodiscard]] Field columns(std::byte* base) const {
    Field columns = strided_field(base, slots_, 8, 8, "columns");
    const auto column = static_cast<std::ptrdiff_t>(8 * slots_);
    columns.dimensions[0] = {2, 3 * column};
    columns.dimensions[1] = {3, column};
    columns.dimension_count = 2;
    return columns;
  }
  [[nodiscard]] BlockStorage tiles(std::byte* base) const {
    constexpr auto in_tile = static_cast<std::ptrdiff_t>(slots_per_tile);
    Field vectors = strided_field(base, slots_, 8, 8, "vectors");
    vectors.dimensions[0] = {4, 8 * in_tile};
    vectors.dimension_count = 1;
    const Field scalars = strided_field(base + 32 * in_tile, slots_, 4, 4, "scalars");
    return {in_tiles(vectors, slots_per_tile, 48 * in_tile),
            in_tiles(scalars, slots_per_tile, 48 * in_tile)};
  }
  [[nodiscard]] Field segments(std::byte* base) const {
    std::vector<void*> starts;
    std::vector<std::uint64_t> counts;
    for (std::uint64_t slot = 0, next = 1; slot < slots_; slot += counts.back(), ++next) {
      counts.push_back(std::min(next, slots_ - slot));
      starts.push_back(base + 48 * (slots_ - slot - counts.back()));
    }
    return in_segments(strided_field(base, 0, 40, 48, "segments"), starts, counts);
  }
  [[nodiscard]] std::size_t block_bytes() {
    return device_ ? dense_bytes_ : storage().block_bytes();
  }
  std::vector<std::byte> value(const Address& origin) {
    std::vector<std::byte> block(block_bytes());
    write_block(block.data(), block.size(), origin);
    return block;
  }

  Shape shape_;
  std::uint64_t slots_;
  std::size_t dense_bytes_;
  std::vector<std::byte> memory_;
  NodeArray<std::byte> node_;
  std::vector<double*> pointers_;
  std::unique_ptr<FakeDevice> device_;
  std::optional<BlockStorage> storage_;  ///< goes before what it is in
};

}  // namespace valet::test
