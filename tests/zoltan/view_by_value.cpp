// SPDX-License-Identifier: BSD-3-Clause
#include <valet/zoltan/rebalancer.hpp>

#include <Kokkos_Core.hpp>

void give(valet::zoltan::Rebalancer& rebalancer, const Kokkos::View<double*>& position);

void give(valet::zoltan::Rebalancer& rebalancer, const Kokkos::View<double*>& position) {
#ifdef VALET_MUST_NOT_COMPILE
  rebalancer.coordinates(position);
#else
  rebalancer.coordinates(valet::ref(position));
#endif
}
