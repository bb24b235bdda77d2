// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/block_storage.hpp>
#include <valet/storage_backend.hpp>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace valet {

/// Blocks with fields in host memory: contiguous or strided rows, any number of fields.
class VALET_EXPORT HostFields : public StorageBackend {
 public:
  explicit HostFields(std::span<const Field> fields);
  /// Represents blocks that cannot be used; every collective call reports why.
  explicit HostFields(Diagnostic diagnostic) : diagnostic_(std::move(diagnostic)) {}

  [[nodiscard]] std::uint64_t slots() const override { return slots_; }
  [[nodiscard]] std::size_t block_bytes() const override { return block_bytes_; }
  void refresh() override { static_cast<void>(describe_again()); }
  void visit_fields(const std::function<void(const BlockField&)>& visit) const override;
  [[nodiscard]] std::optional<Diagnostic> diagnostic() const override { return diagnostic_; }
  [[nodiscard]] bool may_throw() const override { return false; }
  void gather(SlotList from, std::byte* packed) override;
  void start_gather(SlotList from, std::byte* packed) override;
  void scatter(const std::byte* packed, SlotList to) override;
  void copy(SlotList from, SlotList to, std::span<std::byte> scratch) override;
  [[nodiscard]] std::byte* contiguous_data() const override { return dense_; }
  [[nodiscard]] bool reachable_by_mpi() const override { return true; }
  [[nodiscard]] std::size_t pieces_per_block() const override;
  void pieces(std::uint64_t slot, Vector<MemoryPiece>& list) const override;
  void visit_rows(
      const std::function<void(std::byte*, std::ptrdiff_t, std::size_t)>& visit) const override;

 protected:
  /// A row in which adjacent dimensions that are contiguous in memory have been merged: contiguous
  /// pieces of piece_bytes at every combination of the remaining dimensions.
  struct Row {
    std::byte* base = nullptr;
    std::ptrdiff_t slot_stride_bytes = 0;
    std::size_t piece_bytes = 0;
    std::vector<FieldDimension> dimensions;
    std::size_t row_bytes = 0;
    std::size_t packed_offset = 0;
    std::string label;
    std::vector<std::uint64_t> extents;  ///< as of BlockField
    FieldTiles tiles;

    /// The first piece of the row of a slot.
    [[nodiscard]] std::byte* start(std::uint64_t slot) const;
  };

  /// refresh(). @return Whether an array lies or extends otherwise than before.
  bool describe_again() noexcept;
  /// One for each field; none where diagnostic() says why, or the fields were never allocated.
  [[nodiscard]] std::span<const Row> rows() const { return rows_; }

 private:
  void describe(std::span<const Field> fields);
  void refuse_without_memory();
  void append_row(const Field& field);
  void write_run(std::byte* to, const std::byte* from, std::size_t bytes) const;
  template <class Action>
  static void for_each_piece(const Row& row, Action&& action);
  template <class Action, class... Lists>
  void for_each_rows(std::size_t count, Action&& action, Lists... lists) const;
  void gather_batch(SlotList slots, std::size_t count, std::byte* packed) const;
  void gather_streaming(SlotList slots, std::byte* packed) const;

  std::uint64_t slots_ = 0;
  std::size_t block_bytes_ = 0;
  std::byte* dense_ = nullptr;
  std::vector<Row> rows_;
  std::vector<Field> given_;
  std::optional<Diagnostic> diagnostic_;
};

}  // namespace valet
