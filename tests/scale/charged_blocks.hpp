// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/storage_backend.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace valet::scale {

/// Lets simulated time pass: `bytes` are copied from memory to memory.
/// @param bandwidth  Bytes a second; what is read counts, not what is written besides.
void charge_copy(std::uint64_t bytes, double bandwidth);

/// Lets simulated time pass until MPI_Wtime() is `time`.
void wait_until(double time);

/// Slots in contiguous FoldedMemory: of a block only its identity is copied, and what a copy of the
/// whole block takes is charged.
class ChargedBlocks final : public StorageBackend {
 public:
  /// @param copy_bandwidth  As charge_copy() has it.
  ChargedBlocks(std::uint64_t slots, std::size_t block_bytes, double copy_bandwidth);

  [[nodiscard]] std::uint64_t identity(std::uint64_t slot) const;
  void set_identity(std::uint64_t slot, std::uint64_t identity);
  /// Seconds of simulated time that copies have taken.
  [[nodiscard]] double copy_seconds() const { return copy_seconds_; }

  [[nodiscard]] std::uint64_t slots() const override { return slots_; }
  [[nodiscard]] std::size_t block_bytes() const override { return block_bytes_; }
  void gather(SlotList from, std::byte* packed) override;
  void scatter(const std::byte* packed, SlotList to) override;
  void copy(SlotList from, SlotList to, std::span<std::byte> scratch) override;
  [[nodiscard]] bool may_throw() const override { return false; }
  [[nodiscard]] std::byte* contiguous_data() const override { return data_; }
  [[nodiscard]] bool reachable_by_mpi() const override { return true; }
  void pieces(std::uint64_t slot, Vector<MemoryPiece>& list) const override;
  [[nodiscard]] std::shared_ptr<std::byte> allocate_scratch(std::size_t bytes) const override;

 private:
  [[nodiscard]] std::byte* block(std::uint64_t slot) const { return data_ + slot * block_bytes_; }
  void charge(std::uint64_t blocks);

  std::uint64_t slots_;
  std::size_t block_bytes_;
  double copy_bandwidth_;
  double copy_seconds_ = 0;
  std::byte* data_;
};

}  // namespace valet::scale
