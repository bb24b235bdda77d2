// SPDX-License-Identifier: BSD-3-Clause
#include "storage/joined_backend.hpp"

#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>

namespace valet::storage {
namespace {

/// Each storage packs for itself into memory of this one, a few blocks at a time, from where their
/// parts are copied to their places; blocks that are large are packed in place one by one.
class JoinedBackend final : public StorageBackend {
 public:
  JoinedBackend(const BlockStorage& first, const BlockStorage& second) : parts_{first, second} {
    if (diagnostic()) return;
    const std::size_t largest = std::max(parts_[0].block_bytes(), parts_[1].block_bytes());
    const std::size_t most =
        parts_[0].backend().reachable_by_host() ? cached_room_bytes : most_room_bytes;
    if (largest == 0 || 2 * largest > most) return;
    chunk_ = most / largest;
    no_room_ =
        detail::unless_out_of_memory([&] { room_ = parts_[0].backend().allocate_scratch(most); },
                                     "no memory for ", most, " bytes of packed blocks");
  }

  void refresh() override {
    for (const BlockStorage& part : parts_) part.backend().refresh();
  }
  [[nodiscard]] std::uint64_t slots() const override { return parts_[0].slots(); }
  [[nodiscard]] std::size_t block_bytes() const override {
    const std::array bytes{parts_[0].block_bytes(), parts_[1].block_bytes()};
    return bytes[0] == 0 || bytes[1] == 0 ? 0 : bytes[0] + bytes[1];
  }
  void visit_fields(const std::function<void(const BlockField&)>& visit) const override {
    for (const BlockStorage& part : parts_) part.backend().visit_fields(visit);
  }
  [[nodiscard]] std::optional<Diagnostic> diagnostic() const override {
    for (const BlockStorage& part : parts_)
      if (auto diagnostic = part.backend().diagnostic()) return diagnostic;
    if (parts_[0].slots() != parts_[1].slots())
      return diagnose(ErrorCode::field_mismatch, "what moves along has ", parts_[1].slots(),
                      " slots, the storage ", parts_[0].slots(), "; give as many");
    return no_room_;
  }
  void synchronize() override {
    for (const BlockStorage& part : parts_) part.backend().synchronize();
  }
  void begin_stage(const char* name) override {
    for (const BlockStorage& part : parts_) part.backend().begin_stage(name);
  }
  void end_stage() override {
    for (const BlockStorage& part : parts_) part.backend().end_stage();
  }
  void gather(SlotList from, std::byte* packed) override {
    const std::size_t stride = block_bytes();
    for_each_chunk(from,
                   [&](StorageBackend& part, SlotList chunk, std::size_t at, std::size_t bytes) {
                     if (room_ == nullptr) return part.gather(chunk, packed + at);
                     part.gather(chunk, room_.get());
                     for (std::size_t k = 0; k < chunk.size(); ++k)
                       std::memcpy(packed + at + k * stride, room_.get() + k * bytes, bytes);
                   });
  }
  void scatter(const std::byte* packed, SlotList to) override {
    const std::size_t stride = block_bytes();
    for_each_chunk(to,
                   [&](StorageBackend& part, SlotList chunk, std::size_t at, std::size_t bytes) {
                     if (room_ == nullptr) return part.scatter(packed + at, chunk);
                     for (std::size_t k = 0; k < chunk.size(); ++k)
                       std::memcpy(room_.get() + k * bytes, packed + at + k * stride, bytes);
                     part.scatter(room_.get(), chunk);
                   });
  }
  void copy(SlotList from, SlotList to, std::span<std::byte> scratch) override {
    for (const BlockStorage& part : parts_) {
      part.backend().copy(from, to, scratch);
      part.backend().finish_all();  // the next one takes the same scratch
    }
  }
  [[nodiscard]] bool may_throw() const override {
    return parts_[0].backend().may_throw() || parts_[1].backend().may_throw();
  }
  [[nodiscard]] bool reachable_by_mpi() const override {
    return parts_[0].backend().reachable_by_mpi() && parts_[1].backend().reachable_by_mpi();
  }
  [[nodiscard]] bool reachable_by_host() const override {
    return parts_[0].backend().reachable_by_host() && parts_[1].backend().reachable_by_host();
  }
  [[nodiscard]] std::size_t pieces_per_block() const override {
    return parts_[0].backend().pieces_per_block() + parts_[1].backend().pieces_per_block();
  }
  void pieces(std::uint64_t slot, Vector<MemoryPiece>& list) const override {
    for (const BlockStorage& part : parts_) part.backend().pieces(slot, list);
  }
  [[nodiscard]] std::shared_ptr<std::byte> allocate_scratch(std::size_t bytes) const override {
    return parts_[0].backend().allocate_scratch(bytes);
  }

 private:
  /// Memory that it takes beside both, at most; what a first one needs whose memory the host does
  /// not reach, and what stays in the first-level cache.
  static constexpr std::size_t most_room_bytes = std::size_t{64} << 10;
  static constexpr std::size_t cached_room_bytes = std::size_t{8} << 10;

  /// Calls action(backend, slots of a chunk, where its part of the first block stands in packed
  /// memory, bytes of that part) for both parts of every chunk.
  template <class Action>
  void for_each_chunk(SlotList slots, Action&& action) const {
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

  std::array<BlockStorage, 2> parts_;
  std::size_t chunk_ = 1;            ///< blocks that are packed together
  std::shared_ptr<std::byte> room_;  ///< for the packed parts of a chunk; null for single blocks
  std::optional<Diagnostic> no_room_;
};

}  // namespace

BlockStorage joined(const BlockStorage& first, const BlockStorage& second) {
  const BlockStorage result(std::make_shared<JoinedBackend>(first, second));
  if (!first.grows()) return result;
  return result.growing([first, second](std::uint64_t slots) {
    if (first.slots() < slots) first.grow(slots);
    if (second.grows() && second.slots() < slots) second.grow(slots);
    return joined(first, second);
  });
}

}  // namespace valet::storage
