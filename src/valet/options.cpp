// SPDX-License-Identifier: BSD-3-Clause
#include <valet/error.hpp>
#include <valet/options.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <limits>

namespace valet {
namespace {

std::string lower_case(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

template <class Value, std::size_t count>
Value parse_name(std::string_view name, const char* what, const std::array<Value, count>& values) {
  std::string known;
  for (const Value value : values) {
    if (lower_case(name) == to_string(value)) return value;
    known += (known.empty() ? "" : ", ") + std::string(to_string(value));
  }
  throw Error(ErrorCode::invalid_argument,
              "unknown " + std::string(what) + " '" + std::string(name) + "'; known: " + known);
}

}  // namespace

const char* to_string(Method method) noexcept {
  switch (method) {
    case Method::stream: return "stream";
    case Method::direct: return "direct";
    case Method::phased: return "phased";
    case Method::cyclic: return "cyclic";
  }
  return "unknown";
}

const char* to_string(Order order) noexcept {
  switch (order) {
    case Order::fill: return "fill";
    case Order::stable: return "stable";
  }
  return "unknown";
}

const char* to_string(Scheduler scheduler) noexcept {
  switch (scheduler) {
    case Scheduler::distributed: return "distributed";
    case Scheduler::centralized: return "centralized";
  }
  return "unknown";
}

Method parse_method(std::string_view name) {
  return parse_name(name, "method",
                    std::array{
                        Method::stream,
                        Method::direct,
                        Method::phased,
                        Method::cyclic,
                    });
}

Scheduler parse_scheduler(std::string_view name) {
  return parse_name(name, "scheduler", std::array{Scheduler::distributed, Scheduler::centralized});
}

Order parse_order(std::string_view name) {
  return parse_name(name, "order", std::array{Order::fill, Order::stable});
}

std::size_t parse_bytes(std::string_view text) {
  std::size_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  std::size_t unit = 1;
  bool good = error == std::errc() && rest != text.data();
  if (good && rest != end) {
    switch (std::toupper(static_cast<unsigned char>(*rest))) {
      case 'K': unit = std::size_t{1} << 10; break;
      case 'M': unit = std::size_t{1} << 20; break;
      case 'G': unit = std::size_t{1} << 30; break;
      default: good = false;
    }
    good = good && rest + 1 == end;
  }
  if (!good || value > std::numeric_limits<std::size_t>::max() / unit)
    throw Error(ErrorCode::invalid_argument,
                "'" + std::string(text) +
                    "' is not a number of bytes; write for example 4M, 512K or 65536");
  return value * unit;
}

}  // namespace valet
