// SPDX-License-Identifier: BSD-3-Clause
#include <valet/kokkos/blocks.hpp>

#include <Kokkos_Core.hpp>

#ifdef VALET_MUST_NOT_COMPILE
using Value = const double;
#else
using Value = double;
#endif

valet::BlockStorage see(const Kokkos::View<Value*>& view);

valet::BlockStorage see(const Kokkos::View<Value*>& view) { return valet::kokkos::blocks(view); }
