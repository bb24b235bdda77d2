// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// For tests that put themselves before a function of the C library, to see Valet's calls of it and
/// not those of MPI: Valet is a shared library, or part of the test program.

#include <dlfcn.h>
#include <string_view>

/// Other libraries see the function, too.
#define VALET_INTERPOSED __attribute__((visibility("default")))

namespace valet::test {

/// Whether the code at this address, such as __builtin_return_address(0), is Valet's.
inline bool is_valet(const void* address) {
  static const int here = 0;
  Dl_info info{}, own{};
  if (dladdr(address, &info) == 0 || dladdr(&here, &own) == 0) return false;
  return info.dli_fbase == own.dli_fbase ||
         std::string_view(info.dli_fname).find("libvalet") != std::string_view::npos;
}

/// The function that would be called without us.
template <class Function>
Function next_function(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace valet::test
