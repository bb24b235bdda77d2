// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Blocks whose value is the address they started at, in storages of several shapes.

#include "fake_device.hpp"
#include <valet/valet.hpp>

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

namespace valet::test {

enum class Shape {
  dense,       ///< one contiguous field
  structure,   ///< structure of arrays: fields of 8, 24 and 4 bytes
  strided,     ///< rows with padding behind them
  dimensions,  ///< rows whose elements are far apart, as in column-major arrays
  device,      ///< memory that the host does not reach, moved by functions of the test
};

/// Those in memory of the host.
constexpr Shape all_shapes[] = {Shape::dense, Shape::structure, Shape::strided, Shape::dimensions};

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
      case Shape::device: device_ = std::make_unique<FakeDevice>(slots, dense_bytes); return;
    }
    bytes = slots * bytes + 8;  // never null, also without slots
    if (node)
      node_ = node_array<std::byte>(MPI_COMM_SELF, bytes);
    else
      memory_.assign(bytes, std::byte{0xEE});
  }

  [[nodiscard]] BlockStorage storage() {
    std::byte* const base = node_.empty() ? memory_.data() : node_.data();
    switch (shape_) {
      case Shape::dense: return {field(base, slots_, dense_bytes_, "dense")};
      case Shape::structure:
        return {field(reinterpret_cast<double*>(base), slots_, 1, "scalar"),
                field(reinterpret_cast<double*>(base + 8 * slots_), slots_, 3, "vector"),
                field(reinterpret_cast<float*>(base + 32 * slots_), slots_, 1, "single")};
      case Shape::strided: return {strided_field(base, slots_, 20, 32, "padded")};
      case Shape::dimensions: break;
      case Shape::device: return device_->storage();
    }
    Field columns;
    columns.data = base;
    columns.slots = slots_;
    columns.slot_stride_bytes = 8;
    columns.element_bytes = 8;
    const auto column = static_cast<std::ptrdiff_t>(8 * slots_);
    columns.dimensions[0] = {2, 3 * column};
    columns.dimensions[1] = {3, column};
    columns.dimension_count = 2;
    columns.label = "columns";
    return {columns};
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
  std::unique_ptr<FakeDevice> device_;
};

}  // namespace valet::test
