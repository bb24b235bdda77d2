// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// One of many random cases in which every order, form, tightness and kind of budget occurs.

#include "filled_map.hpp"
#include "random_maps.hpp"

namespace valet::test {

struct SweptCase {
  GlobalMap map;
  Form form = Form::to_ranks;
  Options options;
};

/// Case k of the sweep that seed() begins.
inline SweptCase swept_case(std::uint64_t k, Method method, std::size_t block_bytes) {
  std::mt19937_64 random(seed() + k);
  SweptCase swept;
  swept.map = random_map(random, size(), pick(random, 1, 80), static_cast<Tightness>(k % 3), false);
  swept.form = k / 27 % 2 == 0 ? Form::to_ranks : Form::to_slots;
  Options& options = swept.options;
  options.method = method;
  options.order = all_orders[k / 3 % 3];
  options.verify = k % 2 == 0;
  options.budget_bytes = method == Method::direct
                             ? std::size_t{1} << 20
                             : std::array<std::size_t, 3>{2, 9, 500}[k / 9 % 3] * block_bytes;
  options.phased.parking = static_cast<int>(pick(random, 0, 2));
  return swept;
}

}  // namespace valet::test
