// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The version of Valet. These three numbers are its only definition; CMake reads them. Below 1.0 a
/// minor version may break compatibility, a patch may not.

/// Major version.
#define VALET_VERSION_MAJOR 0
/// Minor version.
#define VALET_VERSION_MINOR 1
/// Patch level.
#define VALET_VERSION_PATCH 0

/// The version as text: "0.1.0".
#define VALET_VERSION_TEXT                  \
  VALET_DETAIL_TEXT_OF(VALET_VERSION_MAJOR) \
  "." VALET_DETAIL_TEXT_OF(VALET_VERSION_MINOR) "." VALET_DETAIL_TEXT_OF(VALET_VERSION_PATCH)
/// @cond
#define VALET_DETAIL_TEXT_OF(number) VALET_DETAIL_TEXT(number)
#define VALET_DETAIL_TEXT(number) #number
/// @endcond

/// The version as one number, for comparisons: 10000*major + 100*minor + patch.
#define VALET_VERSION \
  (VALET_VERSION_MAJOR * 10000 + VALET_VERSION_MINOR * 100 + VALET_VERSION_PATCH)
