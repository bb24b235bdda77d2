// SPDX-License-Identifier: BSD-3-Clause
#include "base/environment.hpp"

#include <valet/log.hpp>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <unistd.h>
#include <utility>
#include <vector>

namespace valet::detail {
namespace {

constexpr std::string_view prefix = "VALET_";

/// Not for Valet, though they have its name.
constexpr std::array<std::string_view, 10> others{
    "VALET_TEST_", "VALET_ROOT",    "VALET_DIR", "VALET_HOME", "VALET_PREFIX",
    "VALET_PATH",  "VALET_VERSION", "VALET_LIB", "VALET_INC",  "VALET_BIN"};

bool is_for_others(std::string_view name) {
  return std::ranges::any_of(others,
                             [&](std::string_view other) { return name.starts_with(other); });
}

/// A name without its MIGRATE_, or with it where there is none, is nearer than the letters say.
std::string_view nearest(std::string_view name) {
  const std::string with_migrate =
      std::string(prefix) + "MIGRATE_" + std::string(name.substr(prefix.size()));
  return *std::ranges::min_element(variables, {}, [&](std::string_view known) {
    return std::min(edit_distance(name, known), edit_distance(with_migrate, known) + 1);
  });
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

std::string unknown_variables(const char* const* environment) {
  std::string text;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const std::string_view name = entry.substr(0, entry.find('='));
    const bool is_known = std::ranges::find(variables, name) != variables.end();
    if (!name.starts_with(prefix) || is_known || is_for_others(name)) continue;
    text.append(text.empty() ? "" : ", ").append(name);
    text.append(" (the nearest name is ").append(nearest(name)).append(")");
  }
  return text;
}

void warn_of_unknown_variables(int rank) {
  static std::atomic<bool> is_done = false;
  if (is_done.exchange(true)) return;
  const std::string unknown = unknown_variables(environ);
  if (!unknown.empty())
    log(LogLevel::warning, rank,
        "the environment has variables that Valet does not know and ignores: " + unknown);
}

}  // namespace valet::detail
