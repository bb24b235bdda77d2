// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Facts about this library and the MPI that it runs with: for logs and bug reports.

#include <valet/detail/cxx20.hpp>
#include <valet/export.hpp>

#include <string>
#include <utility>
#include <vector>

namespace valet {

/// Facts about this library and the MPI that it runs with.
struct Configuration {
  /// Names and values, in this order: valet, mpi_compiled, mpi, mpi_library, kokkos, zoltan,
  /// compiler, system, library (shared or static), build_type, assertions, sanitizers. A version
  /// has more than a number where the software says more.
  std::vector<std::pair<std::string, std::string>> facts;

  /// One fact a line: "mpi_compiled: Open MPI 4.1.4".
  [[nodiscard]] VALET_EXPORT std::string to_string() const;
  /// One JSON object; all values are texts.
  [[nodiscard]] VALET_EXPORT std::string to_json() const;
};

/// The version of the library that runs, such as "0.1.0"; VALET_VERSION_TEXT is that of the header.
/// Local; may be called at any time.
[[nodiscard]] VALET_EXPORT const char* version() noexcept;

/// How this library was built, and the MPI library that its calls reach. Local; may be called at
/// any time, before MPI_Init and after MPI_Finalize, too.
[[nodiscard]] VALET_EXPORT Configuration configuration();

}  // namespace valet
