// SPDX-License-Identifier: BSD-3-Clause
#include "handle/parameters.hpp"

#include "base/environment.hpp"
#include "base/names.hpp"
#include <valet/error.hpp>
#include <valet/options.hpp>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>

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

std::optional<std::optional<Method>> parse_method_name(const std::string& value) {
  if (value == stock_name) return std::optional<Method>();
  if (value == automatic_name) return Method::automatic;
  for (const schedule::MethodTraits& traits : schedule::methods())
    if (value == traits.upper_name) return traits.method;
  return std::nullopt;
}

std::string method_values() {
  std::string values = std::string(stock_name) + ", " + automatic_name;
  for (const schedule::MethodTraits& traits : schedule::methods())
    values.append(", ").append(traits.upper_name);
  return values;
}

std::optional<CallbackMode> parse_callbacks(const std::string& value) {
  for (const CallbackMode mode : {CallbackMode::hold, CallbackMode::steps})
    if (value == to_string(mode)) return mode;
  return std::nullopt;
}

/// Digits that make a number of this type.
template <class Number>
std::optional<Number> parse_number(const std::string& value) {
  Number number = 0;
  const char* const end = value.data() + value.size();
  const auto [read, error] = std::from_chars(value.data(), end, number);
  if (error != std::errc() || read != end || number < 0) return std::nullopt;
  return number;
}

std::optional<std::uint64_t> parse_granularity(const std::string& value) {
  const auto number = parse_number<std::uint64_t>(value);
  return number == 0U ? std::nullopt : number;
}

std::optional<bool> parse_flag(const std::string& value) {
  if (value == "0" || value == "1") return value == "1";
  return std::nullopt;
}

std::optional<std::string> parse_path(const std::string& value) {
  if (value.empty()) return std::nullopt;
  return value;
}

