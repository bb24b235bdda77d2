// SPDX-License-Identifier: BSD-3-Clause
#include <valet/error.hpp>
#include <valet/method_choice.hpp>

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace valet::schedule {
namespace {

constexpr std::array all_methods{Method::stream, Method::direct, Method::cyclic, Method::phased};

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
  shape.neighbours = 1;
  shape.runs = 1;
  shape.budget_bytes = std::uint64_t{4} << 20;
  shape.direct_bytes = std::uint64_t{64} << 20;
  return shape;
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
    try {
      static_cast<void>(parse_cost_model(text));
      ADD_FAILURE() << "'" << text << "' was taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      EXPECT_NE(std::string(error.what()).find("latency=2e-06,bandwidth="), std::string::npos)
          << error.what();
    }
  }
}

TEST(MethodChoice, TakesTheFastestThatFits) {
  const Choice choice = choose_method({}, ring(), all_methods);
  ASSERT_EQ(choice.predictions.size(), all_methods.size());
  EXPECT_EQ(choice.method, choice.predictions.front().method);
  for (const Prediction& prediction : choice.predictions) {
    EXPECT_GT(prediction.seconds, 0) << to_string(prediction.method);
    EXPECT_EQ(prediction.fits, prediction.method != Method::direct);
    if (prediction.fits) {
      EXPECT_GE(prediction.seconds, 0.6 * choice.seconds);
    }
  }
  EXPECT_NE(choice.reason.find(to_string(choice.method)), std::string::npos) << choice.reason;
  EXPECT_GT(choice.seconds, choice.lower_bound_seconds);
}

