// SPDX-License-Identifier: BSD-3-Clause
#include <valet/kokkos/ragged.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

/// Memory that the host does not claim to reach.
class FarSpace {
 public:
  using memory_space = FarSpace;
  using execution_space = Kokkos::Serial;
  using device_type = Kokkos::Device<execution_space, memory_space>;
  using size_type = std::size_t;
  static constexpr const char* name() { return "Far"; }
};

#ifdef VALET_MUST_NOT_COMPILE
using Space = FarSpace;
#else
using Space = Kokkos::HostSpace;
#endif
using Values =
    Kokkos::View<double*, Kokkos::LayoutRight, Space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
using Lengths = Kokkos::View<std::uint64_t*, Kokkos::HostSpace>;

valet::RaggedField see(const Values& values, const Lengths& lengths);

valet::RaggedField see(const Values& values, const Lengths& lengths) {
  return valet::kokkos::ragged_field(values, lengths);
}
