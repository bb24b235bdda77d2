// SPDX-License-Identifier: BSD-3-Clause
#include <valet/kokkos/blocks.hpp>

#include <Kokkos_Core.hpp>

#ifdef VALET_MUST_NOT_COMPILE
using View = Kokkos::View<double>;
#else
using View = Kokkos::View<double*>;
#endif

valet::BlockStorage see(const View& view);

valet::BlockStorage see(const View& view) { return valet::kokkos::blocks(view); }
