// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "patterns.hpp"

#include <CLI/CLI.hpp>

#include <map>
#include <string>
#include <vector>

namespace valet::bench {

inline void add_budget_option(CLI::App& command, std::string& memory) {
  command.add_option("--memory", memory, "budget per rank in bytes, with K, M or G")
      ->capture_default_str();
}

/// @param patterns  In: those by default.
inline void add_pattern_option(CLI::App& command, std::vector<Pattern>& patterns) {
  std::map<std::string, Pattern> names;
  for (const Pattern pattern : all_patterns()) names[to_string(pattern)] = pattern;
  std::string defaults;
  for (const Pattern pattern : patterns)
    defaults.append(defaults.empty() ? "" : ",").append(to_string(pattern));
  command.add_option("--pattern", patterns, "who sends to whom; several are measured in turn")
      ->transform(CLI::CheckedTransformer(names, CLI::ignore_case))
      ->delimiter(',')
      ->default_str(defaults);
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
