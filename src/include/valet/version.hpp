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

/// One number to compare with: 10000*major + 100*minor + patch.
#define VALET_VERSION \
  (VALET_VERSION_MAJOR * 10000 + VALET_VERSION_MINOR * 100 + VALET_VERSION_PATCH)
