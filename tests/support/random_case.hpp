// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Random maps with the storage and the options that they are tried with; every rank draws alike.

#include "filled_map.hpp"
#include "random_options.hpp"

namespace valet::test {

struct MapCase {
  GlobalMap map;
  Tightness tightness = Tightness::loose;
  Shape shape = Shape::dense;
  bool masked = false;
  Form form = Form::to_ranks;
  Options options;
  std::size_t dense_bytes = 40;
};

inline MapCase random_map_case(std::mt19937_64& random) {
  MapCase c;
  c.tightness = static_cast<Tightness>(pick(random, 0, 2));
  c.shape = all_shapes[pick(random, 0, last_shape)];
  c.masked = pick(random, 0, 1) == 0;
  c.form = pick(random, 0, 2) == 0 ? Form::to_slots : Form::to_ranks;
  c.dense_bytes = std::array<std::size_t, 4>{8, 64, 1000, 20'000}[pick(random, 0, 3)];
  c.map = random_map(random, size(), std::array<std::uint64_t, 3>{3, 20, 150}[pick(random, 0, 2)],
                     c.tightness, !c.masked);
  c.options.order = all_orders[pick(random, 0, 2)];
  c.options.verify = pick(random, 0, 3) == 0;
  if (pick(random, 0, 3) == 0) c.options.negative_rank = NegativeRank::drop;
  c.options.stream.window = static_cast<int>(pick(random, 1, 8));
  c.options.message_bytes = pick(random, 0, 1) == 0 ? 0 : pick(random, 1, 2000);
  c.options.share_memory = pick(random, 0, 3) != 0;
  c.options.keep_memory = pick(random, 0, 3) != 0;
  return c;
}

}  // namespace valet::test
