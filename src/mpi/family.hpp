// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The MPI that this library was compiled for, and the one that its calls reach. They differ if a
/// process has two MPI libraries, for example if a library for one is preloaded into a program for
/// another: then calls reach the program's MPI, which does not know our handles and constants.

#include <valet/export.hpp>

#include <string>

namespace valet::mpi {

/// Libraries of a family have the same handles and constants.
enum class Family { unknown, open_mpi, mpich, standard_abi };

/// The MPI whose header this library was compiled with, such as "Open MPI 4.1.4".
[[nodiscard]] VALET_EXPORT std::string compiled_mpi();

/// An MPI library in a process.
struct Library {
  std::string version;  ///< first line of the text of MPI_Get_library_version
  std::string file;     ///< where it was loaded from; empty if unknown
};

/// The library that our calls reach. Local; before MPI_Init and after MPI_Finalize, too.
[[nodiscard]] VALET_EXPORT Library reached_mpi();

/// Whether a library may have other handles than those of `family`. Unknown ones pass: MPI is often
/// renamed by those who sell it.
[[nodiscard]] VALET_EXPORT bool is_foreign(const Library& library, Family family);

/// A sentence on why Valet cannot work with the MPI that its calls reach; empty if it can. Found
/// out in the first call. Local.
[[nodiscard]] VALET_EXPORT const std::string& mpi_mismatch();

/// @throws Error invalid_communicator with that sentence. Local.
VALET_EXPORT void require_own_mpi();

}  // namespace valet::mpi
