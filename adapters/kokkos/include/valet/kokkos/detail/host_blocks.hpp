// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/detail/host_fields.hpp>
#include <valet/kokkos/detail/runtime.hpp>
#include <valet/kokkos/detail/view_fields.hpp>

#include <tuple>

namespace valet::kokkos::detail {

/// Views that the host reaches: the core's host fields, behind a fence.
///
/// @tparam Spaces  std::tuple of the execution spaces whose instances are fenced.
template <class Spaces, class... Views>
class HostBlocks final : public StorageBackend {
 public:
  explicit HostBlocks(const Spaces& spaces, const Views&... views)
      : spaces_(spaces), views_(views...), fields_(fields_of(views...)) {}

  [[nodiscard]] std::uint64_t slots() const override { return fields_.slots(); }
  [[nodiscard]] std::size_t block_bytes() const override { return fields_.block_bytes(); }

  [[nodiscard]] std::optional<Diagnostic> diagnostic() const override {
    if (auto diagnostic = runtime_diagnostic()) return diagnostic;
    return fields_.diagnostic();
  }
  /// Waits for the kernels that may still write the Views.
  void synchronize() override {
    std::apply([](const auto&... spaces) { (fence(spaces), ...); }, spaces_);
  }

  [[nodiscard]] bool may_throw() const override { return false; }
  void begin_stage(const char* name) override { push_region(name); }
  void end_stage() override { pop_region(); }

  void gather(SlotList from, std::byte* packed) override { fields_.gather(from, packed); }
  void scatter(const std::byte* packed, SlotList to) override { fields_.scatter(packed, to); }
  void copy(SlotList from, SlotList to, std::span<std::byte> scratch) override {
    fields_.copy(from, to, scratch);
  }
  [[nodiscard]] std::byte* contiguous_data() const override { return fields_.contiguous_data(); }
  [[nodiscard]] bool reachable_by_mpi() const override { return true; }
  [[nodiscard]] std::size_t pieces_per_block() const override { return fields_.pieces_per_block(); }
  void pieces(std::uint64_t slot, Vector<MemoryPiece>& list) const override {
    fields_.pieces(slot, list);
  }

 private:
  Spaces spaces_;
  std::tuple<Views...> views_;  // keep the memory alive
  HostFields fields_;
};

}  // namespace valet::kokkos::detail
