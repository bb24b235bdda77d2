// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// A good call that a test spoils on the last rank, and what all ranks must then say.

#include "filled_map.hpp"

namespace valet::test {

constexpr std::uint64_t slots = 6;
constexpr std::uint64_t blocks = 4;

/// As errors write who has a value.
inline std::string odd_ranks() { return "rank " + std::to_string(odd_rank()); }
inline std::string other_ranks() {
  return odd_rank() == 1 ? "rank 0" : "ranks 0-" + std::to_string(odd_rank() - 1);
}

/// A good call, which a test spoils on the odd rank: block k of rank r goes to slot k of rank
/// r + k + 1.
struct Call {
  explicit Call(std::uint64_t slot_count = slots) : memory(Shape::structure, slot_count) {
    for (std::uint64_t k = 0; k < blocks; ++k) {
      memory.write(k, {rank(), k});
      ranks.push_back((rank() + static_cast<int>(k) + 1) % size());
      addresses.push_back({ranks.back(), k});
    }
    before = memory.memory();
  }

  Plan plan_ranks() { return plan_to_ranks(MPI_COMM_WORLD, storage, occupied, ranks, options); }
  Plan plan_slots() { return plan_to_slots(MPI_COMM_WORLD, storage, occupied, addresses, options); }

  AddressedBlocks memory;
  BlockStorage storage = memory.storage();
  Occupied occupied{blocks};
  std::vector<int> ranks;
  std::vector<Address> addresses;
  Options options;
  std::vector<std::byte> before;
};

inline bool good_migration_works() {
  const GlobalMap map = ring_map(size(), slots, blocks, 1);
  FilledMap filled(map, rank(), Shape::dense);
  Plan plan = filled.plan(MPI_COMM_WORLD, Form::to_ranks, {});
  execute(plan, filled.storage());
  return all_ranks(filled.wrong(Form::to_ranks, Order::any) == 0);
}

inline void expect_refused(const Call& call, const std::function<void()>& action, ErrorCode code,
                           const std::vector<std::string>& words) {
  const Outcome outcome = outcome_of(action);
  const bool same = same_on_all_ranks(outcome);
  const bool untouched = all_ranks(call.memory.memory() == call.before);
  EXPECT_EQ(outcome.code, code) << outcome.text;
  EXPECT_TRUE(same) << "this rank says: " << outcome.text;
  EXPECT_TRUE(untouched) << "data was moved before the error was found";
  expect_words(outcome.text, words);
  EXPECT_TRUE(good_migration_works()) << "after the error";
}

inline void expect_plans_refused(Call& call, ErrorCode code,
                                 const std::vector<std::string>& words) {
  SCOPED_TRACE("map to ranks");
  expect_refused(
      call, [&] { call.plan_ranks(); }, code, words);
  SCOPED_TRACE("then a map to slots");
  expect_refused(
      call, [&] { call.plan_slots(); }, code, words);
}

}  // namespace valet::test
