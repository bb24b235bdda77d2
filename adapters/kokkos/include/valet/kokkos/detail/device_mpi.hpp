// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Whether device memory may be passed to MPI.

#include <valet/error.hpp>
#include <valet/mpi.hpp>

#include <Kokkos_Core.hpp>
#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace valet::kokkos::detail {

#if defined(KOKKOS_ENABLE_HIP) && KOKKOS_VERSION >= 40000
using HipSpace = Kokkos::HIP;
#elif defined(KOKKOS_ENABLE_HIP)
using HipSpace = Kokkos::Experimental::HIP;
#endif

/// Whether MPI reports that it reads memory of the devices of `Space`; false if it reports nothing.
template <class Space>
[[nodiscard]] bool mpi_says_it_reads_devices() {
  [[maybe_unused]] int answer = 0;
#if defined(KOKKOS_ENABLE_CUDA)
  if constexpr (std::is_same_v<Space, Kokkos::Cuda>) {
#if defined(MPIX_GPU_SUPPORT_CUDA)
    return MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &answer) == MPI_SUCCESS && answer != 0;
#elif defined(MPIX_CUDA_AWARE_SUPPORT)
    return MPIX_Query_cuda_support() == 1;
#endif
  }
#endif
#if defined(KOKKOS_ENABLE_HIP)
  if constexpr (std::is_same_v<Space, HipSpace>) {
#if defined(MPIX_GPU_SUPPORT_HIP)
    return MPIX_GPU_query_support(MPIX_GPU_SUPPORT_HIP, &answer) == MPI_SUCCESS && answer != 0;
#elif defined(MPIX_ROCM_AWARE_SUPPORT)
    return MPIX_Query_rocm_support() == 1;
#endif
  }
#endif
  return false;
}

/// The setting in the environment or, without one, the answer of MPI.
struct DeviceMpi {
  bool reads_devices = false;
  std::optional<Diagnostic> diagnostic;
};

template <class Space>
[[nodiscard]] DeviceMpi device_mpi() {
  const char* const text = std::getenv("VALET_DEVICE_MPI");
  const std::string_view value = text == nullptr ? "auto" : text;
  if (value == "auto") return {mpi_says_it_reads_devices<Space>(), std::nullopt};
  if (value == "on" || value == "off") return {value == "on", std::nullopt};
  return {false, Diagnostic{ErrorCode::invalid_argument,
                            "the environment has VALET_DEVICE_MPI=" + std::string(value) +
                                "; give auto, on or off"}};
}

}  // namespace valet::kokkos::detail
