// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/detail/host_fields.hpp>
#include <valet/kokkos/detail/runtime.hpp>
#include <valet/kokkos/detail/view_fields.hpp>

#include <tuple>

namespace valet::kokkos::detail {

/// Views as the core's host fields, behind a fence. Views that the host does not reach are moved by
/// StagedBlocks, and only their numbers are used here.
///
/// @tparam Spaces  std::tuple of the execution spaces whose instances are fenced.
template <class Spaces, class... Views>
class ViewBlocks : public HostFields {
 public:
  explicit ViewBlocks(const Spaces& spaces, const Views&... views)
      : HostFields(fields_of(views...)), spaces_(spaces), views_(views...) {}

  [[nodiscard]] std::optional<Diagnostic> diagnostic() const override {
    if (auto diagnostic = runtime_diagnostic()) return diagnostic;
    return HostFields::diagnostic();
  }
  /// Waits for the kernels that may still write the Views.
  void synchronize() override {
    std::apply([](const auto&... spaces) { (fence(spaces), ...); }, spaces_);
  }
  void begin_stage(const char* name) override { push_region(name); }
  void end_stage() override { pop_region(); }

 private:
  Spaces spaces_;
  std::tuple<Views...> views_;  // keep the memory alive
};

}  // namespace valet::kokkos::detail
