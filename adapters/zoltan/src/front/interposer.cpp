// SPDX-License-Identifier: BSD-3-Clause

/// Zoltan's functions, defined once more: in a library that stands in front of a shared Zoltan, on
/// the link line or preloaded, these are the ones that the application, the C++ classes and Zoltan
/// itself reach. The stock functions are the next ones behind.

#include "mpi/family.hpp"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <string>

namespace {

/// Ends the process, because not all of Zoltan's functions can return an error, and applications
/// that get a null handle go on with it. Without a core file, and without the destructors of
/// libraries, of which some may be for another MPI than the one that runs.
[[noreturn]] void end(const char* function, const char* reason) {
  std::fflush(stdout);
  std::fprintf(stderr, "Zoltan ERROR in %s:  %s\n", function, reason);
  std::_Exit(EXIT_FAILURE);
}

template <class Function>
Function next(const char* name) {
  // A preloaded library meets programs of every MPI.
  const std::string& mismatch = valet::mpi::mpi_mismatch();
  if (!mismatch.empty()) end(name, mismatch.c_str());
  auto* const found = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
  if (found == nullptr) end(name, "no Zoltan behind libvalet_zoltan");
  return found;
}

}  // namespace

#define VALET_FRONT(function) function
#define VALET_STOCK(function)                                         \
  [] {                                                                \
    static const auto stock = next<decltype(&(function))>(#function); \
    return stock;                                                     \
  }()
#include "shim_functions.inc"
