// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tools/output.hpp"

#include <string>

namespace valet::plan {

/// Whether a path is that of a file that ranks have written, by its name.
[[nodiscard]] bool is_file_of_ranks(const std::string& path);
/// What is in such a file: {"file": ..., "records": [...]}. Starts and ends MPI.
/// @throws Error as Junction::open().
[[nodiscard]] tools::Case contents_of(const std::string& path);
void print_contents(const tools::Case& contents);

}  // namespace valet::plan
