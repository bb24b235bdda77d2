// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The version of Valet. CMake reads the three numbers from here: there is no other place with
/// them. Below 1.0 a minor version may break what is built on it, a patch may not.

/// Major version.
#define VALET_VERSION_MAJOR 0
/// Minor version.
#define VALET_VERSION_MINOR 1
/// Patch level.
#define VALET_VERSION_PATCH 0

/// The three numbers as a text: "0.1.0".
#define VALET_VERSION_TEXT                  \
  VALET_DETAIL_TEXT_OF(VALET_VERSION_MAJOR) \
  "." VALET_DETAIL_TEXT_OF(VALET_VERSION_MINOR) "." VALET_DETAIL_TEXT_OF(VALET_VERSION_PATCH)
/// @cond
#define VALET_DETAIL_TEXT_OF(number) VALET_DETAIL_TEXT(number)
#define VALET_DETAIL_TEXT(number) #number
/// @endcond

/// One number to compare with: 10000*major + 100*minor + patch.
#define VALET_VERSION \
  (VALET_VERSION_MAJOR * 10000 + VALET_VERSION_MINOR * 100 + VALET_VERSION_PATCH)
