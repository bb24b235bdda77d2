// SPDX-License-Identifier: BSD-3-Clause
#include <valet/kokkos/blocks.hpp>

#include <Kokkos_Core.hpp>

/// Memory that no execution space claims to reach.
class FarSpace {
 public:
  using memory_space = FarSpace;
  using execution_space = Kokkos::DefaultHostExecutionSpace;
  using device_type = Kokkos::Device<execution_space, memory_space>;
  using size_type = std::size_t;
  static constexpr const char* name() { return "Far"; }
};

#ifdef VALET_MUST_NOT_COMPILE
using Space = FarSpace;
#else
using Space = Kokkos::HostSpace;
#endif
using View =
    Kokkos::View<double*, Kokkos::LayoutRight, Space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

valet::BlockStorage see(const View& view);

valet::BlockStorage see(const View& view) {
  return valet::kokkos::blocks(Kokkos::DefaultHostExecutionSpace(), view);
}