TEST(MethodChoice, NeverTakesWhatDoesNotFit) {
  ExchangeShape shape = ring();
  for (const std::uint64_t blocks : {1U, 100U, 10'000U, 1'000'000U})
    for (const double latency : {1e-7, 1e-5, 1e-2}) {
      shape.slots = blocks;
      set_blocks(shape, blocks);
      CostModel model;
      model.latency_seconds = latency;
      EXPECT_NE(choose_method(model, shape, all_methods).method, Method::direct);
    }
}

TEST(MethodChoice, SendsFewBlocksAtOnce) {
  ExchangeShape shape = ring();
  shape.runs = 16;
  set_blocks(shape, 16);
  shape.direct_bytes = std::uint64_t{2} * 16 * 4096;
  shape.direct_fits = true;
  EXPECT_EQ(choose_method({}, shape, all_methods).method, Method::direct);
}

TEST(MethodChoice, LeavesARootOutOfLargeMachines) {
  ExchangeShape shape = ring();
  shape.ranks = 100'000;
  EXPECT_NE(choose_method({}, shape, all_methods).method, Method::cyclic);
}

TEST(MethodChoice, SharesMemoryOnlyInsideANodeAndForEnough) {
  ExchangeShape shape = ring();
  shape.runs = shape.sent;  // blocks that would have to be packed
  EXPECT_TRUE(predict({}, shape, Method::stream).shares_memory);
  shape.may_share = false;
  EXPECT_FALSE(predict({}, shape, Method::stream).shares_memory);
  shape.may_share = true;
  shape.ranks_on_node = 1;
  EXPECT_FALSE(predict({}, shape, Method::stream).shares_memory);
  shape.ranks_on_node = 4;
  shape.runs = 10;
  set_blocks(shape, 10);
  EXPECT_FALSE(predict({}, shape, Method::stream).shares_memory);
}

TEST(MethodChoice, MoreBytesAndSlowerMachinesTakeLonger) {
  for (const Method method : all_methods) {
    ExchangeShape twice = ring();
    twice.slots *= 2;
    set_blocks(twice, twice.slots);
    const double once = predict({}, ring(), method).seconds;
    EXPECT_GT(predict({}, twice, method).seconds, 1.5 * once) << to_string(method);
    CostModel slow;
    slow.bandwidth /= 4;
    slow.copy_bandwidth /= 4;
    EXPECT_GT(predict(slow, ring(), method).seconds, 2 * once) << to_string(method);
  }
}

TEST(MethodChoice, CyclicAndPhasedShareMemoryAsStreamDoesAndPayForTheirSteps) {
  for (const bool may_share : {true, false})
    for (const std::uint64_t neighbours : {1, 3})
      for (const std::uint64_t runs : {1, 8192}) {
        ExchangeShape shape = ring();
        shape.may_share = may_share;
        shape.neighbours = shape.partners = neighbours;
        shape.runs = runs;
        const Prediction stream = predict({}, shape, Method::stream);
        if (runs > 1) {
          EXPECT_EQ(stream.shares_memory, may_share);
        }
        for (const Method method : {Method::cyclic, Method::phased}) {
          const Prediction other = predict({}, shape, method);
          EXPECT_EQ(other.shares_memory, stream.shares_memory) << to_string(method);
          EXPECT_GT(other.seconds, stream.seconds) << to_string(method);
          EXPECT_LT(other.seconds, 1.5 * stream.seconds) << to_string(method);
        }
        EXPECT_EQ(choose_method({}, shape, all_methods).method, Method::stream);
      }
}

TEST(MethodChoice, ArrivalsThatCanWaitAreNotMovedOnceMore) {
  ExchangeShape shape = ring();
  shape.neighbours = shape.partners = 3;
  shape.runs = shape.sent;
  shape.may_share = false;
  const double seconds = predict({}, shape, Method::stream).seconds;
  shape.crowded = shape.received;
  const double crowded = predict({}, shape, Method::stream).seconds;
  shape.budget_bytes = 2 * shape.received * shape.block_bytes;
  const double waiting = predict({}, shape, Method::stream).seconds;
  EXPECT_LT(waiting - seconds, 0.1 * (crowded - seconds));
}

TEST(MethodChoice, CrowdsArrivalsOfSeveralSources) {
  const Arrivals full{
      .received = 100'000, .sent = 100'000, .runs = 100'000, .sources = 7, .free = 0};
  const std::uint64_t crowded = crowded_arrivals(full);
  EXPECT_GT(crowded, full.received / 2);
  EXPECT_LE(crowded, full.received);
  const auto with = [&](auto&& change) {
    Arrivals other = full;
    change(other);
    return crowded_arrivals(other);
  };
  EXPECT_EQ(with([](Arrivals& a) { a.sources = 1; }), 0U) << "they come in the order of the holes";
  EXPECT_EQ(with([](Arrivals& a) { a.sent = a.runs = 0; }), 0U) << "nothing is in their way";
  EXPECT_LT(with([](Arrivals& a) { a.runs = 7; }), crowded / 1000) << "departures are runs";
  EXPECT_LT(with([](Arrivals& a) { a.free = a.received; }), crowded);
  EXPECT_LT(with([](Arrivals& a) { a.sent = 2 * a.received; }), crowded) << "more slots get free";
  EXPECT_EQ(crowded_arrivals({}), 0U);
}

TEST(MethodChoice, TunesMessagesToTheMachine) {
  CostModel model;
  model.latency_seconds = 1e-6;
  model.bandwidth = 1e10;
  EXPECT_EQ(tuned_message_bytes(model), 1U << 18);
  model.latency_seconds = 2e-6;
  EXPECT_NEAR(static_cast<double>(tuned_message_bytes(model)), 400'000, 1);
  model.latency_seconds = 1;
  EXPECT_EQ(tuned_message_bytes(model), most_message_bytes);
  EXPECT_EQ(tuned_window(1), 16);
  EXPECT_EQ(tuned_window(20), 40);
  EXPECT_EQ(tuned_window(1'000'000), 64);
}

TEST(MethodChoice, PrintsALineForEachMethod) {
  const std::string table = to_table(choose_method({}, ring(), all_methods).predictions);
  for (const Method method : all_methods)
    EXPECT_NE(table.find(to_string(method)), std::string::npos) << table;
  EXPECT_NE(table.find("over the budget"), std::string::npos) << table;
}

}  // namespace
}  // namespace valet::schedule
