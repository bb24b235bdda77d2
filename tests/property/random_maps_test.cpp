// SPDX-License-Identifier: BSD-3-Clause

// The promise as a property: every feasible map finishes, with any budget down to a single block,
// and every block is where the map said, bit for bit, whatever the method and the storage.

#include "random_maps.hpp"

#include "addressed_blocks.hpp"
#include "test_comm.hpp"
#include <valet/valet.hpp>

#include <gtest/gtest.h>

#include <array>
#include <iostream>

namespace valet::test {
namespace {

constexpr int maps = 2000;       // per rank count; the program runs with 1, 2, 3, 5 and 8 ranks
constexpr int phased_every = 8;  // a phase waits for the slowest, so these maps take longer

struct Case {
  GlobalMap map;
  Tightness tightness = Tightness::loose;
  Shape shape = Shape::dense;
  bool masked = false;
  bool to_slots = false;
  Options options;
  std::size_t dense_bytes = 40;
};

Case random_case(std::mt19937_64& random) {
  Case c;
  c.tightness = static_cast<Tightness>(pick(random, 0, 2));
  c.shape = all_shapes[pick(random, 0, 3)];
  c.masked = pick(random, 0, 1) == 0;
  c.to_slots = pick(random, 0, 2) == 0;
  c.dense_bytes = std::array<std::size_t, 4>{8, 64, 1000, 20'000}[pick(random, 0, 3)];
  c.map = random_map(random, size(), std::array<std::uint64_t, 3>{3, 20, 150}[pick(random, 0, 2)],
                     c.tightness, !c.masked);
  c.options.order = all_orders[pick(random, 0, 2)];
  c.options.verify = pick(random, 0, 3) == 0;
  c.options.stream.window = static_cast<int>(pick(random, 1, 8));
  c.options.message_bytes = pick(random, 0, 1) == 0 ? 0 : pick(random, 1, 2000);
  c.options.share_memory = pick(random, 0, 3) != 0;
  return c;
}

/// Any of the many ways of the phased method.
Options random_phases(std::mt19937_64& random, Options options) {
  options.phased.heuristic = all_heuristics()[pick(random, 0, 5)];
  options.phased.scheduler =
      pick(random, 0, 2) == 0 ? Scheduler::centralized : Scheduler::distributed;
  options.phased.parking = static_cast<int>(pick(random, 0, 3));
  options.phased.seed = random();
  return options;
}

/// The budget of this rank. In every third case each rank has one of its own, so that some ranks
/// can share memory with others and some cannot.
std::size_t random_budget_blocks(std::mt19937_64& random) {
  constexpr std::array<std::size_t, 8> budgets{1, 1, 2, 3, 8, 40, 200, 5000};
  const std::uint64_t choice = pick(random, 0, budgets.size() - 1);
  const std::uint64_t stride = pick(random, 0, 2) == 0 ? pick(random, 1, budgets.size() - 1) : 0;
  return budgets[(choice + stride * static_cast<std::uint64_t>(rank())) % budgets.size()];
}

/// Runs a case; returns the number of slots on this rank that are wrong, and checks the memory.
long long run(const Case& c, Method method, std::size_t budget_blocks) {
  const auto self = static_cast<std::size_t>(rank());
  const auto& destination = c.map.destination[self];
  AddressedBlocks blocks(c.shape, c.map.slots[self], c.dense_bytes);
  std::vector<std::uint8_t> mask(destination.size(), 0);
  std::vector<int> ranks(destination.size(), -7);  // entries of free slots must not matter
  std::vector<Address> addresses(destination.size(), Address{-7, 1'000'000});
  std::uint64_t count = 0;
  for (std::uint64_t slot = 0; slot < destination.size(); ++slot) {
    if (!destination[slot]) continue;
    blocks.write(slot, {rank(), slot});
    mask[slot] = 1;
    ranks[slot] = destination[slot]->rank;
    addresses[slot] = *destination[slot];
    ++count;
  }
  const BlockStorage storage = blocks.storage();
  Options options = c.options;
  options.method = method;
  options.budget_bytes = budget_blocks * storage.block_bytes();
  const std::size_t entries = c.masked ? destination.size() : static_cast<std::size_t>(count);
  const Occupied occupied = c.masked ? Occupied::masked(mask) : Occupied(count);
  const Report report = c.to_slots
                            ? migrate(MPI_COMM_WORLD, storage, occupied,
                                      std::span<const Address>(addresses).first(entries), options)
                            : migrate(MPI_COMM_WORLD, storage, occupied,
                                      std::span<const int>(ranks).first(entries), options);
  const GlobalContent content =
      c.to_slots ? content_by_slots(c.map)
                 : content_by_ranks(c.map, c.options.order, storage.block_bytes());
  long long wrong = 0;
  for (std::uint64_t slot = 0; slot < content[self].size(); ++slot)
    if (content[self][slot] && !blocks.holds(slot, *content[self][slot])) ++wrong;
  if (report.peak_extra_bytes > report.extra_bytes_bound) {
    ADD_FAILURE() << "peak " << report.peak_extra_bytes << " bytes, promised at most "
                  << report.extra_bytes_bound;
    ++wrong;
  }
  return wrong;
}

TEST(RandomMaps, EveryBlockArrivesWhateverTheBudget) {
  const std::uint64_t first_seed = seed();
  if (rank() == 0) std::cout << "seeds " << first_seed << " to " << first_seed + maps - 1 << "\n";
  for (std::uint64_t k = 0; k < maps; ++k) {
    std::mt19937_64 random(first_seed + k);
    const Case c = random_case(random);
    const long long wrong = sum_over_ranks(run(c, Method::stream, random_budget_blocks(random)));
    ASSERT_EQ(wrong, 0) << "seed " << first_seed + k;
    const long long wrong_direct = sum_over_ranks(run(c, Method::direct, 5000));
    ASSERT_EQ(wrong_direct, 0) << "seed " << first_seed + k << ", direct";
    if (k % phased_every != 0) continue;
    Case phased = c;
    phased.options = random_phases(random, c.options);
    // The matrix of a centralized scheduler must fit the budget of rank 0.
    const bool has_matrix =
        rank() == 0 && phased.options.phased.scheduler == Scheduler::centralized;
    const long long wrong_phased = sum_over_ranks(
        run(phased, Method::phased, random_budget_blocks(random) + (has_matrix ? 2000 : 0)));
    ASSERT_EQ(wrong_phased, 0) << "seed " << first_seed + k << ", phased, "
                               << to_string(phased.options.phased.heuristic) << ", "
                               << to_string(phased.options.phased.scheduler) << ", parking "
                               << phased.options.phased.parking;
  }
}

}  // namespace
}  // namespace valet::test