/// What `parse` throws an error for is no value.
template <auto parse>
auto parsed(const std::string& value) -> std::optional<decltype(parse(value))> {
  try {
    return parse(value);
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::optional<std::size_t> parse_memory(const std::string& value) {
  const auto bytes = parsed<parse_bytes>(value);
  return bytes == std::size_t{0} ? std::nullopt : bytes;
}

std::optional<WhenInfeasible> parse_when_infeasible(const std::string& value) {
  if (value == "REFUSE") return WhenInfeasible::refuse;
  if (value == "REPAIR") return WhenInfeasible::repair;
  if (value == "GROW") return WhenInfeasible::grow;
  return std::nullopt;
}

using Parameters = MigrationParameters;
constexpr unsigned any_object = 7;
constexpr auto behind_callbacks = static_cast<unsigned>(ObjectKind::callbacks);
constexpr auto in_storage = static_cast<unsigned>(ObjectKind::storage);
constexpr auto in_slots = in_storage | static_cast<unsigned>(ObjectKind::lists);

struct Row {
  const char* name;
  const char* values;  ///< for the warning; null: those of the table of methods
  bool (*set)(Parameters&, const std::string&);  ///< false: that is no value of it
  bool (*is_default)(const Parameters&);
  unsigned kinds = any_object;  ///< what it has a meaning for
  bool is_path = false;         ///< its letters are kept as they are
};

/// @tparam parse  Returns nothing for what is no value.
/// @tparam path   Of members, to the one that the parameter sets.
template <auto parse, auto... path>
constexpr Row row(const char* name, const char* values, unsigned kinds = any_object,
                  bool is_path = false) {
  return {name,
          values,
          [](Parameters& parameters, const std::string& text) {
            const auto value = parse(text);
            if (value) (parameters.*....*path) = *value;
            return value.has_value();
          },
          [](const Parameters& parameters) {
            return (parameters.*....*path) == (Parameters().*....*path);
          },
          kinds,
          is_path};
}

constexpr std::array<Row, ParameterTable::count> rows{
    {row<parse_method_name, &Parameters::method>("MIGRATE_METHOD", nullptr),
     row<parse_memory, &Parameters::options, &Options::budget_bytes>(
         "MIGRATE_MEMORY", "a number of bytes from 1 on, such as 65536, 64K, 4M or 1G"),
     row<parse_callbacks, &Parameters::callbacks>("MIGRATE_CALLBACKS", "HOLD, STEPS",
                                                  behind_callbacks),
     row<parse_flag, &Parameters::options, &Options::verify>("MIGRATE_VERIFY", "0, 1"),
     row<parse_flag, &Parameters::progress>("MIGRATE_PROGRESS", "0, 1"),
     row<parse_flag, &Parameters::verbose>("MIGRATE_VERBOSE", "0, 1"),
     row<parse_flag, &Parameters::options, &Options::share_memory>("MIGRATE_SHARE_MEMORY", "0, 1"),
     row<parse_flag, &Parameters::options, &Options::keep_memory>("MIGRATE_KEEP_MEMORY", "0, 1"),
     row<parse_path, &Parameters::report>("MIGRATE_REPORT", "the path of a file", any_object, true),
     row<parse_path, &Parameters::options, &Options::trace>("MIGRATE_TRACE", "the path of a file",
                                                            any_object, true),
     row<parse_path, &Parameters::options, &Options::transfers>(
         "MIGRATE_TRANSFERS", "the path of a file", any_object, true),
     row<parsed<parse_heuristic>, &Parameters::options, &Options::phased,
         &PhasedOptions::heuristic>(
         "MIGRATE_HEURISTIC", "FIRST_FIT, MAX_FIRST, RANDOM, FORTUNE_WHEEL, MIN_MAX, CONTINUOUS"),
     row<parse_number<int>, &Parameters::options, &Options::phased, &PhasedOptions::parking>(
         "MIGRATE_PARKING",
         "0 for never, or k: objects may wait on other ranks at every k-th phase"),
     row<parsed<parse_scheduler>, &Parameters::options, &Options::phased,
         &PhasedOptions::scheduler>("MIGRATE_SCHEDULER", "DISTRIBUTED, CENTRALIZED"),
     row<parse_number<std::uint64_t>, &Parameters::options, &Options::phased, &PhasedOptions::seed>(
         "MIGRATE_SEED", "a whole number from 0 on"),
     row<parsed<parse_edge_order>, &Parameters::options, &Options::cyclic,
         &CyclicOptions::edge_order>("MIGRATE_EDGE_ORDER", "ASCENDING, ROTATED"),
     row<parsed<parse_order>, &Parameters::options, &Options::order>("MIGRATE_ORDER",
                                                                     "ANY, FILL, STABLE", in_slots),
     row<parse_granularity, &Parameters::granularity>(
         "MIGRATE_GRANULARITY", "the most objects in a cell, 1 for each by itself", in_storage),
     row<parse_when_infeasible, &Parameters::when_infeasible>("MIGRATE_WHEN_INFEASIBLE",
                                                              "REFUSE, REPAIR, GROW", in_storage)}};

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

void ParameterTable::fall_back_to(const ParameterTable& other) {
  for (std::size_t k = 0; k < count; ++k)
    if (!values_[k]) values_[k] = other.values_[k];
}

void ParameterTable::leave_to(const MigrationParameters& options) {
  for (std::size_t k = 0; k < count; ++k)
    if (!rows[k].is_default(options)) values_[k].reset();
}

std::string ParameterTable::without_meaning_for(ObjectKind kind) const {
  for (std::size_t k = 0; k < count; ++k)
    if (values_[k] && ((rows[k].kinds & static_cast<unsigned>(kind)) == 0 ||
                       // Stock Zoltan moves no slots.
                       (rows[k].set == rows[0].set && *values_[k] == stock_name &&
                        kind != ObjectKind::callbacks)))
      return std::string(rows[k].name) + " = " + *values_[k];
  return {};
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
