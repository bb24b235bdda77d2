// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The state of Kokkos, and differences between its versions. Tested with 3.4.1; names in later
/// versions are taken from their documentation.

#include <valet/detail/first_failure.hpp>
#include <valet/storage_backend.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <type_traits>

namespace valet::kokkos::detail {

/// not_initialized, unless Kokkos can be used now.
[[nodiscard]] inline std::optional<Diagnostic> runtime_diagnostic() {
  if (Kokkos::is_initialized()) return std::nullopt;
#if KOKKOS_VERSION >= 40000
  if (Kokkos::is_finalized())
    return Diagnostic{
        ErrorCode::not_initialized,
        "Kokkos is finalised already; end the use of Views before Kokkos::finalize()"};
#endif
  return Diagnostic{
      ErrorCode::not_initialized,
      "Kokkos is not initialised; call Kokkos::initialize() before Views are given to "
      "Valet, and Kokkos::finalize() after their last use"};
}

/// Profiling regions for the stages of a migration, such as "valet::exchange": the implementation
/// of StorageBackend::begin_stage() and end_stage() for storages of Views. Kokkos passes them to a
/// loaded tool; without one they cost a test.
inline void push_region(const char* stage) {
  if (Kokkos::is_initialized()) Kokkos::Profiling::pushRegion(std::string("valet::") + stage);
}
inline void pop_region() {
  if (Kokkos::is_initialized()) Kokkos::Profiling::popRegion();
}

/// A region until the end of a scope.
class Region {
 public:
  explicit Region(const char* name) { push_region(name); }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  ~Region() { pop_region(); }
};

/// Waits for the work queued on one execution space instance, and no other.
template <class Space>
void fence(const Space& space) {
#if KOKKOS_VERSION >= 30500
  space.fence("valet::fence");
#else
  space.fence();
#endif
}

/// Waits for several instances. If a fence reports an error of a kernel of the application, it
/// becomes a diagnostic of this rank: an exception would leave the other ranks waiting.
template <class... Spaces>
[[nodiscard]] std::optional<Diagnostic> fence_diagnostic(const Spaces&... spaces) {
  valet::detail::FirstFailure failure;
  failure.attempt("waiting for the kernels that may still touch the Views",
                  [&] { (fence(spaces), ...); });
  return failure.diagnostic("nothing has been written; fix what they do");
}

/// Host memory that kernels can also access, on the device for which a program is compiled.
#if defined(KOKKOS_HAS_SHARED_HOST_PINNED_SPACE)
using PinnedSpace = Kokkos::SharedHostPinnedSpace;
#elif defined(KOKKOS_ENABLE_CUDA)
using PinnedSpace = Kokkos::CudaHostPinnedSpace;
#elif defined(KOKKOS_ENABLE_HIP)
using PinnedSpace = Kokkos::Experimental::HIPHostPinnedSpace;
#elif defined(KOKKOS_ENABLE_SYCL)
using PinnedSpace = Kokkos::Experimental::SYCLHostUSMSpace;
#else
using PinnedSpace = Kokkos::HostSpace;
#endif

/// Memory space of the staging for kernels on all of these spaces.
template <class... Spaces>
using StagingSpace =
    std::conditional_t<(Kokkos::SpaceAccessibility<Spaces, Kokkos::HostSpace>::accessible && ...),
                       Kokkos::HostSpace, PinnedSpace>;

/// Memory in such a space. After Kokkos::finalize() it is leaked: Kokkos would end the program.
/// @throws std::bad_alloc.
template <class Staging>
[[nodiscard]] std::shared_ptr<std::byte> staging_memory(const char* label, std::size_t bytes) {
  void* memory = nullptr;
  try {
    memory = Kokkos::kokkos_malloc<Staging>(label, bytes);
  } catch (const std::exception&) {
    // Kokkos reports a failed allocation as one of several types.
    throw std::bad_alloc();
  }
  return {static_cast<std::byte*>(memory), [](std::byte* bytes_of_kokkos) {
            if (Kokkos::is_initialized()) Kokkos::kokkos_free<Staging>(bytes_of_kokkos);
          }};
}

}  // namespace valet::kokkos::detail
