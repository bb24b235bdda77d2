// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Kokkos Views and DualViews as columns.

#include <valet/columns.hpp>
#include <valet/kokkos/detail/dual_views.hpp>
#include <valet/kokkos/detail/runtime.hpp>
#include <valet/kokkos/detail/view_fields.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>

namespace valet::kokkos::detail {

template <class T>
constexpr bool is_column_view = Kokkos::is_view<ViewOf<T>>::value || is_dual_view<T>;

/// Rejects at compile time Views that a Rebalancer would read where they were.
template <class... Views>
consteval bool are_references() {
  static_assert(
      (is_reference<Views> && ...),
      "Valet: give the Rebalancer valet::ref(view), so that it reads the View as it is at "
      "each partition, after Kokkos::resize() too");
  return true;
}

template <class View>
constexpr void check_column_view() {
  static_assert(Kokkos::is_view<View>::value, "Valet: coordinates and weights are Kokkos Views");
  if constexpr (Kokkos::is_view<View>::value) {
    constexpr std::size_t rank = View::rank;
    static_assert(rank == 1 || rank == 2,
                  "Valet: coordinates are one View of rank 2 (slots x components) or one View of "
                  "rank 1 for each component, weights a View of rank 1");
    static_assert(std::is_arithmetic_v<typename View::value_type>,
                  "Valet: the values of coordinates and weights must be numbers");
    static_assert(is_strided_layout<typename View::array_layout>,
                  "Valet: the layout of a View must be LayoutRight, LayoutLeft or LayoutStride");
  }
}

inline void refuse(Columns& columns, ErrorCode code, const std::string& label,
                   const std::string& text) {
  if (!columns.diagnostic) columns.diagnostic = Diagnostic{code, "View '" + label + "' " + text};
}

/// Appends the components of one View.
template <class View>
void append_columns(Columns& columns, const View& view) {
  using Value = typename View::non_const_value_type;
  constexpr std::size_t rank = View::rank;
  const std::size_t components = rank == 1 ? 1 : view.extent(1);
  if (columns.size + components > Columns::most || components == 0)
    return refuse(columns, ErrorCode::invalid_argument, view.label(),
                  "brings the components to " + std::to_string(columns.size + components) +
                      "; coordinates have 1 to 3, weights 1");
  if (columns.size > 0 && view.extent(0) != columns.slots)
    return refuse(columns, ErrorCode::field_mismatch, view.label(),
                  "has " + std::to_string(view.extent(0)) + " slots, another component has " +
                      std::to_string(columns.slots));
  if (view.data() == nullptr && view.extent(0) > 0)
    return refuse(columns, ErrorCode::inaccessible_memory, view.label(),
                  "has no memory; allocate it first");
  columns.slots = view.extent(0);
  std::ptrdiff_t distance = 0;
  if constexpr (rank == 2) distance = static_cast<std::ptrdiff_t>(view.stride(1));
  for (std::size_t c = 0; c < components; ++c)
    columns.column[columns.size++] =
        column(static_cast<const Value*>(view.data()) + static_cast<std::ptrdiff_t>(c) * distance,
               static_cast<std::ptrdiff_t>(view.stride(0) * sizeof(Value)));
}

/// Whether kernels read the numbers: the host cannot, or pages would migrate to it.
template <class View>
constexpr bool is_read_by_kernels =
    !is_host_accessible<View> || prefers_kernels<typename View::execution_space, View>;

/// Copies the numbers of some slots of one View; an index combines component and slot.
template <class Value>
struct NumberKernel {
  const Value* data;
  std::size_t slot_stride;
  std::size_t component_stride;
  double* numbers;
  const std::uint32_t* list;  ///< the slots; nullptr for `count` slots starting with `first`
  std::uint64_t first;
  std::size_t count;

