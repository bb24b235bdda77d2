// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/family.hpp"

#include "base/diagnose.hpp"
#include <valet/mpi.hpp>

#include <algorithm>
#include <array>
#include <dlfcn.h>
#include <string_view>

namespace valet::mpi {

// The standard ABI comes first: its header may have names of the MPI that it comes from. The other
// headers have no MPI_ABI_VERSION, or -1.
#if defined(MPI_ABI_VERSION) && MPI_ABI_VERSION >= 1
constexpr Family own_family = Family::standard_abi;
std::string compiled_mpi() { return joined("MPI ABI ", MPI_ABI_VERSION, ".", MPI_ABI_SUBVERSION); }
#elif defined(OPEN_MPI)
constexpr Family own_family = Family::open_mpi;
std::string compiled_mpi() {
  return joined("Open MPI ", OMPI_MAJOR_VERSION, ".", OMPI_MINOR_VERSION, ".",
                OMPI_RELEASE_VERSION);
}
#elif defined(MPICH_VERSION)
constexpr Family own_family = Family::mpich;
std::string compiled_mpi() { return "MPICH " MPICH_VERSION; }
#else
constexpr Family own_family = Family::unknown;
std::string compiled_mpi() { return joined("MPI ", MPI_VERSION, ".", MPI_SUBVERSION); }
#endif

namespace {

/// Text up to the end of its first line, with single blanks.
std::string first_line(std::string_view text) {
  std::string line;
  for (const char c : text.substr(0, text.find('\n')))
    if (c != ' ' && c != '\t')
      line += c;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  return line;
}

Family family_of(const Library& library) {
  const std::string_view file = library.file;
  const std::string_view name = file.substr(file.rfind('/') + 1);
  // Both families say their own names behind the standard ABI, too.
  if (name.starts_with("libmpi_abi")) return Family::standard_abi;
  const auto says = [&](const char* word) {
    return library.version.find(word) != std::string::npos;
  };
  if (library.version.starts_with("Open MPI")) return Family::open_mpi;
  if (says("MPICH") || says("MVAPICH") || says("Intel(R) MPI")) return Family::mpich;
  return Family::unknown;
}

}  // namespace

Library reached_mpi() {
  // The length that another MPI writes may be greater than ours says: MPICH has the greatest, and
  // so has the standard ABI.
  std::array<char, std::max(8192, MPI_MAX_LIBRARY_VERSION_STRING) + 1> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  Library library{first_line(text.data()), {}};
  // Not the MPI_ function, which a profiler may have replaced.
  Dl_info info{};
  void* const function = dlsym(RTLD_DEFAULT, "PMPI_Get_library_version");
  if (function != nullptr && dladdr(function, &info) != 0 && info.dli_fname != nullptr)
    library.file = info.dli_fname;
  return library;
}

bool is_foreign(const Library& library, Family family) {
  const Family found = family_of(library);
  if (found == Family::unknown || family == Family::unknown) return false;
  // Only its file tells the standard ABI of a family from the ABI of its own.
  if (family == Family::standard_abi && library.file.empty()) return false;
  return found != family;
}

const std::string& mpi_mismatch() {
  static const std::string sentence = [] {
    const Library library = reached_mpi();
    if (!is_foreign(library, own_family)) return std::string();
    return "this Valet is built for " + compiled_mpi() + ", but in this process MPI is " +
           library.version + (library.file.empty() ? "" : " (" + library.file + ")") +
           "; link or preload a Valet that is built for the MPI of the program";
  }();
  return sentence;
}

void require_own_mpi() {
  if (!mpi_mismatch().empty()) throw Error(ErrorCode::invalid_communicator, mpi_mismatch());
}

}  // namespace valet::mpi
