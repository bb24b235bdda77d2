// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Symbol visibility in a shared library.

/// Marks symbols that a shared libvalet exports; all others are hidden.
#if defined(__GNUC__) || defined(__clang__)
#define VALET_EXPORT __attribute__((visibility("default")))
#else
#define VALET_EXPORT
#endif
