// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Kokkos Views as block storage: what valet::migrate() and related calls move are the rows of
/// Views.
///
/// One View is one field, its row in slot s is everything with first index s, and Views with the
/// same extent(0) together are one storage. Views of rank 1 to 8 in LayoutRight, LayoutLeft or
/// LayoutStride are taken, of any trivially copyable value type. Kokkos is initialised and
/// finalised by the application.
///
/// Memory that the host can read and write goes to MPI as it is. Other memory (CudaSpace, HIPSpace)
/// is gathered and scattered by kernels, through staging memory that MPI and the kernels reach; it
/// comes out of the budget. So is managed memory (SharedSpace, CudaUVMSpace), whose pages would
/// wander to the host and back otherwise. Of a DualView the device side is moved.
///
/// The stages of a migration are profiling regions of Kokkos: valet::plan, valet::exchange,
/// valet::local and valet::verify.

#include <valet/block_storage.hpp>
#include <valet/kokkos/detail/dual_views.hpp>
#include <valet/kokkos/detail/runtime.hpp>
#include <valet/kokkos/detail/staged_blocks.hpp>
#include <valet/kokkos/detail/view_blocks.hpp>
#include <valet/kokkos/detail/view_fields.hpp>

#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

/// Kokkos Views as block storage and as parts of distributed arrays.
namespace valet::kokkos {
namespace detail {

enum class Path { automatic, staged };

/// @param make_spaces  The execution space instances to be fenced, kernels run on the first one.
///                     They can only be asked for while Kokkos is initialised.
/// @param duals        Whose device sides are among the Views; or nullptr.
template <Path path, class MakeSpaces, class... Views>
[[nodiscard]] BlockStorage storage_on(MakeSpaces&& make_spaces, std::unique_ptr<DualSides> duals,
                                      const Views&... views) {
  static_assert(sizeof...(Views) > 0, "Valet: give at least one View");
  if (auto diagnostic = runtime_diagnostic())
    return BlockStorage(std::make_shared<HostFields>(*std::move(diagnostic)));
  const auto spaces = make_spaces();
  const auto& space = std::get<0>(spaces);
  using Space = std::remove_cvref_t<decltype(space)>;
  const auto storage_of = [&duals](auto blocks) {
    blocks->are_sides_of(std::move(duals));
    return BlockStorage(std::move(blocks));
  };
  if constexpr (path == Path::automatic && (is_host_accessible<Views> && ...) &&
                !prefers_kernels<Space, Views...>) {
    using Blocks = ViewBlocks<std::remove_const_t<decltype(spaces)>, Views...>;
    return storage_of(std::make_shared<Blocks>(spaces, views...));
  } else {
    static_assert((is_accessible<Space, Views> && ...),
                  "Valet: the memory space of a View can be reached neither by the host nor by the "
                  "execution space; give an execution space that reaches all Views of the storage");
    return storage_of(std::make_shared<StagedBlocks<Space, Views...>>(space, views...));
  }
}

/// Without an execution space given, those of the Views take its place.
template <Path path, class First, class... Rest>
[[nodiscard]] BlockStorage storage(const First& first, const Rest&... rest) {
  (check_view<ViewOf<Rest>>(), ...);
  if constexpr (Kokkos::is_execution_space<First>::value) {
    const std::tuple<First> given(first);
    return storage_on<path>([&] { return given; }, dual_sides(given, rest...), view_of(rest)...);
  } else {
    check_view<ViewOf<First>>();
    using Spaces = std::tuple<typename ViewOf<First>::execution_space,
                              typename ViewOf<Rest>::execution_space...>;
    return storage_on<path>([] { return Spaces(); }, dual_sides(std::tuple<>(), first, rest...),
                            view_of(first), view_of(rest)...);
  }
}

}  // namespace detail

/// Sees Views as one block storage: `blocks(view, ...)` or `blocks(space, view, ...)`. A DualView
/// may stand for any View.
///
/// Local; keeps copies of the Views, so their memory lives at least as long as the storage. It must
/// not outlive Kokkos::finalize(). A plan may, but its staging memory is then not freed.
///
/// Managed memory, which the host reaches but which is not of its own spaces (CudaUVMSpace,
/// HIPManagedSpace, SharedSpace on a device), is moved by kernels, as staged_blocks() does,
/// provided that the execution space is a device's and reaches all Views. An execution space of the
/// host before them lets the host move it, page by page; kernels of the device are then not waited
/// for.
///
/// A DualView is moved as its device side. Right before blocks are moved (planning leaves it alone)
/// what is marked as modified on the host is copied to the device, on the instance given, if one
/// is, and the device side is marked as modified: so sync_host() brings what has arrived. After a
/// call that failed the device side is the valid one, and holds what it says there; where the copy
/// to the device failed (callback_failed), the marks are as they were. Where both sides are the
/// same memory there is nothing to copy or to mark.
///
/// @param first  A View or DualView, or an execution space instance. Work queued on an instance is
/// fenced
///               before MPI or the host touches the Views, and kernels of Valet run on it and are
///               complete when a call of Valet returns. Only it is fenced; without it, the default
///               instances of the Views' execution spaces are.
/// @param rest   The other Views or DualViews. All are of rank 1 to 8, of a trivially copyable
/// value type that
///               is not const, and have the same extent(0), which is the number of slots. Each rank
///               may have another number of slots, but the other extents and the order and types
///               of the Views are the same on all ranks.
///
/// Errors are reported by the collective call that uses the storage, on all ranks:
/// not_initialized (Kokkos is not initialised), field_mismatch (different extents),
/// inaccessible_memory (a View without memory), invalid_argument (rows of zero bytes, Views that
/// share memory, a DualView that is marked as modified on both sides), out_of_memory (staging for
/// slot indices). callback_failed: a fence or a kernel of Valet threw, as Kokkos does where the
/// device fails; see valet::execute().
///
/// Memory: Views that the host moves take none. Others keep 128 KiB for slot indices from here
/// on, in memory that host and kernels reach, as are the blocks in transit, which are staged in the
/// budget of the plan. On a device nothing is allocated. Memory lent to execute() as a workspace
/// must be memory that `space` reaches.
///
/// One View of contiguous rows on a device goes to MPI as it is where MPI says that it reads such
/// memory, or the environment has VALET_DEVICE_MPI=on; with VALET_DEVICE_MPI=off it does not.
template <class First, class... Rest>
[[nodiscard]] BlockStorage blocks(const First& first, const Rest&... rest) {
  return detail::storage<detail::Path::automatic>(first, rest...);
}

/// The same storage, always by kernels and staging as if the host could not reach the Views: for
/// memory where a kernel gathers faster than the host. The budget must hold two blocks. Arguments
/// and errors as blocks().
template <class First, class... Rest>
[[nodiscard]] BlockStorage staged_blocks(const First& first, const Rest&... rest) {
  return detail::storage<detail::Path::staged>(first, rest...);
}

}  // namespace valet::kokkos
