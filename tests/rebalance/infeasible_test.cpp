// SPDX-License-Identifier: BSD-3-Clause

// A partitioner that sends all objects to rank 0, which has not the room: refused, repaired, or
// carried out in storages that the application enlarges. The odd ranks have no objects.

#include "line_of_objects.hpp"
#include "partitioners.hpp"
#include "rebalance/settings.hpp"
#include "test_comm.hpp"

namespace valet::test {
namespace {

constexpr std::uint64_t each = 60;

LineOfObjects crowded_line(std::uint64_t slots) { return {rank() % 2 == 0 ? each : 0, slots}; }

ByFunction to_rank_0() {
  return ByFunction([](std::uint64_t) { return 0; });
}

/// Whether rank 0 lacks slots: it has its own objects at first.
bool is_too_much() { return size() > 2; }

TEST(InfeasiblePartition, IsRefused) {
  LineOfObjects objects = crowded_line(each);
  ByFunction partitioner = to_rank_0();
  Rebalancing rebalancing(partitioner, verified());
  const Outcome outcome = outcome_of([&] { rebalancing.run(objects); });
  EXPECT_EQ(outcome.code, is_too_much() ? ErrorCode::infeasible : ErrorCode::success);
  EXPECT_TRUE(same_on_all_ranks(outcome));
  EXPECT_TRUE(objects.all_are_there());
}

TEST(InfeasiblePartition, IsRepairedToWhatFits) {
  LineOfObjects objects = crowded_line(each);
  ByFunction partitioner = to_rank_0();
  Rebalancing rebalancing(partitioner, verified(WhenInfeasible::repair));
  const RebalanceResult result = rebalancing.run(objects);
  EXPECT_TRUE(objects.all_are_there());
  EXPECT_EQ(result.required_slots, result.count);
  EXPECT_TRUE(rank() > 0 || result.count == each);
  EXPECT_EQ(result.after.count > 1.01, size() > 1);
  if (rank() > 0) {  // what rank 0 cannot take is spread
    const std::uint64_t others = (objects.all - each) / static_cast<unsigned>(size() - 1);
    EXPECT_LE(result.count, others + 1);
    EXPECT_GE(result.count, others);
  }
}

TEST(InfeasiblePartition, IsCarriedOutInMoreRoom) {
  LineOfObjects objects = crowded_line(each);
  ByFunction partitioner = to_rank_0();
  rebalance::Settings settings = verified(WhenInfeasible::grow);
  int asked = 0;
  settings.grow = [&](std::uint64_t slots) {
    ++asked;
    EXPECT_EQ(slots, objects.all);
    return objects.grown_to(slots);
  };
  Rebalancing rebalancing(partitioner, settings);
  const RebalanceResult result = rebalancing.run(objects);
  EXPECT_EQ(asked, is_too_much() && rank() == 0 ? 1 : 0);
  EXPECT_EQ(result.count, rank() == 0 ? objects.all : 0);
  EXPECT_TRUE(objects.all_are_there());
}

TEST(InfeasiblePartition, IsNotCarriedOutInTooLittleRoom) {
  LineOfObjects objects = crowded_line(each);
  ByFunction partitioner = to_rank_0();
  rebalance::Settings settings = verified(WhenInfeasible::grow);
  settings.grow = [&](std::uint64_t slots) { return objects.grown_to(slots - 1); };
  Rebalancing rebalancing(partitioner, settings);
  const Outcome outcome = outcome_of([&] { rebalancing.run(objects); });
  if (is_too_much())
    expect_error(outcome, ErrorCode::infeasible, {"returned a storage of ", "are required"});
  EXPECT_TRUE(objects.all_are_there());
}

/// Blocks of 1 to 4 bytes that have the low byte of their number.
struct Bytes {
  std::vector<std::byte> values;
  std::vector<std::uint64_t> lengths, number;

  explicit Bytes(const LineOfObjects& objects) : lengths(each), number(objects.number) {
    for (std::uint64_t k = 0; k < objects.count; ++k) {
      lengths[k] = 1 + number[k] % 4;
      values.insert(values.end(), lengths[k], static_cast<std::byte>(number[k]));
    }
    values.resize(4 * each);
  }
  [[nodiscard]] RaggedStorage storage() {
    return {{ragged_field(std::span(values), std::span(lengths))}, {field(number)}};
  }
  [[nodiscard]] RaggedStorage grown_to(const RaggedRoom& room) {
    values.resize(room.bytes[0]);
    lengths.resize(room.blocks);
    number.resize(room.blocks);
    return storage();
  }
  [[nodiscard]] long long wrong(std::uint64_t count) const {
    long long wrong = 0;
    std::size_t at = 0;
    for (std::uint64_t k = 0; k < count; ++k)
      for (std::uint64_t byte = 0; byte < 1 + number[k] % 4; ++byte)
        wrong += values[at++] != static_cast<std::byte>(number[k]) ? 1 : 0;
    return wrong;
  }
};

TEST(InfeasiblePartition, MakesArenasGrow) {
  const LineOfObjects objects = crowded_line(each);
  Bytes bytes(objects);
  ByFunction partitioner = to_rank_0();
  rebalance::Settings settings = verified(WhenInfeasible::grow);
  settings.migration.order = Order::stable;
  int asked = 0;
  settings.grow_ragged = [&](const RaggedRoom& room) {
    ++asked;
    return bytes.grown_to(room);
  };
  Rebalancing rebalancing(partitioner, settings);
  rebalance::Decision decision;
  decision.count = objects.count;
  rebalancing.balancer.partition(decision);
  const RaggedRoom room = rebalancing.balancer.required_room(decision, bytes.storage());
  EXPECT_EQ(room.blocks, rank() == 0 ? objects.all : 0);
  const std::uint64_t count = rebalancing.rebalance(objects.count, bytes.storage()).count;
  EXPECT_EQ(asked, is_too_much() && rank() == 0 ? 1 : 0);
  EXPECT_EQ(count, room.blocks);
  EXPECT_EQ(lost_or_doubled(bytes.number, count, objects.all), 0);
  EXPECT_EQ(bytes.wrong(count), 0);
  settings.when_infeasible = WhenInfeasible::repair;
  Rebalancing repairing(partitioner, settings);
  expect_error(outcome_of([&] { repairing.rebalance(count, bytes.storage()); }),
               ErrorCode::invalid_argument, {"repair, which counts slots and no bytes"});
}

TEST(InfeasiblePartition, IsDecidedBySettingsThatAreRight) {
  rebalance::Settings settings;
  EXPECT_FALSE(settings.diagnostic());
  settings.when_infeasible = WhenInfeasible::grow;
  const RaggedStorage lists({}, {});
  ASSERT_TRUE(rebalance::check_growth(settings, lists));
  EXPECT_NE(rebalance::check_growth(settings, lists)->text.find("there is no grow"),
            std::string::npos);
  settings.grow_ragged = [](const RaggedRoom&) { return RaggedStorage({}, {}); };
  EXPECT_FALSE(rebalance::check_growth(settings, lists));
  settings.granularity = 0;
  EXPECT_TRUE(settings.diagnostic());
  settings.granularity = 1;
  EXPECT_FALSE(settings.diagnostic());
  settings.imbalance_tolerance = 1;
  EXPECT_TRUE(settings.diagnostic());
}

}  // namespace
}  // namespace valet::test
