// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/detail/first_failure.hpp>
#include <valet/storage/block_mover.hpp>

#include <memory>
#include <optional>

namespace valet {

/// A storage that may throw, made one that does not: passes everything on until the storage throws,
/// and from then on moves nothing. So an exchange runs to its end on all ranks, with blocks of any
/// content, and the error is told there. What is asked for addresses is passed on unchanged. Local.
class GuardedMover final : public BlockMover {
 public:
  /// @param mover  Must outlive this.
  explicit GuardedMover(BlockMover& mover) : mover_(mover) {}

  /// What it threw, if it did, with a text that ends with `consequence`.
  [[nodiscard]] std::optional<Defect> failure(const char* consequence) const {
    return failure_.defect(consequence);
  }

  [[nodiscard]] std::uint64_t slots() const override { return mover_.slots(); }
  [[nodiscard]] std::size_t block_bytes() const override { return mover_.block_bytes(); }
  [[nodiscard]] std::optional<Defect> defect() const override { return mover_.defect(); }
  [[nodiscard]] bool may_throw() const override { return false; }

  void synchronize() override { mover_.synchronize(); }
  void begin_stage(const char* name) override { mover_.begin_stage(name); }
  void end_stage() override { mover_.end_stage(); }

  void gather(SlotList from, std::byte* packed) override;
  void scatter(const std::byte* packed, SlotList to) override;
  void copy(SlotList from, SlotList to, std::span<std::byte> scratch) override;

  [[nodiscard]] std::byte* dense() const override { return mover_.dense(); }
  [[nodiscard]] bool reachable_by_mpi() const override { return mover_.reachable_by_mpi(); }
  [[nodiscard]] std::size_t pieces_per_block() const override { return mover_.pieces_per_block(); }
  /// Appends nothing where the storage fails: the message is then shorter than its receiver allows.
  void pieces(std::uint64_t slot, Vector<MemoryPiece>& list) const override;

  [[nodiscard]] std::shared_ptr<std::byte> allocate_scratch(std::size_t bytes) const override {
    return mover_.allocate_scratch(bytes);
  }

 private:
  BlockMover& mover_;
  mutable detail::FirstFailure failure_;  // pieces() is const
};

}  // namespace valet
