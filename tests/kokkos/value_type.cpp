// SPDX-License-Identifier: BSD-3-Clause
#include <valet/kokkos/blocks.hpp>

#include <Kokkos_Core.hpp>

struct Value {
#ifdef VALET_MUST_NOT_COMPILE
  Value(const Value& other) : number(other.number) {}
#endif
  double number;
};

valet::BlockStorage see(const Kokkos::View<Value*>& view);

valet::BlockStorage see(const Kokkos::View<Value*>& view) { return valet::kokkos::blocks(view); }
