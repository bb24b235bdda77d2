// SPDX-License-Identifier: BSD-3-Clause
#include "base/names.hpp"
#include <valet/error.hpp>
#include <valet/options.hpp>

#include <array>
#include <cctype>
#include <charconv>
#include <limits>
#include <span>

namespace valet {
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

Scheduler parse_scheduler(std::string_view name) {
  static constexpr std::array all{Scheduler::distributed, Scheduler::centralized};
  return schedule::detail::parse_name(name, "scheduler", std::span(all));
}

Order parse_order(std::string_view name) {
  static constexpr std::array all{Order::fill, Order::stable};
  return schedule::detail::parse_name(name, "order", std::span(all));
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
