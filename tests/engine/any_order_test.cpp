// SPDX-License-Identifier: BSD-3-Clause

// Order::any: the slots follow from the map, the bytes of a block and the number of ranks, nothing
// is copied twice where the budget has room for what waits, and memory is 8 bytes a slot.

#include "failing_backend.hpp"
#include "filled_map.hpp"

namespace valet::test {
namespace {

/// Bytes of which flows of these tests are one grain, several, and grains of single blocks.
constexpr std::array<std::size_t, 4> block_sizes{8, 3000, 40'000, 200'000};

GlobalMap random_tight_map(std::uint64_t number, std::size_t block_bytes) {
  std::mt19937_64 random(seed() + number);
  const std::uint64_t slots = block_bytes > 100'000 ? 20 : 120;
  return random_map(random, size(), slots, static_cast<Tightness>(number % 3), number % 2 == 0);
}

/// All blocks of a rank go to the next one; all slots are occupied.
GlobalMap next_rank_map(std::uint64_t blocks) {
  GlobalMap map = empty_map(size(), blocks);
  for (int source = 0; source < size(); ++source)
    std::ranges::fill(row_of(map.destination, source), Address{(source + 1) % size(), 0});
  return map;
}

Options any_options(Method method, std::size_t budget_bytes) {
  return {.budget_bytes = budget_bytes, .method = method, .order = Order::any};
}

/// Slots of all ranks that are wrong after two executions.
long long wrong_after(FilledMap& filled, const GlobalContent& content, const Options& options) {
  Plan plan = filled.plan(MPI_COMM_WORLD, Form::to_ranks, options);
  long long wrong = 0;
  for (int repetition = 0; repetition < 2; ++repetition) {
    filled.fill();
    const Report report = execute(plan, filled.storage());
    EXPECT_LE(report.peak_extra_bytes, report.extra_bytes_bound);
    wrong += sum_over_ranks(filled.wrong(content));
  }
  return wrong;
}

TEST(AnyOrder, SlotsFollowFromTheMapWhateverTheMethodAndTheBudget) {
  for (const std::size_t block_bytes : block_sizes)
    for (std::uint64_t number = 0; number < 3; ++number) {
      const GlobalMap map = random_tight_map(number, block_bytes);
      FilledMap filled(map, rank(), Shape::dense, block_bytes);
      const GlobalContent content = filled.content(Form::to_ranks, Order::any);
      const auto expect_right = [&](Options options, const char* what) {
        for (const bool shares : {true, false}) {
          options.share_memory = shares;
          ASSERT_EQ(wrong_after(filled, content, options), 0)
              << what << ", " << seed_note(seed() + number, 0) << ", blocks of " << block_bytes
              << ", budget " << options.budget_bytes;
        }
      };
      const std::size_t all = std::size_t{64} << 20;
      expect_right(any_options(Method::direct, all), "direct");
      for (const std::size_t budget : {block_bytes, 3 * block_bytes, 9 * block_bytes,
                                       std::max(block_bytes, std::size_t{64} << 10), all / 16}) {
        expect_right(any_options(Method::stream, budget), "stream");
        if (number > 0) continue;
        expect_right(any_options(Method::phased, budget), "phased");
        expect_right(any_options(Method::cyclic, budget), "cyclic");
      }
    }
}

TEST(AnyOrder, RanksMayHaveVeryDifferentRoom) {
  for (const std::size_t block_bytes : block_sizes)
    for (std::uint64_t number = 0; number < 6; ++number) {
      const GlobalMap map = random_tight_map(number, block_bytes);
      FilledMap filled(map, rank(), Shape::dense, block_bytes);
      const auto turn = (static_cast<std::uint64_t>(rank()) + number) % 4;
      const std::size_t budget = std::array<std::size_t, 4>{
          1, 4, 1 + 300'000 / block_bytes, 1 + (std::size_t{4} << 20) / block_bytes}[turn];
      const GlobalContent content = filled.content(Form::to_ranks, Order::any);
      ASSERT_EQ(wrong_after(filled, content, any_options(Method::stream, budget * block_bytes)), 0)
          << seed_note(seed() + number, 0);
    }
}

// No slot is free, and rank 0 has to take a grain from rank 1 before a slot of its own is left:
// rank 1 takes what the last rank has for it before what rank 2 has, and rank 0 leaves its slots to
// rank 2 first (schedule::turn_of() a distance of two is the least). So all of the grain waits, in
// as little room as there may be.
TEST(AnyOrder, RoomForThoseThatWaitAndOneMoreIsEnough) {
  if (size() < 4) GTEST_SKIP() << "needs four ranks";
  constexpr std::size_t block_bytes = 64;
  constexpr std::uint64_t grain = 512;
  std::vector<std::uint64_t> slots(static_cast<std::size_t>(size()), 0);
  for (const std::size_t full : {0, 1}) slots[full] = 2 * grain;
  const int last = size() - 1;
  for (const int half : {2, last}) slots[static_cast<std::size_t>(half)] = grain;
  GlobalMap map = empty_map(slots);
  for (std::uint64_t slot = 0; slot < 2 * grain; ++slot) {
    const int half = slot < grain ? 2 : last;
    map.destination[0][slot] = Address{half, 0};
    map.destination[1][slot] = Address{0, 0};
    row_of(map.destination, half)[slot % grain] = Address{1, 0};
  }
  FilledMap filled(map, rank(), Shape::dense, block_bytes);
  const GlobalContent content = filled.content(Form::to_ranks, Order::any);
  // The least in which they are received in order, and more of it for what is sent.
  for (const std::uint64_t spare : {std::uint64_t{2}, grain / 8, grain / 2, 3 * grain})
    for (const bool shares : {false, true})
      for (const std::size_t message_blocks : {1, 7})
        for (const int window : {1, 32}) {
          if (shares && message_blocks == 1) continue;  // as slow as it is useless
          Options options = any_options(Method::stream, (grain + spare) * block_bytes);
          options.share_memory = shares;
          options.message_bytes = message_blocks * block_bytes;
          options.stream.window = window;
          EXPECT_EQ(wrong_after(filled, content, options), 0)
              << spare << " blocks more, " << message_blocks << " in a message, window " << window
              << ", shares " << shares;
        }
}

TEST(AnyOrder, NothingIsCopiedTwiceWhereThereIsRoom) {
  for (const std::size_t block_bytes : block_sizes)
    for (std::uint64_t number = 0; number < 12; ++number) {
      const GlobalMap map = random_tight_map(number, block_bytes);
      FilledMap filled(map, rank(), Shape::dense, block_bytes);
      Plan plan = filled.plan(MPI_COMM_WORLD, Form::to_ranks,
                              any_options(Method::stream, std::size_t{16} << 20));
      const Report report = execute(plan, filled.storage());
      // The least there can be: blocks that stay, in slots that nothing is to occupy any more.
      std::uint64_t above = 0;
      const auto& row = map.destination[static_cast<std::size_t>(rank())];
      for (std::uint64_t slot = report.blocks_after; slot < row.size(); ++slot)
        above += row[slot] && row[slot]->rank == rank() ? 1 : 0;
      EXPECT_EQ(report.misplaced, 0U) << seed_note(seed() + number, 0);
      EXPECT_EQ(report.local_copies, above) << seed_note(seed() + number, 0);
    }
}

TEST(AnyOrder, LongRunsGoStraightFromSlotsToSlots) {
  if (size() == 1) GTEST_SKIP();
  constexpr std::size_t block_bytes = 16'384;
  constexpr std::uint64_t blocks = 512;
  std::vector<std::uint64_t> words(blocks * block_bytes / sizeof(std::uint64_t));
  const auto word = [&](std::uint64_t slot) -> std::uint64_t& {
    return words[slot * block_bytes / sizeof(std::uint64_t)];
  };
  const auto first_word = [](int rank) { return blocks * static_cast<std::uint64_t>(rank); };
  for (std::uint64_t slot = 0; slot < blocks; ++slot) word(slot) = first_word(rank()) + slot;
  const auto backend = std::make_shared<FailingBackend>(
      BlockStorage({strided_field(words.data(), blocks, block_bytes, block_bytes)}), Reach::host);
  BlockStorage storage(backend);
  const std::vector<int> ranks(blocks, (rank() + 1) % size());
  Options options = any_options(Method::stream, std::size_t{4} << 20);
  options.share_memory = false;
  const Report report = migrate(MPI_COMM_WORLD, storage, blocks, ranks, options);
  EXPECT_EQ(report.misplaced, 0U);
  // 32 blocks wait for the last holes, which are the last 32 slots; block k takes slot k - 32.
  for (std::uint64_t slot = 0; slot < blocks; ++slot)
    ASSERT_EQ(word(slot), first_word((rank() + size() - 1) % size()) + (slot + 32) % blocks);
  // With more of them a rank whose destination waits for another rank goes on through scratch.
  if (size() == 2) {
    EXPECT_LE(4 * backend->calls(Call::scatter), report.messages) << "hardly any is unpacked";
  }
}

// The shift of 32 blocks is not a multiple of these messages.
TEST(AnyOrder, OnlyTheShiftWaitsForTheLastHolesWhateverTheMessagesAre) {
  constexpr std::size_t block_bytes = 16'384;
  const GlobalMap map = next_rank_map(512);
  FilledMap filled(map, rank(), Shape::dense, block_bytes);
  Options options = any_options(Method::stream, std::size_t{4} << 20);
  options.share_memory = false;
  options.message_bytes = 5 * block_bytes;
  EXPECT_EQ(wrong_after(filled, filled.content(Form::to_ranks, Order::any), options), 0);
}

TEST(AnyOrder, TakesEightBytesASlot) {
  constexpr std::uint64_t slots = 5000;
  const GlobalMap map = ring_map(size(), slots, slots, 0);
  FilledMap filled(map, rank(), Shape::dense, 64);
  const auto bytes_for_slots = [&](const Options& options) {
    Plan plan = filled.plan(MPI_COMM_WORLD, Form::to_ranks, options);
    filled.fill();
    const Report report = execute(plan, filled.storage());
    EXPECT_LE(report.peak_extra_bytes, report.extra_bytes_bound);
    const std::uint64_t tables =
        report.plan_from_layout ? 64 * static_cast<std::uint64_t>(size()) : 0;
    return report.extra_bytes_bound - report.budget_bytes - 65536 - 256 * report.neighbours -
           tables;
  };
  EXPECT_EQ(bytes_for_slots(any_options(Method::stream, std::size_t{4} << 20)), 8 * slots);
  EXPECT_EQ(bytes_for_slots(any_options(Method::direct, std::size_t{4} << 20)), 8 * slots);
  // Methods that bring blocks in another order list their slots.
  EXPECT_EQ(bytes_for_slots(any_options(Method::phased, std::size_t{4} << 20)), 16 * slots);
}

TEST(AnyOrder, KeepsFourBytesForABlockThatLeavesAndABitForASlot) {
  const auto kept = [](std::uint64_t slots) {
    const GlobalMap map = ring_map(size(), slots, slots, 0);
    FilledMap filled(map, rank(), Shape::dense, 64);
    const Plan plan = filled.plan(MPI_COMM_WORLD, Form::to_ranks,
                                  any_options(Method::stream, std::size_t{1} << 20));
    return plan.extra_bytes();
  };
  constexpr std::uint64_t slots = 64 * 64 * 10;
  const auto ranks = static_cast<std::uint64_t>(size());
  const std::uint64_t leaving = slots - (slots + ranks - 1) / ranks;  // those to this rank stay
  const std::uint64_t more = kept(2 * slots) - kept(slots);
  EXPECT_GE(more, 4 * leaving);
  EXPECT_LE(more, 4 * (leaving + ranks) + slots / 8 + slots / 512);
}

}  // namespace
}  // namespace valet::test
