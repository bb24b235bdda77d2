// SPDX-License-Identifier: BSD-3-Clause
#include "parameters.hpp"

#include <valet/error.hpp>
#include <valet/options.hpp>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>

namespace valet::zoltan {
namespace {

enum Name {
  method,
  memory,
  callbacks,
  verify,
  progress,
  share_memory,
  report,
  trace,
  heuristic,
  parking,
  scheduler
};

struct Known {
  const char* name;
  const char* values;  ///< for the warning; null: those of the table of methods
};

constexpr std::array<Known, 11> known{
    {{"MIGRATE_METHOD", nullptr},
     {"MIGRATE_MEMORY", "bytes, with K, M or G"},
     {"MIGRATE_CALLBACKS", "HOLD, STEPS"},
     {"MIGRATE_VERIFY", "0, 1"},
     {"MIGRATE_PROGRESS", "0, 1"},
     {"MIGRATE_SHARE_MEMORY", "0, 1"},
     {"MIGRATE_REPORT", "the path of a file"},
     {"MIGRATE_TRACE", "the path of a file"},
     {"MIGRATE_HEURISTIC",
      "FIRST_FIT, MAX_FIRST, RANDOM, FORTUNE_WHEEL, MIN_MAX, "
      "CONTINUOUS"},
     {"MIGRATE_PARKING", "0 for never, or k: objects may wait on other ranks at every k-th phase"},
     {"MIGRATE_SCHEDULER", "DISTRIBUTED, CENTRALIZED"}}};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view white = " \t\n\r\f\v";
  const std::size_t first = text.find_first_not_of(white);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(white) - first + 1);
}

constexpr const char* stock_name = "ZOLTAN";
constexpr const char* automatic_name = "AUTO";

/// The row of a method that the parameter takes; nullptr for none.
const schedule::MethodTraits* traits_named(const std::string& value) {
  for (const schedule::MethodTraits* const traits : schedule::methods())
    if (traits->serves_dropin && value == traits->upper_name) return traits;
  return nullptr;
}

bool is_method(const std::string& value) {
  return value == stock_name || value == automatic_name || traits_named(value) != nullptr;
}

std::optional<Method> method_of(const std::string& value) {
  if (value == stock_name) return std::nullopt;
  return value == automatic_name ? Method::automatic : traits_named(value)->method;
}

std::string method_values() {
  std::string values = std::string(stock_name) + ", " + automatic_name;
  for (const schedule::MethodTraits* const traits : schedule::methods())
    if (traits->serves_dropin) values.append(", ").append(traits->upper_name);
  return values;
}

std::optional<CallbackMode> callbacks_of(const std::string& value) {
  for (const auto candidate : {CallbackMode::hold, CallbackMode::steps})
    if (value == to_string(candidate)) return candidate;
  return std::nullopt;
}

/// Whether `parse` takes the value.
template <class Parse>
bool is_known(Parse&& parse, const std::string& value) {
  try {
    static_cast<void>(parse(value));
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// A number of phases: digits, within an int.
std::optional<int> phases_of(const std::string& value) {
  int number = 0;
  const char* const end = value.data() + value.size();
  const auto [read, error] = std::from_chars(value.data(), end, number);
  if (error != std::errc() || read != end || number < 0) return std::nullopt;
  return number;
}

bool is_valid(std::size_t name, const std::string& value) {
  switch (name) {
    case method: return is_method(value);
    case memory: return is_known(parse_bytes, value) && parse_bytes(value) > 0;
    case callbacks: return callbacks_of(value).has_value();
    case report:
    case trace: return !value.empty();
    case heuristic: return is_known(parse_heuristic, value);
    case parking: return phases_of(value).has_value();
    case scheduler: return is_known(parse_scheduler, value);
    default: return value == "0" || value == "1";
  }
}

}  // namespace

std::string upper(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  return result;
}

const char* name_of(std::optional<Method> method) {
  if (!method) return stock_name;
  return *method == Method::automatic ? automatic_name : schedule::traits_of(*method).upper_name;
}

const char* to_string(CallbackMode value) noexcept {
  return value == CallbackMode::hold ? "HOLD" : "STEPS";
}

ParameterAnswer ParameterTable::set(std::string_view name, std::string_view value) {
  const std::string wanted = upper(trimmed(name));
  const auto matches = [&](const Known& one) { return wanted == one.name; };
  const auto found = std::find_if(known.begin(), known.end(), matches);
  if (found == known.end()) return {};
  const auto index = static_cast<std::size_t>(found - known.begin());
  // The path of a file keeps its letters.
  const std::string clean = upper(trimmed(value));
  const std::string kept = index == report || index == trace ? std::string(trimmed(value)) : clean;
  if (clean == "DEFAULT") {
    values_[index].reset();
    return {ParameterAnswer::Verdict::taken, {}};
  }
  if (!is_valid(index, kept))
    return {ParameterAnswer::Verdict::refused,
            "Invalid value `" + kept + "' for parameter `" + wanted + "'; it takes " +
                (index == method ? method_values() : found->values) + ". It stays as it was."};
  values_[index] = kept;
  return {ParameterAnswer::Verdict::taken, {}};
}

void ParameterTable::apply_to(MigrationParameters& parameters) const {
  if (values_[method]) parameters.method = method_of(*values_[method]);
  if (values_[memory]) parameters.memory_bytes = parse_bytes(*values_[memory]);
  if (values_[callbacks]) parameters.callbacks = *callbacks_of(*values_[callbacks]);
  if (values_[verify]) parameters.verify = *values_[verify] == "1";
  if (values_[progress]) parameters.progress = *values_[progress] == "1";
  if (values_[share_memory]) parameters.share_memory = *values_[share_memory] == "1";
  if (values_[report]) parameters.report = *values_[report];
  if (values_[trace]) parameters.trace = *values_[trace];
  if (values_[heuristic]) parameters.heuristic = parse_heuristic(*values_[heuristic]);
  if (values_[parking]) parameters.parking = *phases_of(*values_[parking]);
  if (values_[scheduler]) parameters.scheduler = parse_scheduler(*values_[scheduler]);
}

ParameterTable parameters_of_environment(std::string& warnings) {
  ParameterTable table;
  for (const Known& one : known) {
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
