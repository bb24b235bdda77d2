// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/block_storage.hpp>

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>

namespace valet::storage {

/// Two storages of the same slots as one: so fields move along with blocks that only their own
/// backend knows how to touch. A packed block is that of the first, then that of the second.
///
/// Each packs for itself into memory of its own, a few blocks at a time, from where their parts are
/// copied to their places; blocks that are large are packed in place one by one.
class VALET_EXPORT JoinedBackend final : public StorageBackend {
 public:
  /// Memory that it takes beside both, at most; what a first one needs whose memory the host does
  /// not reach, and what stays in the first-level cache.
  static constexpr std::size_t most_room_bytes = std::size_t{64} << 10;
  static constexpr std::size_t cached_room_bytes = std::size_t{8} << 10;

  /// Never throws for storages that cannot be used: diagnostic() says so.
  /// @param first   Any.
  /// @param second  Has as many slots, in memory of the host.
  JoinedBackend(const BlockStorage& first, const BlockStorage& second);

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
  [[nodiscard]] std::optional<Diagnostic> diagnostic() const override;
  void synchronize() override {
    for (const BlockStorage& part : parts_) part.backend().synchronize();
  }
  void begin_stage(const char* name) override {
    for (const BlockStorage& part : parts_) part.backend().begin_stage(name);
  }
  void end_stage() override {
    for (const BlockStorage& part : parts_) part.backend().end_stage();
  }
  void gather(SlotList from, std::byte* packed) override;
  void scatter(const std::byte* packed, SlotList to) override;
  void copy(SlotList from, SlotList to, std::span<std::byte> scratch) override;
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
  template <class Action>
  void for_each_chunk(SlotList slots, Action&& action) const;

  std::array<BlockStorage, 2> parts_;
  std::size_t chunk_ = 1;            ///< blocks that are packed together
  std::shared_ptr<std::byte> room_;  ///< for the packed parts of a chunk; null for single blocks
  std::optional<Diagnostic> no_room_;
};

}  // namespace valet::storage
