// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/valet.hpp>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace block_cyclic {

/// The order of all local arrays.
constexpr valet::IndexOrder order = valet::IndexOrder::column_major;

/// blocks.csv: a line for each block of each layout, with the rank that owns it. Local.
/// @throws std::runtime_error when the file cannot be written.
void write_blocks(const std::filesystem::path& directory,
                  const std::vector<std::pair<std::string, valet::GridLayout>>& layouts);

/// transfers.csv: bytes from each rank to each. Local. @throws std::runtime_error as above.
void write_transfers(const std::filesystem::path& directory, const valet::GridLayout& from,
                     const valet::GridLayout& to);

}  // namespace block_cyclic
