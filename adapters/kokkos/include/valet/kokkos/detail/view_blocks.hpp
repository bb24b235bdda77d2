// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/detail/host_fields.hpp>
#include <valet/kokkos/detail/dual_views.hpp>
#include <valet/kokkos/detail/runtime.hpp>
#include <valet/kokkos/detail/view_fields.hpp>

#include <optional>
#include <string>
#include <tuple>

namespace valet::kokkos::detail {

/// Views as host fields of the core, with a fence. Views that the host cannot access are moved by
/// StagedBlocks, which only uses their numbers from here.
///
/// @tparam Spaces  std::tuple of the execution spaces whose instances are fenced.
/// @tparam Queue   As sync_device_sides() has it.
/// @tparam Given   Views and DualViews, of which copies are kept, and references to them.
template <class Spaces, class Queue, class... Given>
class ViewBlocks : public HostFields {
 public:
  ViewBlocks(const Spaces& spaces, const Queue& queue, const Given&... given)
      : HostFields(fields_of(given...)), spaces_(spaces), queue_(queue), given_(given...) {}

  [[nodiscard]] std::optional<Diagnostic> diagnostic() const override {
    if (auto diagnostic = runtime_diagnostic()) return diagnostic;
    if (auto diagnostic = HostFields::diagnostic()) return diagnostic;
    std::optional<Diagnostic> left;
    std::apply([&left](const auto&... given) { (look_whether_left(given, left), ...); }, given_);
    return left ? left : dual_diagnostic(given_);
  }
  /// Waits for kernels that may still write the Views, and for copies from the other sides.
  void synchronize() override {
    sync_device_sides(queue_, given_);
    mark_device_sides(given_);
    std::apply([](const auto&... spaces) { (fence(spaces), ...); }, spaces_);
  }
  void begin_stage(const char* name) override { push_region(name); }
  void end_stage() override { pop_region(); }

 private:
  /// Kokkos::resize() gives the application another allocation, and this one is then held here
  /// alone.
  template <class View>
  static void look_whether_left(const View& view, std::optional<Diagnostic>& left) {
    if constexpr (requires { object_of(view).is_current(); })
      if (!left && !object_of(view).is_current())
        left = Diagnostic{ErrorCode::invalid_argument,
                          "View '" + label_of(view) +
                              "' does not have the rows that it had when it was copied; make the "
                              "storage after resize(), or once and for all of valet::ref(view) of "
                              "the View that is resized"};
    if constexpr (!is_reference<View> && !is_dual_view<View>)
      if (!left && view.use_count() == 1)
        left =
            Diagnostic{ErrorCode::invalid_argument,
                       "View '" + std::string(view.label()) +
                           "' is held by its storage alone, so the application has resized it or "
                           "let it go since; make the storage after that, or once and for all of "
                           "valet::ref(view)"};
  }

  Spaces spaces_;
  Queue queue_;
  std::tuple<Given...> given_;  // keep the memory alive
};

}  // namespace valet::kokkos::detail
