// SPDX-License-Identifier: BSD-3-Clause
#include "base/names.hpp"
#include <valet/edge_order.hpp>

#include <array>

namespace valet::schedule {
namespace {

constexpr std::array all_orders{EdgeOrder::ascending, EdgeOrder::rotated};

}  // namespace

const char* to_string(EdgeOrder order) noexcept {
  switch (order) {
    case EdgeOrder::ascending: return "ascending";
    case EdgeOrder::rotated: return "rotated";
  }
  return "unknown";
}

EdgeOrder parse_edge_order(std::string_view name) {
  return detail::parse_name(name, "edge order", std::span(all_orders));
}

}  // namespace valet::schedule
