// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Kokkos Views as block storage: valet::migrate() and related calls move the rows of Views.
///
/// A View is a field. Its row in slot s is everything with first index s, and Views with the same
/// extent(0) form a storage; tiled() is for Views whose first two indices count slots together.
/// Views may have rank 1 to 8, LayoutRight, LayoutLeft or LayoutStride,
/// and any trivially copyable value type. The application initialises and finalises Kokkos.
///
/// Memory that the host can access is passed to MPI directly. Other memory (CudaSpace, HIPSpace) is
/// gathered and scattered by kernels, through staging memory that MPI and the kernels can access
/// and that comes out of the budget. The same holds for managed memory (SharedSpace, CudaUVMSpace),
/// whose pages would otherwise migrate to the host and back. For a DualView, the device side is
/// moved.
///
/// The stages of a migration are Kokkos profiling regions: valet::plan, valet::exchange,
/// valet::local and valet::verify.

#include <valet/block_storage.hpp>
#include <valet/kokkos/detail/dual_views.hpp>
#include <valet/kokkos/detail/runtime.hpp>
#include <valet/kokkos/detail/staged_blocks.hpp>
#include <valet/kokkos/detail/view_blocks.hpp>
#include <valet/kokkos/detail/view_fields.hpp>
#include <valet/kokkos/node_view.hpp>
#include <valet/kokkos/tiled_view.hpp>

#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

/// Kokkos Views as block storage and as parts of distributed arrays.
namespace valet::kokkos {
namespace detail {

enum class Path { automatic, staged };

/// @param make_spaces  Makes the execution space instances to be fenced; kernels run on the first
///                     one. Only callable while Kokkos is initialised.
/// @param queue        As sync_device_sides() has it.
template <Path path, class MakeSpaces, class Queue, class... Given>
[[nodiscard]] BlockStorage storage_on(MakeSpaces&& make_spaces, const Queue& queue,
                                      const Given&... given) {
  static_assert(sizeof...(Given) > 0, "Valet: give at least one View");
  if (auto diagnostic = runtime_diagnostic())
    return BlockStorage(std::make_shared<HostFields>(*std::move(diagnostic)));
  const auto spaces = make_spaces();
  const auto& space = std::get<0>(spaces);
  using Space = std::remove_cvref_t<decltype(space)>;
  if constexpr (path == Path::automatic && (is_host_accessible<ViewOf<Given>> && ...) &&
                !prefers_kernels<Space, ViewOf<Given>...>) {
    using Blocks = ViewBlocks<std::remove_const_t<decltype(spaces)>, Queue, Given...>;
    return BlockStorage(std::make_shared<Blocks>(spaces, queue, given...), fields_of(given...));
  } else {
    static_assert((is_accessible<Space, ViewOf<Given>> && ...),
                  "Valet: the memory space of a View can be reached neither by the host nor by the "
                  "execution space; give an execution space that reaches all Views of the storage");
    using Blocks = StagedBlocks<Space, Queue, Given...>;
    return BlockStorage(std::make_shared<Blocks>(space, queue, given...), fields_of(given...));
  }
}

/// If no execution space is given, those of the Views are used.
template <Path path, class First, class... Rest>
[[nodiscard]] BlockStorage storage(const First& first, const Rest&... rest) {
  (check_view<ViewOf<Rest>>(), ...);
  if constexpr (Kokkos::is_execution_space<First>::value) {
    const std::tuple<First> given(first);
    return storage_on<path>([&] { return given; }, given, rest...);
  } else {
    check_view<ViewOf<First>>();
    using Spaces = std::tuple<typename ViewOf<First>::execution_space,
                              typename ViewOf<Rest>::execution_space...>;
    return storage_on<path>([] { return Spaces(); }, std::tuple<>(), first, rest...);
  }
}

}  // namespace detail

/// Makes a block storage of Views: `blocks(view, ...)` or `blocks(space, view, ...)`. Any View may
/// be a DualView, and each may be given as valet::ref(view), which sees what Kokkos::resize() and
/// assignments do to the View later, or as valet::growing(view), which Valet resizes where a rank
/// will hold more blocks than it has rows.
///
/// Local; keeps copies of Views that are given without valet::ref(), as they are now: for one call,
/// or for a plan to which the storage is given anew. Such a View that nobody else holds any more,
/// as after Kokkos::resize(), is refused (invalid_argument). The storage must not outlive
/// Kokkos::finalize(). A plan may, but its staging memory is then not freed.
///
/// Managed memory (CudaUVMSpace, HIPManagedSpace, SharedSpace on a device), which the host can
/// access but which is not a host space, is moved by kernels, as by staged_blocks(), if the
/// execution space is a device's and can access all Views. If a host execution space is given, the
/// host moves it page by page; Valet then does not wait for device kernels.
///
/// For a DualView, the device side is moved. Right before blocks move (not while planning), data
/// marked as modified on the host is copied to the device, on the given instance, if any, and the
/// device side is marked as modified; sync_host() then fetches the arrivals. After a failed call
/// the device side is the valid one, with the content documented for that error; if the copy to the
/// device failed (callback_failed), the marks are unchanged. If both sides are the same memory,
/// nothing is copied or marked.
///
/// @param first  A View, a DualView or tiled(view, slots), or an execution space instance. The
/// instance is fenced before
///               MPI or the host accesses the Views; kernels of Valet run on it and are complete
///               when a call of Valet returns. No other instance is fenced. Without it, the default
///               instances of the Views' execution spaces are used.
/// @param rest   The other Views or DualViews. All have rank 1 to 8, a trivially copyable value
///               type that is not const, and the same extent(0), which is the number of slots.
///               Ranks may have different numbers of slots; the other extents, and the order,
///               types and labels of the Views, are the same on all ranks. A rank without blocks
///               may give Views that were never allocated.
///
/// Errors are reported on all ranks by the collective call that uses the storage: not_initialized
/// (Kokkos is not initialised), field_mismatch (different extents), inaccessible_memory (a View
/// without memory), invalid_argument (rows of zero bytes, Views that share memory, a DualView
/// marked as modified on both sides), out_of_memory (staging for slot indices), callback_failed (a
/// fence or a kernel of Valet threw, as Kokkos does if the device fails; see valet::execute()).
///
/// Memory: none for Views that the host moves. Others keep 128 KiB for slot indices for the
/// lifetime of the storage, in memory that host and kernels can access. Blocks in transit are
/// staged in such memory within the budget of the plan. Nothing is allocated on the device. A
/// workspace lent to execute() must be memory that `space` can access.
///
/// One View of contiguous rows on a device is passed to MPI directly if MPI reports that it can
/// read such memory, or if the environment has VALET_DEVICE_MPI=on; VALET_DEVICE_MPI=off prevents
/// this.
template <class First, class... Rest>
[[nodiscard]] BlockStorage blocks(const First& first, const Rest&... rest) {
  return detail::storage<detail::Path::automatic>(first, rest...);
}

/// The same storage, always moved by kernels through staging memory, as if the host could not
/// access the Views: for memory that kernels gather faster than the host. The budget must hold two
/// blocks. Arguments and errors as for blocks().
template <class First, class... Rest>
[[nodiscard]] BlockStorage staged_blocks(const First& first, const Rest&... rest) {
  return detail::storage<detail::Path::staged>(first, rest...);
}

}  // namespace valet::kokkos
