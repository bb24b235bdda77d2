// SPDX-License-Identifier: BSD-3-Clause
#include <valet/kokkos/node_view.hpp>

#include <Kokkos_Core.hpp>

/// Stands for the memory of a device.
struct DeviceSpace {
  using memory_space = DeviceSpace;
};

#ifdef VALET_MUST_NOT_COMPILE
using Space = DeviceSpace;
#else
using Space = Kokkos::HostSpace;
#endif

std::size_t rows(MPI_Comm comm);

std::size_t rows(MPI_Comm comm) {
  return valet::kokkos::node_view<double* [3], Space>("x", 10, comm).extent(0);
}
