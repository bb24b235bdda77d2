// SPDX-License-Identifier: BSD-3-Clause

// The 64-bit index type, which plans choose from 2^32 slots on: small maps planned with 32 bits,
// widened, and carried out.

#include "filled_map.hpp"
#include "plan/plan_state.hpp"
#include "test_comm.hpp"
#include <valet/valet.hpp>

#include <gtest/gtest.h>

#include <array>
#include <iostream>

namespace valet::test {
namespace {

using Narrow = plan::Flows<std::uint32_t>;
using Wide = plan::Flows<std::uint64_t>;

Array<std::uint64_t> widened(Ledger& ledger, const Array<std::uint32_t>& values) {
  Array<std::uint64_t> result(ledger, values.size());
  std::copy(values.begin(), values.end(), result.begin());
  return result;
}

void widen(Plan& plan) {
  plan::State& state = plan::Access::state_of(plan);
  Narrow narrow = std::move(std::get<Narrow>(state.flows));
  Wide& wide = state.flows.emplace<Wide>(state.ledger);
  wide.form = narrow.form;
  wide.any = narrow.any;
  wide.slots = narrow.slots;
  wide.blocks_before = narrow.blocks_before;
  wide.blocks_after = narrow.blocks_after;
  wide.blocks_resident = narrow.blocks_resident;
  wide.blocks_arriving = narrow.blocks_arriving;
  for (const auto& flow : narrow.outgoing)
    wide.outgoing.push_back({flow.rank, flow.count, flow.first});
  for (const auto& flow : narrow.incoming)
    wide.incoming.push_back({flow.rank, flow.count, flow.cursor, flow.message_blocks});
  wide.exports = widened(state.ledger, narrow.exports);
  wide.initially_free = std::move(narrow.initially_free);
  wide.holes = std::move(narrow.holes);
  wide.arrivals = widened(state.ledger, narrow.arrivals);
  wide.resident_from = widened(state.ledger, narrow.resident_from);
  wide.resident_to = widened(state.ledger, narrow.resident_to);
}

TEST(WideIndices, GiveTheSameContent) {
  const std::uint64_t maps = cases_wanted(300);
  if (rank() == 0) std::cout << "seeds " << seed() << " to " << seed() + maps - 1 << "\n";
  for (std::uint64_t k = 0; k < maps; ++k) {
    std::mt19937_64 random(seed() + k);
    const GlobalMap map = random_map(random, size(), pick(random, 1, 80),
                                     static_cast<Tightness>(pick(random, 0, 2)), false);
    const Form form = pick(random, 0, 1) == 0 ? Form::to_ranks : Form::to_slots;
    Options options;
    options.order = all_orders[pick(random, 0, 2)];
    options.method = std::array{Method::phased, Method::direct, Method::cyclic,
                                Method::stream}[std::min<std::size_t>(pick(random, 0, 9) / 2, 3)];
    options.budget_bytes = options.method == Method::direct
                               ? 1'000'000
                               : std::array<std::size_t, 3>{48, 200, 4000}[pick(random, 0, 2)];
    options.verify = pick(random, 0, 1) == 0;
    FilledMap filled(map, rank(), all_shapes[pick(random, 0, 3)]);
    Plan plan = filled.plan(MPI_COMM_WORLD, form, options);
    widen(plan);
    for (int repetition = 0; repetition < 2; ++repetition) {
      filled.fill();
      static_cast<void>(execute(plan, filled.storage()));
      ASSERT_EQ(sum_over_ranks(filled.wrong(form, options.order)), 0)
          << seed_note(seed() + k, 0) << ", " << to_string(options.method) << ", repetition "
          << repetition;
    }
  }
}

}  // namespace
}  // namespace valet::test
