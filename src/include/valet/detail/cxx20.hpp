// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Included first by every header that includes no other one of Valet, so that a compiler for an
/// older C++ says one sentence and not hundreds of errors.
#if defined(__cplusplus) && __cplusplus <= 201703L && \
    (!defined(_MSVC_LANG) || _MSVC_LANG <= 201703L)
#error "Valet needs C++20: compile with -std=c++20, or link Valet::valet in CMake"
// A file that is not there stops the compiler here, which #error alone does not.
#define VALET_DETAIL_STOP <valet/needs/cxx20>
#include VALET_DETAIL_STOP
#endif
