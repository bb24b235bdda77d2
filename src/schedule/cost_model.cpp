// SPDX-License-Identifier: BSD-3-Clause
#include <valet/cost_model.hpp>
#include <valet/error.hpp>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <string>

namespace valet::schedule {
namespace {

struct Entry {
  std::string_view name;
  double CostModel::*value;
};

constexpr std::array<Entry, 4> entries{{{"latency", &CostModel::latency_seconds},
                                        {"bandwidth", &CostModel::bandwidth},
                                        {"copy", &CostModel::copy_bandwidth},
                                        {"block", &CostModel::block_seconds}}};

[[noreturn]] void refuse(std::string_view entry) {
  throw Error(ErrorCode::invalid_argument,
              "'" + std::string(entry) + "' is not an entry of a cost model; write for example " +
                  to_string(CostModel{}) +
                  " (seconds, bytes per second, bytes per second, seconds; all above 0)");
}

void read_entry(std::string_view text, CostModel& model) {
  const std::size_t sign = text.find('=');
  if (sign == std::string_view::npos) refuse(text);
  for (const Entry& entry : entries) {
    if (text.substr(0, sign) != entry.name) continue;
    const std::string_view number = text.substr(sign + 1);
    double value = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (error != std::errc() || end != number.data() + number.size()) refuse(text);
    if (!(value > 0) || !std::isfinite(value)) refuse(text);
    model.*entry.value = value;
    return;
  }
  refuse(text);
}

}  // namespace

CostModel parse_cost_model(std::string_view text) {
  CostModel model;
  for (;;) {
    const std::size_t comma = text.find(',');
    read_entry(text.substr(0, comma), model);
    if (comma == std::string_view::npos) return model;
    text.remove_prefix(comma + 1);
  }
}

std::string to_string(const CostModel& model) {
  std::string text;
  for (const Entry& entry : entries) {
    std::array<char, 32> number{};
    std::snprintf(number.data(), number.size(), "%.4g", model.*entry.value);
    if (!text.empty()) text.append(",");
    text.append(entry.name).append("=").append(number.data());
  }
  return text;
}

}  // namespace valet::schedule
