// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace valet::bench {

inline void add_budget_option(CLI::App& command, std::string& memory) {
  command.add_option("--memory", memory, "budget per rank in bytes, with K, M or G")
      ->capture_default_str();
}

inline void add_json_option(CLI::App& command, std::string& json) {
  command.add_option("--json", json, "also write the cases to this file");
}

inline void add_repeat_option(CLI::App& command, int& repeat) {
  command.add_option("--repeat", repeat, "measurements, of which the median is printed")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

/// Options::share_memory.
inline void add_sharing_flag(CLI::App& command, bool& share_memory) {
  command.add_flag("--share-memory,!--no-share-memory", share_memory,
                   "let ranks of one node write into each other's scratch (the default)");
}

}  // namespace valet::bench
