// SPDX-License-Identifier: BSD-3-Clause
#include "base/names.hpp"
#include <valet/heuristic.hpp>

#include <array>

namespace valet::schedule {

const char* to_string(Heuristic heuristic) noexcept {
  switch (heuristic) {
    case Heuristic::first_fit: return "first_fit";
    case Heuristic::max_first: return "max_first";
    case Heuristic::random: return "random";
    case Heuristic::fortune_wheel: return "fortune_wheel";
    case Heuristic::min_max: return "min_max";
    case Heuristic::continuous: return "continuous";
  }
  return "unknown";
}

std::span<const Heuristic> all_heuristics() noexcept {
  static constexpr std::array all{Heuristic::first_fit, Heuristic::max_first,
                                  Heuristic::random,    Heuristic::fortune_wheel,
                                  Heuristic::min_max,   Heuristic::continuous};
  return all;
}

Heuristic parse_heuristic(std::string_view name) {
  return detail::parse_name(name, "heuristic", all_heuristics());
}

}  // namespace valet::schedule
