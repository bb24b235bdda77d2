// SPDX-License-Identifier: BSD-3-Clause
#include <valet/kokkos/ragged.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

#ifdef VALET_MUST_NOT_COMPILE
using Word = int;
#else
using Word = std::uint64_t;
#endif

valet::RaggedField see(const Kokkos::View<double*, Kokkos::HostSpace>& values,
                       const Kokkos::View<Word*, Kokkos::HostSpace>& offsets);

valet::RaggedField see(const Kokkos::View<double*, Kokkos::HostSpace>& values,
                       const Kokkos::View<Word*, Kokkos::HostSpace>& offsets) {
  return valet::kokkos::ragged_field_by_offsets(values, offsets);
}
