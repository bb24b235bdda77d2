// SPDX-License-Identifier: BSD-3-Clause
#include "testing.hpp"
#include <valet/method_choice.hpp>

namespace valet::schedule {
namespace {

void set_blocks(ExchangeShape& shape, std::uint64_t blocks) {
  shape.sent = shape.received = blocks;
  shape.handled = 2 * blocks;
}

/// Every rank sends 32 MiB to one other, in one run.
ExchangeShape ring() {
  ExchangeShape shape;
  shape.ranks = 4;
  shape.ranks_on_node = 4;
  shape.block_bytes = 4096;
  shape.slots = 8192;
  set_blocks(shape, 8192);
  shape.messages = 128;
  shape.neighbours = 1;
  shape.budget_bytes = std::uint64_t{4} << 20;
  return shape;
}

/// Memory is copied twice as fast as messages go.
CostModel fast_copies() {
  CostModel model;
  model.bandwidth = 4e9;
  model.copy_bandwidth = 9e9;
  return model;
}

TEST(CostModel, ReadsWhatItWrites) {
  CostModel model;
  model.latency_seconds = 3e-6;
  model.bandwidth = 1.25e10;
  model.copy_bandwidth = 7e9;
  model.block_seconds = 1e-8;
  const CostModel read = parse_cost_model(to_string(model));
  EXPECT_DOUBLE_EQ(read.latency_seconds, 3e-6);
  EXPECT_DOUBLE_EQ(read.bandwidth, 1.25e10);
  EXPECT_DOUBLE_EQ(read.copy_bandwidth, 7e9);
  EXPECT_DOUBLE_EQ(read.block_seconds, 1e-8);
}

TEST(CostModel, KeepsTheDefaultOfWhatIsLeftOut) {
  const CostModel read = parse_cost_model("bandwidth=1e9");
  EXPECT_DOUBLE_EQ(read.bandwidth, 1e9);
  EXPECT_DOUBLE_EQ(read.latency_seconds, CostModel{}.latency_seconds);
}

TEST(CostModel, RefusesWhatIsNotAModelAndShowsOne) {
  for (const char* const text :
       {"fast", "latency", "latency=", "latency=x", "latency=1e-6s", "speed=3", "latency=0",
        "bandwidth=-1", "copy=inf", "block=nan", "latency=1e-6,", ",", ""}) {
    SCOPED_TRACE(text);
    valet::test::expect_thrown(ErrorCode::invalid_argument, {"latency=2e-06,bandwidth="},
                               [&] { static_cast<void>(parse_cost_model(text)); });
  }
}

TEST(MethodChoice, TakesTheFasterOneThatFits) {
  const Choice choice = choose_method({}, ring());
  EXPECT_EQ(choice.method, Method::stream);
  EXPECT_EQ(choice.predictions[0].method, Method::stream);
  EXPECT_EQ(choice.predictions[0].seconds, choice.seconds);
  EXPECT_EQ(choice.predictions[1].method, Method::direct);
  EXPECT_FALSE(choice.predictions[1].fits);
  EXPECT_EQ(choice.predictions[1].extra_bytes, std::uint64_t{64} << 20);
  valet::test::expect_words(choice.reason,
                            {"stream, predicted to take", "beyond the budget is direct"});
  EXPECT_GE(choice.seconds, choice.lower_bound_seconds);
}

TEST(MethodChoice, NeverTakesWhatDoesNotFit) {
  ExchangeShape shape = ring();
  for (const std::uint64_t blocks : {1U, 100U, 10'000U, 1'000'000U})
    for (const double latency : {1e-7, 1e-5, 1e-2}) {
      shape.slots = shape.messages = blocks;
      set_blocks(shape, blocks);
      CostModel model;
      model.latency_seconds = latency;
      EXPECT_EQ(choose_method(model, shape).method, Method::stream);
    }
}

/// All ranks exchange blocks.
ExchangeShape transpose(int ranks) {
  ExchangeShape shape = ring();
  shape.ranks = ranks;
  shape.ranks_on_node = 1;
  shape.neighbours = static_cast<std::uint64_t>(ranks - 1);
  return shape;
}

TEST(MethodChoice, ChargesTheRootOfCyclicForEveryPairOfRanks) {
  CostModel model;
  model.latency_seconds = 1e-6;
  EXPECT_DOUBLE_EQ(cyclic_root_seconds(model, transpose(128)), 2.25e-6 * 128 * 127);
  for (const int ranks : {2, 8, 64, 65, 1024}) {
    const ExchangeShape shape = transpose(ranks);
    const Prediction cyclic = predict(model, shape, Method::cyclic);
    const Prediction stream = predict(model, shape, Method::stream);
    EXPECT_EQ(cyclic.method, Method::cyclic);
    EXPECT_DOUBLE_EQ(cyclic.seconds, stream.seconds + cyclic_root_seconds(model, shape));
    EXPECT_EQ(cyclic.extra_bytes, stream.extra_bytes + 64U * static_cast<unsigned>(ranks));
    EXPECT_EQ(cyclic.fits, ranks <= 64) << "the limit of docs/limits.md";
    EXPECT_NE(choose_method(model, shape).method, Method::cyclic);
  }
}

TEST(MethodChoice, SendsAtOnceWhatWouldBeManyShortMessages) {
  ExchangeShape shape = ring();
  shape.direct_fits = true;
  shape.neighbours = 3;
  set_blocks(shape, 48);
  shape.messages = 48;
  EXPECT_EQ(choose_method({}, shape).method, Method::direct);
  shape.messages = 3;
  EXPECT_EQ(choose_method({}, shape).method, Method::stream) << "as many messages, fewer copies";
}

TEST(MethodChoice, SharesMemoryInsideANodeWhereBlocksArePackedOrCopiesAreFaster) {
  const auto shares = [](const CostModel& model, bool packs, auto&& change) {
    ExchangeShape shape = ring();
    shape.packs = packs;
    change(shape);
    return predict(model, shape, Method::stream).shares_memory;
  };
  const auto as_it_is = [](ExchangeShape&) {};
  CostModel fast_messages = fast_copies();
  fast_messages.bandwidth = 5e9;
  EXPECT_TRUE(shares(fast_copies(), false, as_it_is));
  EXPECT_FALSE(shares(fast_messages, false, as_it_is)) << "two copies take longer";
  EXPECT_TRUE(shares(fast_messages, true, as_it_is)) << "they are made in any case";
  EXPECT_FALSE(shares(fast_copies(), true, [](ExchangeShape& shape) { shape.may_share = false; }));
  EXPECT_FALSE(shares(fast_copies(), true, [](ExchangeShape& shape) { shape.ranks_on_node = 1; }));
}

TEST(MethodChoice, OnlyCopiesCountWhereAllRanksShareMemory) {
  const CostModel model = fast_copies();
  ExchangeShape shape = ring();
  shape.packs = shape.may_share = true;
  shape.messages = 0;
  const auto seconds = [&] { return predict(model, shape, Method::stream).seconds; };
  const double blocks = static_cast<double>(shape.handled);
  const double copies = blocks * (4096 / model.copy_bandwidth + model.block_seconds);
  EXPECT_DOUBLE_EQ(seconds(), copies);
  shape.ranks_on_node = 2;
  shape.handled = 0;
  EXPECT_DOUBLE_EQ(seconds(), lower_bound_seconds(model, shape)) << "the rest is sent";
}

TEST(MethodChoice, TheLowerBoundIsWhatARankSendsOrReceives) {
  CostModel model;
  model.bandwidth = 4096;
  ExchangeShape shape = ring();
  shape.sent = 3;
  shape.received = 7;
  EXPECT_DOUBLE_EQ(lower_bound_seconds(model, shape), 7);
  std::swap(shape.sent, shape.received);
  EXPECT_DOUBLE_EQ(lower_bound_seconds(model, shape), 7);
}

TEST(MethodChoice, MoreBytesAndSlowerMachinesTakeLonger) {
  for (const bool packs : {false, true})
    for (const Method method : {Method::stream, Method::direct}) {
      ExchangeShape once = ring();
      once.packs = packs;
      ExchangeShape twice = once;
      set_blocks(twice, 2 * once.sent);
      const double seconds = predict({}, once, method).seconds;
      EXPECT_GT(predict({}, twice, method).seconds, 1.5 * seconds) << to_string(method);
      CostModel slow;
      slow.bandwidth /= 4;
      slow.copy_bandwidth /= 4;
      slow.block_seconds *= 4;
      EXPECT_GT(predict(slow, once, method).seconds, 2 * seconds) << to_string(method);
    }
}

TEST(MethodChoice, StagesInDirectWhatStreamOverlaps) {
  ExchangeShape shape = ring();
  shape.may_share = false;
  shape.packs = true;
  shape.messages = shape.neighbours;
  CostModel model;
  model.block_seconds = 1e-12;
  const double wire = lower_bound_seconds(model, shape);
  const double copies = 2 * 32e6 * 1.048576 / model.copy_bandwidth;
  const double waits = 2 * model.latency_seconds;
  EXPECT_NEAR(predict(model, shape, Method::stream).seconds, waits + std::max(wire, copies), 1e-6);
  EXPECT_NEAR(predict(model, shape, Method::direct).seconds, waits + wire + copies, 1e-6);
}

TEST(MethodChoice, SwapsTakeMoreRoundsWithMoreRanks) {
  ExchangeShape shape = ring();
  shape.ranks = 2;
  const CostModel model;
  const auto swap = [&](double bytes) {
    return bytes / model.bandwidth + bytes / model.copy_bandwidth + 2 * model.latency_seconds;
  };
  const double all = 32 * 1048576.0;
  EXPECT_NEAR(swaps_seconds(model, shape), swap(all), 1e-9);
  set_blocks(shape, shape.slots / 2);
  EXPECT_NEAR(swaps_seconds(model, shape), swap(all / 2), 1e-9);
  shape.ranks = 8;
  EXPECT_NEAR(swaps_seconds(model, shape), 6 * swap(all / 2), 1e-9);
}

/// A constant of the choice: what follows from it where it matters, which is to be `expected`.
/// Twice or half of the constant gives something else.
struct Constant {
  const char* name;
  double (*follows)();
  double expected;
};

class ConstantOfTheChoice : public testing::TestWithParam<Constant> {};

TEST_P(ConstantOfTheChoice, IsWhatItIs) {
  EXPECT_DOUBLE_EQ(GetParam().follows(), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    MethodChoice, ConstantOfTheChoice,
    testing::Values(Constant{"credits_and_messages",
                             [] {
                               ExchangeShape nothing;
                               nothing.messages = 7;
                               CostModel model;
                               model.latency_seconds = 1e-6;
                               return predict(model, nothing, Method::stream).seconds;
                             },
                             14e-6},
                    Constant{"bytes_of_a_run_that_is_not_packed",
                             [] {
                               std::uint64_t bytes = 1;
                               while (are_packed(bytes, 1)) ++bytes;
                               return static_cast<double>(bytes);
                             },
                             16384}),
    valet::test::ParameterName());

TEST(MethodChoice, PrintsALineForEachMethod) {
  const std::string table = to_table(choose_method({}, ring()).predictions);
  valet::test::expect_words(table, {"stream", "direct", "over the budget"});
}

}  // namespace
}  // namespace valet::schedule
