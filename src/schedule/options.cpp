// SPDX-License-Identifier: BSD-3-Clause
#include "base/names.hpp"
#include "schedule/methods.hpp"
#include <valet/error.hpp>
#include <valet/options.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <limits>

namespace valet {
namespace {

using detail::Named;

#define VALET_NAMED(C, name) \
  , Named { Method::name, #name }
constexpr std::array method_names{
    Named{Method::automatic, "automatic", "auto"} VALET_METHODS(VALET_NAMED)};
#undef VALET_NAMED

constexpr std::array orders{Named{Order::any, "any"}, Named{Order::fill, "fill"},
                            Named{Order::stable, "stable"}};
constexpr std::array negative_ranks{Named{NegativeRank::refuse, "refuse"},
                                    Named{NegativeRank::drop, "drop"}};
constexpr std::array schedulers{Named{Scheduler::distributed, "distributed"},
                                Named{Scheduler::centralized, "centralized"}};
constexpr std::array edge_orders{Named{EdgeOrder::ascending, "ascending"},
                                 Named{EdgeOrder::rotated, "rotated"}};
constexpr std::array heuristics{
    Named{Heuristic::first_fit, "first_fit"}, Named{Heuristic::max_first, "max_first"},
    Named{Heuristic::random, "random"},       Named{Heuristic::fortune_wheel, "fortune_wheel"},
    Named{Heuristic::min_max, "min_max"},     Named{Heuristic::continuous, "continuous"}};

}  // namespace

const char* to_string(Method method) noexcept { return detail::name_of(method_names, method); }
const char* to_string(Order order) noexcept { return detail::name_of(orders, order); }
const char* to_string(NegativeRank choice) noexcept {
  return detail::name_of(negative_ranks, choice);
}
const char* to_string(Scheduler scheduler) noexcept {
  return detail::name_of(schedulers, scheduler);
}
const char* to_string(Heuristic heuristic) noexcept {
  return detail::name_of(heuristics, heuristic);
}
const char* to_string(EdgeOrder order) noexcept { return detail::name_of(edge_orders, order); }

Method parse_method(std::string_view name) {
  return detail::value_of(method_names, "method", name);
}
Order parse_order(std::string_view name) { return detail::value_of(orders, "order", name); }
Scheduler parse_scheduler(std::string_view name) {
  return detail::value_of(schedulers, "scheduler", name);
}
Heuristic parse_heuristic(std::string_view name) {
  return detail::value_of(heuristics, "heuristic", name);
}
EdgeOrder parse_edge_order(std::string_view name) {
  return detail::value_of(edge_orders, "edge order", name);
}

std::optional<Diagnostic> schedule::check_method(const char* option, Method method) {
  return detail::unknown_choice(method_names, option, method);
}

std::optional<Diagnostic> schedule::check_choices(const Options& options) {
  std::optional<Diagnostic> unknown = check_method("option method", options.method);
  const auto check = [&](const auto& choices, const char* option, auto value) {
    if (!unknown) unknown = detail::unknown_choice(choices, option, value);
  };
  check(orders, "option order", options.order);
  check(negative_ranks, "option negative_rank", options.negative_rank);
  check(heuristics, "option phased.heuristic", options.phased.heuristic);
  check(schedulers, "option phased.scheduler", options.phased.scheduler);
  check(edge_orders, "option cyclic.edge_order", options.cyclic.edge_order);
  return unknown;
}

std::span<const Heuristic> all_heuristics() noexcept {
  static constexpr auto all = [] {
    std::array<Heuristic, heuristics.size()> values{};
    std::transform(heuristics.begin(), heuristics.end(), values.begin(),
                   [](const auto& entry) { return entry.value; });
    return values;
  }();
  return all;
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
    const std::string_view behind(rest + 1, end);
    good = good && (behind.empty() || behind == "iB");
  }
  if (!good || value > std::numeric_limits<std::size_t>::max() / unit)
    refuse("'", text, "' is not a number of bytes; write for example 4M, 4MiB, 512K or 65536");
  return value * unit;
}

}  // namespace valet
