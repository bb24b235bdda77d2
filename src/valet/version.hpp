// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The version of Valet. CMake reads these three lines: they are the only place with the number.
#define VALET_VERSION_MAJOR 0
#define VALET_VERSION_MINOR 1
#define VALET_VERSION_PATCH 0

/// One number to compare with: 10000*major + 100*minor + patch.
#define VALET_VERSION \
  (VALET_VERSION_MAJOR * 10000 + VALET_VERSION_MINOR * 100 + VALET_VERSION_PATCH)
