// SPDX-License-Identifier: BSD-3-Clause
#include "parameters.hpp"

#include "base/environment.hpp"
#include "base/names.hpp"
#include <valet/error.hpp>
#include <valet/options.hpp>

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace valet::zoltan {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view white = " \t\n\r\f\v";
  const std::size_t first = text.find_first_not_of(white);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(white) - first + 1);
}

constexpr const char* stock_name = "ZOLTAN";
constexpr const char* automatic_name = "AUTO";

bool set_method(MigrationParameters& parameters, const std::string& value) {
  if (value == stock_name) {
    parameters.method.reset();
    return true;
  }
  parameters.method = Method::automatic;
  if (value == automatic_name) return true;
  for (const schedule::MethodTraits& traits : schedule::methods()) {
    if (value != traits.upper_name) continue;
    parameters.method = traits.method;
    return true;
  }
  return false;
}

std::string method_values() {
  std::string values = std::string(stock_name) + ", " + automatic_name;
  for (const schedule::MethodTraits& traits : schedule::methods())
    values.append(", ").append(traits.upper_name);
  return values;
}

bool set_callbacks(MigrationParameters& parameters, const std::string& value) {
  parameters.callbacks = value == "HOLD" ? CallbackMode::hold : CallbackMode::steps;
  return value == to_string(parameters.callbacks);
}

/// A number of phases: digits, within an int.
bool set_parking(MigrationParameters& parameters, const std::string& value) {
  const char* const end = value.data() + value.size();
  const auto [read, error] = std::from_chars(value.data(), end, parameters.parking);
  return error == std::errc() && read == end && parameters.parking >= 0;
}

template <auto member>
bool set_flag(MigrationParameters& parameters, const std::string& value) {
  parameters.*member = value == "1";
  return value == "0" || value == "1";
}

template <auto member>
bool set_path(MigrationParameters& parameters, const std::string& value) {
  parameters.*member = value;
  return !value.empty();
}

/// What `parse` throws an error for is no value.
template <auto member, auto parse>
bool set_parsed(MigrationParameters& parameters, const std::string& value) {
  try {
    parameters.*member = parse(value);
    return true;
  } catch (const Error&) {
    return false;
  }
}

bool set_memory(MigrationParameters& parameters, const std::string& value) {
  return set_parsed<&MigrationParameters::memory_bytes, parse_bytes>(parameters, value) &&
         parameters.memory_bytes > 0;
}

struct Row {
  const char* name;
  const char* values;  ///< for the warning; null: those of the table of methods
  bool (*set)(MigrationParameters&, const std::string&);  ///< false: that is no value of it
  bool is_path = false;                                   ///< its letters are kept as they are
};

using Parameters = MigrationParameters;
constexpr std::array<Row, ParameterTable::count> rows{
    {{"MIGRATE_METHOD", nullptr, set_method},
     {"MIGRATE_MEMORY", "a number of bytes from 1 on, such as 65536, 64K, 4M or 1G", set_memory},
     {"MIGRATE_CALLBACKS", "HOLD, STEPS", set_callbacks},
     {"MIGRATE_VERIFY", "0, 1", set_flag<&Parameters::verify>},
     {"MIGRATE_PROGRESS", "0, 1", set_flag<&Parameters::progress>},
     {"MIGRATE_VERBOSE", "0, 1", set_flag<&Parameters::verbose>},
     {"MIGRATE_SHARE_MEMORY", "0, 1", set_flag<&Parameters::share_memory>},
     {"MIGRATE_KEEP_MEMORY", "0, 1", set_flag<&Parameters::keep_memory>},
     {"MIGRATE_REPORT", "the path of a file", set_path<&Parameters::report>, true},
     {"MIGRATE_TRACE", "the path of a file", set_path<&Parameters::trace>, true},
     {"MIGRATE_HEURISTIC", "FIRST_FIT, MAX_FIRST, RANDOM, FORTUNE_WHEEL, MIN_MAX, CONTINUOUS",
      set_parsed<&Parameters::heuristic, parse_heuristic>},
     {"MIGRATE_PARKING", "0 for never, or k: objects may wait on other ranks at every k-th phase",
      set_parking},
     {"MIGRATE_SCHEDULER", "DISTRIBUTED, CENTRALIZED",
      set_parsed<&Parameters::scheduler, parse_scheduler>}}};

/// Those of the environment are known to the core, which warns of others.
constexpr bool is_known(std::string_view name) {
  constexpr std::string_view prefix = "VALET_";
  return std::ranges::any_of(valet::detail::variables, [&](std::string_view variable) {
    return variable.starts_with(prefix) && variable.substr(prefix.size()) == name;
  });
}
static_assert(std::ranges::all_of(rows, is_known, &Row::name));

}  // namespace

const char* name_of(std::optional<Method> method) {
  if (!method) return stock_name;
  return *method == Method::automatic ? automatic_name : schedule::traits_of(*method).upper_name;
}

const char* to_string(CallbackMode value) noexcept {
  return value == CallbackMode::hold ? "HOLD" : "STEPS";
}

ParameterAnswer ParameterTable::set(std::string_view name, std::string_view value) {
  const auto found =
      std::ranges::find(rows, valet::detail::upper_case(std::string(trimmed(name))), &Row::name);
  if (found == rows.end()) return {};
  std::optional<std::string>& kept = values_[static_cast<std::size_t>(found - rows.begin())];
  const std::string clean = valet::detail::upper_case(std::string(trimmed(value)));
  if (clean == "DEFAULT") {
    kept.reset();
    return {ParameterAnswer::Verdict::taken, {}};
  }
  const std::string given = found->is_path ? std::string(trimmed(value)) : clean;
  MigrationParameters unused;
  if (!found->set(unused, given))
    return {ParameterAnswer::Verdict::refused,
            "Invalid value `" + given + "' for parameter `" + found->name + "'; it takes " +
                (found->values == nullptr ? method_values() : found->values) +
                ". It stays as it was."};
  kept = given;
  return {ParameterAnswer::Verdict::taken, {}};
}

void ParameterTable::apply_to(MigrationParameters& parameters) const {
  for (std::size_t k = 0; k < count; ++k)
    if (values_[k]) rows[k].set(parameters, *values_[k]);
}

ParameterTable parameters_of_environment(std::string& warnings) {
  ParameterTable table;
  for (const Row& one : rows) {
    const std::string variable = std::string("VALET_") + one.name;
    const char* const value = std::getenv(variable.c_str());
    if (value == nullptr || *value == '\0') continue;
    const ParameterAnswer answer = table.set(one.name, value);
    if (answer.verdict == ParameterAnswer::Verdict::refused)
      warnings += variable + ": " + answer.warning + "\n";
  }
  return table;
}

}  // namespace valet::zoltan
