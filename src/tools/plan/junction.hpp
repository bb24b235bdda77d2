// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tools/output.hpp"

#include <cstdint>
#include <string>

namespace valet::plan {

/// An array that M ranks put and N others get.
struct JunctionSizes {
  std::string move;  ///< block:grid:block:grid of the two sides
  std::string extent = "4096x4096";
  std::uint64_t element_bytes = 8;
};

/// What it makes the ranks of each side send and hold: the rank with the most counts.
/// {"junction": ..., "sides": [...]}. Takes the time that all ranks take together.
/// @param budget_bytes  Of each rank.
/// @throws Error invalid_argument, naming what is wrong.
[[nodiscard]] tools::Case analyse(const JunctionSizes& sizes, std::uint64_t budget_bytes);
void print_junction(const tools::Case& analysis);

/// Whether a path is that of a file that ranks have written, by its name.
[[nodiscard]] bool is_file_of_ranks(const std::string& path);
/// What is in such a file: {"file": ..., "records": [...]}. Starts and ends MPI.
/// @throws Error as Junction::open().
[[nodiscard]] tools::Case contents_of(const std::string& path);
void print_contents(const tools::Case& contents);

}  // namespace valet::plan
