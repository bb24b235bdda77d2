// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/custom_storage.hpp>
#include <valet/storage_backend.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace valet::storage {

/// The functions of an application as a storage: lists of slots are cut to pieces of a size that is
/// fixed, and brought to where the functions can read them.
class CustomBackend final : public StorageBackend {
 public:
  /// Never throws for functions that cannot be used: diagnostic() says so.
  CustomBackend(std::uint64_t slots, std::size_t block_bytes, CustomFunctions functions);

  [[nodiscard]] std::uint64_t slots() const override { return slots_; }
  [[nodiscard]] std::size_t block_bytes() const override { return block_bytes_; }
  [[nodiscard]] std::optional<Diagnostic> diagnostic() const override { return diagnostic_; }
  void synchronize() override;
  void gather(SlotList from, std::byte* packed) override;
  void scatter(const std::byte* packed, SlotList to) override;
  void copy(SlotList from, SlotList to, std::span<std::byte> scratch) override;
  [[nodiscard]] bool reachable_by_mpi() const override { return mpi_data() != nullptr; }
  [[nodiscard]] bool reachable_by_host() const override { return false; }
  [[nodiscard]] std::byte* contiguous_data() const override { return mpi_data(); }
  void pieces(std::uint64_t slot, Vector<MemoryPiece>& list) const override {
    list.push_back({mpi_data() + slot * block_bytes_, block_bytes_});
  }
  [[nodiscard]] std::shared_ptr<std::byte> allocate_scratch(std::size_t bytes) const override;

 private:
  [[nodiscard]] std::optional<Diagnostic> check() const;
  [[nodiscard]] std::optional<Diagnostic> allocate_lists();
  [[nodiscard]] std::byte* mpi_data() const {
    return static_cast<std::byte*>(functions_->mpi_data);
  }
  SlotSpan listed(SlotList slots, std::size_t place) const;

  std::uint64_t slots_;
  std::size_t block_bytes_;
  std::shared_ptr<const CustomFunctions> functions_;  ///< scratch may outlive this
  std::shared_ptr<std::byte> lists_;                  ///< for custom_most_slots slots
  std::optional<Diagnostic> diagnostic_;
};

}  // namespace valet::storage
