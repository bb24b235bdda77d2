// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Cabana's particles: Cabana::migrate inside the memory of one AoSoA, and AoSoAs and slices as
/// block storage. Includes <Cabana_Core.hpp>, of a Cabana with MPI.

#include <valet/detail/first_failure.hpp>
#include <valet/detail/host_fields.hpp>
#include <valet/kokkos/blocks.hpp>
#include <valet/plan.hpp>

#include <Cabana_Core.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

/// Arrays of structures of arrays, and slices of them, as Cabana has them.
namespace valet::cabana {
/// @cond
namespace detail {

template <class T>
concept IsAoSoA = bool(Cabana::is_aosoa<T>::value);
template <class T>
concept IsSlice = bool(Cabana::is_slice<T>::value);
template <class T>
concept IsDistributor = bool(Cabana::is_distributor<T>::value);

/// A slice as a View of so many tiles: by itself it ends with the particles, not with the memory.
template <IsSlice Slice>
[[nodiscard]] auto tiles_of(const Slice& slice, std::size_t tiles, std::size_t slots) {
  using Device = Kokkos::Device<typename Slice::execution_space, typename Slice::memory_space>;
  using View = Kokkos::View<typename Slice::kokkos_view::data_type, Kokkos::LayoutStride, Device,
                            Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  Kokkos::LayoutStride layout;
  for (unsigned d = 0; d < unsigned{View::rank}; ++d) {
    layout.dimension[d] = d == 0 ? tiles : slice.extent(d);
    layout.stride[d] = slice.stride(d);
  }
  return kokkos::tiled(View(slice.data(), layout), slots);
}

template <IsAoSoA AoSoA, class... Space>
[[nodiscard]] BlockStorage members_of(const AoSoA& aosoa, const Space&... space) {
  const std::size_t slots = aosoa.capacity();
  return [&]<std::size_t... M>(std::index_sequence<M...>) {
    return kokkos::blocks(
        space..., tiles_of(Cabana::slice<M>(aosoa), slots / AoSoA::vector_length, slots)...);
  }
  (std::make_index_sequence<AoSoA::number_of_members>());
}

/// Where memory is refused, Cabana 0.5 to 0.7 have noted the new capacity already, and would later
/// write beyond the memory that there is.
template <IsAoSoA AoSoA>
void reserve(AoSoA& aosoa, std::uint64_t particles) {
  const AoSoA before = aosoa;
  try {
    aosoa.reserve(static_cast<typename AoSoA::size_type>(particles));
  } catch (...) {
    aosoa = before;
    throw;
  }
}

/// @param space  An execution space instance, or none.
template <IsAoSoA AoSoA, class... Space>
[[nodiscard]] BlockStorage storage_of(AoSoA& aosoa, const Space&... space) {
  const BlockStorage storage = members_of(aosoa, space...);
  if constexpr (std::is_const_v<AoSoA> || AoSoA::memory_traits::is_unmanaged)
    return storage;
  else
    return storage.growing([&aosoa, space...](std::uint64_t required) {
      reserve(aosoa, required);
      return members_of(aosoa, space...);
    });
}

/// The ranks of particles where the host reads them.
template <class Ranks>
[[nodiscard]] auto ranks_on_host(const Ranks& ranks) {
  if constexpr (Kokkos::is_view<Ranks>::value) {
    static_assert(!std::is_same_v<typename Ranks::array_layout, Kokkos::LayoutStride>,
                  "Valet: the ranks of particles are contiguous: give a copy of a strided View");
    kokkos::detail::fence(typename Ranks::execution_space());
    return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), ranks);
  } else {
    return std::span<const int>(ranks);
  }
}
/// The steering has the particles for each neighbour; those in no part of it are dropped.
template <IsDistributor Distributor>
[[nodiscard]] std::vector<int> ranks_on_host(const Distributor& distributor) {
  const auto steering = ranks_on_host(distributor.getExportSteering());
  std::vector<int> ranks(distributor.exportSize(), -1);
  std::size_t next = 0;
  for (int n = 0; n < distributor.numNeighbor(); ++n)
    for (std::size_t k = 0; k < distributor.numExport(n); ++k)
      ranks[steering(next++)] = distributor.neighborRank(n);
  return ranks;
}

/// Whether particles are where the map says, or in an unspecified state, though a call has failed.
[[nodiscard]] inline bool has_moved(const Error& error) {
  const bool may =
      error.code() == ErrorCode::callback_failed || error.code() == ErrorCode::corrupted;
  return may && error.message().find("nothing has moved") == std::string::npos;
}

