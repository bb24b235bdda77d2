// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// VALET_ASSERT(condition): a broken invariant of ours, a bug in Valet, is thrown as Error internal
/// that names the condition, file and line. For what is cheap to check and cannot be an error of
/// the input. Without VALET_ASSERTIONS (VALET_ENABLE_ASSERTIONS in CMake, on in debug and sanitizer
/// builds) the condition is compiled, but not evaluated. Not in functions that are noexcept.

#ifdef VALET_ASSERTIONS
#include "base/diagnose.hpp"

namespace valet::detail {

[[noreturn]] inline void assertion_failed(const char* condition, const char* file, int line) {
  throw Error(ErrorCode::internal, joined("broken invariant '", condition, "' at ", file, ":", line,
                                          "; please report this"));
}

}  // namespace valet::detail

#define VALET_ASSERT(condition) \
  ((condition) ? void() : ::valet::detail::assertion_failed(#condition, __FILE__, __LINE__))
#else
#define VALET_ASSERT(condition) static_cast<void>(sizeof((condition) ? 1 : 0))
#endif
