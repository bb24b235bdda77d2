// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace valet::bench {

/// One row of the table and one case of the JSON file: names and values, in order.
using Case = nlohmann::ordered_json;

/// Prints on rank 0 a table with a column for every key of the first case.
void print_table(const std::vector<Case>& cases);

/// Writes {"version": ..., "cases": [...]} on rank 0, and the keys of `more` behind them. Does
/// nothing with an empty path.
/// @throws std::runtime_error when the file cannot be written.
void write_json(const std::string& path, const std::vector<Case>& cases,
                const Case& more = Case::object());

}  // namespace valet::bench
