// SPDX-License-Identifier: BSD-3-Clause

/// Zoltan's functions, defined once more: in a library that stands in front of a shared Zoltan, on
/// the link line or preloaded, these are the ones that the application, the C++ classes and Zoltan
/// itself reach. The stock functions are the next ones behind.

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

namespace {

template <class Function>
Function next(const char* name) {
  auto* const found = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
  if (found == nullptr) {
    // There is no caller to report to: these functions have no way to say that there is no Zoltan.
    std::fprintf(stderr, "Zoltan ERROR in %s:  no Zoltan behind libvalet_zoltan\n", name);
    std::abort();
  }
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
