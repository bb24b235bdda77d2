// SPDX-License-Identifier: BSD-3-Clause
#include <valet/error.hpp>
#include <valet/schedule/method_choice.hpp>

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace valet::schedule {
namespace {

constexpr std::array all_methods{Method::stream, Method::direct, Method::cyclic, Method::phased};

/// Every rank sends 32 MiB to one other, in one run.
ExchangeShape ring() {
  ExchangeShape shape;
  shape.ranks = 4;
  shape.ranks_on_node = 4;
  shape.block_bytes = 4096;
  shape.slots = shape.sent = shape.received = 8192;
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
      EXPECT_GE(prediction.seconds, choice.seconds);
    }
  }
  EXPECT_NE(choice.reason.find(to_string(choice.method)), std::string::npos) << choice.reason;
  EXPECT_GT(choice.seconds, choice.lower_bound_seconds);
}

TEST(MethodChoice, NeverTakesWhatDoesNotFit) {
  ExchangeShape shape = ring();
  for (const std::uint64_t blocks : {1U, 100U, 10'000U, 1'000'000U})
    for (const double latency : {1e-7, 1e-5, 1e-2}) {
      shape.sent = shape.received = shape.slots = blocks;
      CostModel model;
      model.latency_seconds = latency;
      EXPECT_NE(choose_method(model, shape, all_methods).method, Method::direct);
    }
}

TEST(MethodChoice, SendsFewBlocksAtOnce) {
  ExchangeShape shape = ring();
  shape.sent = shape.received = shape.runs = 16;
  shape.direct_bytes = 2 * 16 * 4096;
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
  shape.ranks_on_node = 1;
  EXPECT_FALSE(predict({}, shape, Method::stream).shares_memory);
  shape.ranks_on_node = 4;
  shape.sent = shape.received = shape.runs = 10;
  EXPECT_FALSE(predict({}, shape, Method::stream).shares_memory);
}

TEST(MethodChoice, MoreBytesAndSlowerMachinesTakeLonger) {
  for (const Method method : all_methods) {
    ExchangeShape twice = ring();
    twice.sent *= 2;
    twice.received *= 2;
    twice.slots *= 2;
    const double once = predict({}, ring(), method).seconds;
    EXPECT_GT(predict({}, twice, method).seconds, 1.5 * once) << to_string(method);
    CostModel slow;
    slow.bandwidth /= 4;
    slow.copy_bandwidth /= 4;
    EXPECT_GT(predict(slow, ring(), method).seconds, 2 * once) << to_string(method);
  }
}

TEST(MethodChoice, TunesMessagesToTheMachine) {
  CostModel model;
  model.latency_seconds = 1e-6;
  model.bandwidth = 1e10;
  EXPECT_NEAR(static_cast<double>(tuned_message_bytes(model)), 200'000, 1);
  model.latency_seconds = 1e-9;
  EXPECT_EQ(tuned_message_bytes(model), 1U << 16);
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
