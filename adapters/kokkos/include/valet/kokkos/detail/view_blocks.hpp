// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/detail/host_fields.hpp>
#include <valet/kokkos/detail/dual_views.hpp>
#include <valet/kokkos/detail/runtime.hpp>
#include <valet/kokkos/detail/view_fields.hpp>

#include <memory>
#include <tuple>
#include <utility>

namespace valet::kokkos::detail {

/// Views as host fields of the core, with a fence. Views that the host cannot access are moved by
/// StagedBlocks, which only uses their numbers from here.
///
/// @tparam Spaces  std::tuple of the execution spaces whose instances are fenced.
template <class Spaces, class... Views>
class ViewBlocks : public HostFields {
 public:
  explicit ViewBlocks(const Spaces& spaces, const Views&... views)
      : HostFields(fields_of(views...)), spaces_(spaces), views_(views...) {}

  /// Declares that some or all of the Views are the device sides of these DualViews.
  void are_sides_of(std::unique_ptr<DualSides> duals) { duals_ = std::move(duals); }

  [[nodiscard]] std::optional<Diagnostic> diagnostic() const override {
    if (auto diagnostic = runtime_diagnostic()) return diagnostic;
    if (auto diagnostic = HostFields::diagnostic()) return diagnostic;
    return duals_ ? duals_->diagnostic() : std::nullopt;
  }
  /// Waits for kernels that may still write the Views, and for copies from the other sides.
  void synchronize() override {
    if (duals_) {
      duals_->sync_device_sides();
      duals_->mark_device_sides();
    }
    std::apply([](const auto&... spaces) { (fence(spaces), ...); }, spaces_);
  }
  void begin_stage(const char* name) override { push_region(name); }
  void end_stage() override { pop_region(); }

 private:
  Spaces spaces_;
  std::tuple<Views...> views_;  // keep the memory alive
  std::unique_ptr<DualSides> duals_;
};

}  // namespace valet::kokkos::detail
