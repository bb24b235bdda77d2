// SPDX-License-Identifier: BSD-3-Clause
#include "storage/joined_backend.hpp"

#include "base/memory_reserve.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace valet::storage {

JoinedBackend::JoinedBackend(const BlockStorage& first, const BlockStorage& second)
    : parts_{first, second} {
  if (diagnostic()) return;
  const std::size_t largest = std::max(parts_[0].block_bytes(), parts_[1].block_bytes());
  const std::size_t most =
      parts_[0].backend().reachable_by_host() ? cached_room_bytes : most_room_bytes;
  if (largest == 0 || 2 * largest > most) return;
  chunk_ = most / largest;
  no_room_ = detail::unless_out_of_memory(
      [&] { room_ = parts_[0].backend().allocate_scratch(most); },
      [&] {
        return Diagnostic{ErrorCode::out_of_memory,
                          "no memory for " + std::to_string(most) + " bytes of packed blocks"};
      });
}

std::optional<Diagnostic> JoinedBackend::diagnostic() const {
  for (const BlockStorage& part : parts_)
    if (auto diagnostic = part.backend().diagnostic()) return diagnostic;
  if (parts_[0].slots() != parts_[1].slots())
    return Diagnostic{ErrorCode::field_mismatch,
                      "what moves along has " + std::to_string(parts_[1].slots()) +
                          " slots, the storage " + std::to_string(parts_[0].slots()) +
                          "; give as many"};
  return no_room_;
}

/// Calls action(backend, slots of a chunk, where its part of the first block stands in packed
/// memory, bytes of that part) for both parts of every chunk.
template <class Action>
void JoinedBackend::for_each_chunk(SlotList slots, Action&& action) const {
  const std::size_t packed_bytes = block_bytes();
  for (std::size_t first = 0; first < slots.size(); first += chunk_) {
    const SlotList chunk = slots.subspan(first, std::min(chunk_, slots.size() - first));
    std::size_t offset = first * packed_bytes;
    for (const BlockStorage& part : parts_) {
      action(part.backend(), chunk, offset, part.block_bytes());
      offset += part.block_bytes();
    }
  }
}

void JoinedBackend::gather(SlotList from, std::byte* packed) {
  const std::size_t stride = block_bytes();
  for_each_chunk(from,
                 [&](StorageBackend& part, SlotList chunk, std::size_t at, std::size_t bytes) {
                   if (room_ == nullptr) return part.gather(chunk, packed + at);
                   part.gather(chunk, room_.get());
                   for (std::size_t k = 0; k < chunk.size(); ++k)
                     std::memcpy(packed + at + k * stride, room_.get() + k * bytes, bytes);
                 });
}

void JoinedBackend::scatter(const std::byte* packed, SlotList to) {
  const std::size_t stride = block_bytes();
  for_each_chunk(to, [&](StorageBackend& part, SlotList chunk, std::size_t at, std::size_t bytes) {
    if (room_ == nullptr) return part.scatter(packed + at, chunk);
    for (std::size_t k = 0; k < chunk.size(); ++k)
      std::memcpy(room_.get() + k * bytes, packed + at + k * stride, bytes);
    part.scatter(room_.get(), chunk);
  });
}

void JoinedBackend::copy(SlotList from, SlotList to, std::span<std::byte> scratch) {
  for (const BlockStorage& part : parts_) {
    part.backend().copy(from, to, scratch);
    part.backend().finish_all();  // the next one takes the same scratch
  }
}

}  // namespace valet::storage
