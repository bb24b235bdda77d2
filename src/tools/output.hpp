// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace valet::tools {

/// One row of a table and one case of a JSON file: names and values, in order.
using Case = nlohmann::ordered_json;

/// Prints a table with a column for every key of the first case.
void print_table(const std::vector<Case>& cases);

/// Writes {"version": ..., "configuration": {...}} with the keys of `content` behind it. Does
/// nothing with an empty path.
/// @throws std::runtime_error when the file cannot be written.
void write_json(const std::string& path, const Case& content);

}  // namespace valet::tools