  KOKKOS_FUNCTION void operator()(const std::size_t index) const {
    const std::size_t component = index / count;
    const std::size_t k = index % count;
    const std::size_t slot = list != nullptr ? list[k] : static_cast<std::size_t>(first) + k;
    numbers[component * StagedColumns::most_slots + k] =
        static_cast<double>(data[slot * slot_stride + component * component_stride]);
  }
};

/// Views that kernels read, each on the default instance of its execution space.
template <class... Views>
class StagedViews final : public StagedColumns {
 public:
  /// @param components  The sum over all Views. @throws std::bad_alloc.
  StagedViews(std::size_t components, const Views&... views)
      : bytes_(most_slots * (components * sizeof(double) + sizeof(std::uint32_t))),
        views_(views...),
        memory_(staging_memory<Staging>("valet::columns", bytes_)),
        numbers_(reinterpret_cast<double*>(memory_.get())),
        list_(reinterpret_cast<std::uint32_t*>(numbers_ + most_slots * components)) {}

  void bring(std::uint64_t first, std::size_t count) override { launch(nullptr, first, count); }
  void bring(std::span<const std::uint32_t> slots) override {
    std::copy(slots.begin(), slots.end(), list_);
    launch(list_, 0, slots.size());
  }
  [[nodiscard]] const double* numbers(std::size_t column) const override {
    return numbers_ + column * most_slots;
  }
  [[nodiscard]] std::size_t bytes() const override { return bytes_; }

 private:
  using Staging = StagingSpace<typename Views::execution_space...>;
  static_assert(
      (Kokkos::SpaceAccessibility<typename Views::execution_space, Staging>::accessible && ...) &&
          Kokkos::SpaceAccessibility<Kokkos::HostSpace, Staging>::accessible,
      "Valet: there is no memory that both the host and the kernels of these Views reach");
  static_assert((is_accessible<typename Views::execution_space, Views> && ...),
                "Valet: the execution space of a View does not reach its memory");

  void launch(const std::uint32_t* list, std::uint64_t first, std::size_t count) {
    std::apply(
        [&](const auto&... view) {
          double* numbers = numbers_;
          ((numbers = launch_one(view, numbers, list, first, count)), ...);
          (detail::fence(typename Views::execution_space()), ...);
        },
        views_);
  }
  /// Queues the kernel of one View. Returns the place where the next one writes.
  template <class View>
  double* launch_one(const View& view, double* numbers, const std::uint32_t* list,
                     std::uint64_t first, std::size_t count) const {
    using Space = typename View::execution_space;
    constexpr std::size_t rank = View::rank;
    const std::size_t stride = view.stride(0);
    std::size_t components = 1;
    std::size_t distance = 0;
    if constexpr (rank == 2) {
      components = view.extent(1);
      distance = view.stride(1);
    }
    using Kernel = NumberKernel<typename View::non_const_value_type>;
    Kokkos::parallel_for(
        "valet::read",
        Kokkos::RangePolicy<Space, Kokkos::IndexType<std::size_t>>(Space(), 0, components * count),
        Kernel{view.data(), stride, distance, numbers, list, first, count});
    return numbers + components * most_slots;
  }

  std::size_t bytes_;
  std::tuple<Views...> views_;
  std::shared_ptr<std::byte> memory_;
  double* numbers_;      ///< in memory_
  std::uint32_t* list_;  ///< likewise
};

template <class... Views>
void read_views(Columns& columns, const Views&... views) {
  (detail::fence(typename Views::execution_space()), ...);
  (append_columns(columns, views), ...);
  if (columns.diagnostic) return;
  if constexpr ((is_read_by_kernels<Views> || ...))
    columns.staged = std::make_shared<StagedViews<Views...>>(columns.size, views...);
  else
    columns.keep_alive = std::make_shared<std::tuple<Views...>>(views...);
}

template <class... Views>
[[nodiscard]] ColumnSource view_columns(const Views&... views) {
  static_assert(are_references<Views...>());
  (check_column_view<ViewOf<Views>>(), ...);
  return [views...] {
    Columns columns;
    columns.diagnostic = runtime_diagnostic();
    if (columns.diagnostic) return columns;
    std::tuple<Views...> given(views...);
    columns.diagnostic = dual_diagnostic(given);
    if (columns.diagnostic) return columns;
    sync_device_sides(std::tuple<>(), given);
    read_views(columns, view_of(views)...);
    return columns;
  };
}

}  // namespace valet::kokkos::detail
