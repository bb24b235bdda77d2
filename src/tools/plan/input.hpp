// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tools/schedules/transfer_matrix.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace valet::plan {

/// T_ij, blocks from rank i to rank j, from a Matrix Market file: coordinate, integer, general or
/// symmetric, square. Entries on the diagonal stay where they are; equal pairs are added.
/// @param is_graph  The file may also be of the field pattern. An entry (i, j) is an edge from i to
///                  j, however many blocks it has.
/// @throws Error invalid_argument with file and line: not a Matrix Market file of this kind, not
///         square, an index or a number that does not parse or is out of range, too few entries.
[[nodiscard]] schedule::TransferMatrix read_matrix(const std::string& path, bool is_graph = false);

/// Free slots of every rank: `text` is a number, then for each rank alike, or the name of a file
/// with a number per rank, separated by white space; lines that begin with % or # are comments.
/// @throws Error invalid_argument with file and line: no such file, not a number, another count of
///         numbers than ranks.
[[nodiscard]] std::vector<std::uint64_t> read_free(const std::string& text, std::uint32_t ranks);

}  // namespace valet::plan
