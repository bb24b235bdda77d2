// SPDX-License-Identifier: BSD-3-Clause
#include <valet/storage/block_storage.hpp>

#include <valet/storage/host_fields.hpp>

#include <new>
#include <utility>

namespace valet {

void* BlockMover::allocate_scratch(std::size_t bytes) { return ::operator new(bytes); }

void BlockMover::free_scratch(void* memory, std::size_t) noexcept { ::operator delete(memory); }

Field strided_field(void* data, std::uint64_t slots, std::size_t row_bytes,
                    std::ptrdiff_t slot_stride_bytes, std::string label) {
  Field result;
  result.data = data;
  result.slots = slots;
  result.element_bytes = row_bytes;
  result.slot_stride_bytes = slot_stride_bytes;
  result.label = std::move(label);
  return result;
}

BlockStorage::BlockStorage(std::initializer_list<Field> fields)
    : BlockStorage(std::span<const Field>(fields.begin(), fields.size())) {}

BlockStorage::BlockStorage(std::span<const Field> fields)
    : mover_(std::make_shared<HostFields>(fields)) {}

BlockStorage::BlockStorage(std::shared_ptr<BlockMover> mover) : mover_(std::move(mover)) {}

}  // namespace valet