/// @param map  Ranks or a Distributor. What fails when they are read is an error of all ranks.
template <IsAoSoA AoSoA, class Map, class... Space>
Report migrate_by(MPI_Comm communicator, AoSoA& aosoa, const Map& map, Options options,
                  const Space&... space) {
  if constexpr (IsDistributor<Map>) options.negative_rank = NegativeRank::drop;
  decltype(ranks_on_host(map)) ranks{};
  valet::detail::FirstFailure failure;
  failure.attempt("reading the ranks of the particles", [&] { ranks = ranks_on_host(map); });
  std::optional<Diagnostic> wrong = failure.diagnostic("nothing has moved");
  if (!wrong && ranks.size() != aosoa.size())
    wrong = Diagnostic{ErrorCode::invalid_argument,
                       "AoSoA '" + aosoa.label() + "' has " + std::to_string(aosoa.size()) +
                           " particles, but there are ranks for " + std::to_string(ranks.size()) +
                           "; give one for each, or make the Distributor anew"};
  const BlockStorage storage =
      wrong ? BlockStorage(std::make_shared<HostFields>(*wrong)) : storage_of(aosoa, space...);
  const std::size_t count = wrong ? 0 : ranks.size();
  Plan plan = plan_to_ranks(communicator, storage, count, std::span<const int>(ranks.data(), count),
                            options);
  const auto settle = [&] {
    aosoa.resize(static_cast<typename AoSoA::size_type>(plan.blocks_after()));
  };
  try {
    const Report report = execute(plan, storage);
    settle();
    return report;
  } catch (const Error& error) {
    if (has_moved(error)) settle();
    throw;
  }
}

}  // namespace detail
/// @endcond

/// An AoSoA as block storage of capacity() slots, for plans, a Rebalancer and all else in Valet.
/// Local. Its particles are in the first size() slots before a call, and after it in the first
/// Report::blocks_after: then call aosoa.resize(blocks_after), which allocates nothing.
///
/// @param aosoa  Any members, vector length and memory space. Must outlive the storage. A call
///               enlarges it by reserve() where more arrive than fit, unless it is const or
///               unmanaged; make the storage anew when the application has done so.
///
/// Errors and memory are those of kokkos::blocks(). Messages number members as fields, from 0.
template <detail::IsAoSoA AoSoA>
[[nodiscard]] BlockStorage blocks(AoSoA& aosoa) {
  return detail::storage_of(aosoa);
}
/// The same with an execution space instance, as for kokkos::blocks().
template <class Space, detail::IsAoSoA AoSoA>
[[nodiscard]] BlockStorage blocks(const Space& space, AoSoA& aosoa) {
  return detail::storage_of(aosoa, space);
}
/// Slices of one AoSoA, or of several of one size, which is the number of slots. Give all that are
/// to stay together. Until an AoSoA is resized; cannot grow.
template <detail::IsSlice... Slice>
[[nodiscard]] BlockStorage blocks(const Slice&... slice) {
  return kokkos::blocks(detail::tiles_of(slice, slice.numSoA(), slice.size())...);
}

/// Moves particles to the ranks that a map gives, inside the memory of their AoSoA. Collective over
/// `communicator`, including ranks without particles; blocking.
///
/// @param communicator  An intracommunicator; the first call caches a duplicate on it.
/// @param aosoa         The particles of this rank; afterwards its new ones, whose number is its
///                      size. Enlarged by reserve() where they do not fit; slices are invalid then.
///                      The same members on all ranks. [local]
/// @param ranks         For each particle the rank to which it goes, -1 to drop it: a contiguous
///                      View in any memory, or what converts to std::span<const int>. [local]
/// @param options       As for valet::migrate(). Without any, -1 drops a particle, as in Cabana;
///                      given ones say so by negative_rank.
/// @throws Error as valet::migrate(); also invalid_argument (not one rank for each particle),
///         callback_failed (Kokkos refuses memory, or to read the ranks): the same on all ranks.
///         Particles and size are as before; after callback_failed and corrupted that do not say
///         that nothing has moved, the size is that of what has arrived.
///
/// Memory beyond the AoSoA: that of valet::migrate() with aosoa.capacity() slots, and 4 bytes per
/// particle for ranks on a device. While Cabana enlarges an AoSoA it has the old memory, too.
template <detail::IsAoSoA AoSoA, class Ranks>
Report migrate(MPI_Comm communicator, AoSoA& aosoa, const Ranks& ranks,
               const Options& options = {.negative_rank = NegativeRank::drop}) {
  return detail::migrate_by(communicator, aosoa, ranks, options);
}
/// Cabana::migrate(distributor, aosoa) inside the memory of the AoSoA: the same particles, in
/// Options::order. Collective over distributor.comm(); errors as above.
/// @param distributor  For the particles in `aosoa`. [local]
/// @param aosoa        As above. [local]
/// @param options      As above, but those without a rank (-1) are dropped, whatever they say.
///
/// Memory: as above, 4 bytes per particle, and 8 more for the steering of a device.
template <detail::IsDistributor Distributor, detail::IsAoSoA AoSoA>
Report migrate(const Distributor& distributor, AoSoA& aosoa, const Options& options = {}) {
  return detail::migrate_by(distributor.comm(), aosoa, distributor, options);
}
/// The same with kernels on an execution space instance, in Cabana's place for it.
template <class Space, detail::IsDistributor Distributor, detail::IsAoSoA AoSoA>
Report migrate(const Space& space, const Distributor& distributor, AoSoA& aosoa,
               const Options& options = {}) {
  return detail::migrate_by(distributor.comm(), aosoa, distributor, options, space);
}

}  // namespace valet::cabana
