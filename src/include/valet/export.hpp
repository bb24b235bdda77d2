// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Which symbols a shared library has.

/// Marks what a shared libvalet exports; everything else is hidden.
#if defined(__GNUC__) || defined(__clang__)
#define VALET_EXPORT __attribute__((visibility("default")))
#else
#define VALET_EXPORT
#endif
