// SPDX-License-Identifier: BSD-3-Clause

// What can be checked without MPI_Init: names and numbers of options, and that MPI is missing.

#include "testing.hpp"

namespace valet {
namespace {

template <class Call>
void expect_invalid(Call&& call, const std::string& word) {
  test::expect_thrown(ErrorCode::invalid_argument, {word}, std::forward<Call>(call));
}

TEST(Options, DefaultsAreThoseOfTheManual) {
  const Options options;
  EXPECT_EQ(options.budget_bytes, std::size_t{4} << 20);
  EXPECT_EQ(options.method, Method::automatic);
  EXPECT_EQ(options.order, Order::any);
  EXPECT_FALSE(options.verify);
  EXPECT_EQ(options.stream.window, 32);
  EXPECT_EQ(options.cyclic.edge_order, EdgeOrder::ascending);
}

TEST(Options, NamesOfMethodsAndOrdersInAnyCase) {
  for (const Method method :
       {Method::automatic, Method::stream, Method::direct, Method::phased, Method::cyclic})
    EXPECT_EQ(parse_method(to_string(method)), method);
  for (const Scheduler scheduler : {Scheduler::distributed, Scheduler::centralized})
    EXPECT_EQ(parse_scheduler(to_string(scheduler)), scheduler);
  EXPECT_EQ(parse_scheduler("CENTRALIZED"), Scheduler::centralized);
  for (const Order order : {Order::any, Order::fill, Order::stable})
    EXPECT_EQ(parse_order(to_string(order)), order);
  EXPECT_EQ(parse_method("STREAM"), Method::stream);
  EXPECT_EQ(parse_method("Direct"), Method::direct);
  EXPECT_EQ(parse_edge_order("ROTATED"), EdgeOrder::rotated);
  EXPECT_EQ(parse_order("Stable"), Order::stable);
  EXPECT_STREQ(to_string(Method::automatic), "automatic");
  EXPECT_EQ(parse_method("Auto"), Method::automatic);
  EXPECT_STREQ(to_string(AlltoallMethod::swaps), "swaps");
  EXPECT_EQ(parse_alltoall_method("AUTO"), AlltoallMethod::automatic);
}

TEST(Options, UnknownNamesAreRefusedWithTheKnownOnes) {
  expect_invalid([] { static_cast<void>(parse_method("teleport")); }, "'teleport'");
  expect_invalid([] { static_cast<void>(parse_method("teleport")); }, "stream, direct");
  expect_invalid([] { static_cast<void>(parse_method("")); }, "stream, direct");
  expect_invalid([] { static_cast<void>(parse_alltoall_method("teleport")); },
                 "known: automatic, stream, swaps, bitonic, pairwise");
  expect_invalid([] { static_cast<void>(parse_scheduler("root")); }, "distributed, centralized");
  expect_invalid([] { static_cast<void>(parse_heuristic("best_fit")); }, "first_fit, max_first");
  expect_invalid([] { static_cast<void>(parse_order("random")); }, "fill, stable");
  expect_invalid([] { static_cast<void>(parse_edge_order("random")); }, "ascending, rotated");
  expect_invalid([] { static_cast<void>(parse_order("fill ")); }, "'fill '");
}

TEST(Options, BytesWithPowersOf1024) {
  EXPECT_EQ(parse_bytes("0"), 0U);
  EXPECT_EQ(parse_bytes("65536"), 65536U);
  EXPECT_EQ(parse_bytes("512K"), 512U << 10);
  EXPECT_EQ(parse_bytes("4M"), 4U << 20);
  EXPECT_EQ(parse_bytes("4m"), 4U << 20);
  EXPECT_EQ(parse_bytes("3G"), std::size_t{3} << 30);
  EXPECT_EQ(parse_bytes("64MiB"), 64U << 20);
  EXPECT_EQ(parse_bytes("18446744073709551615"), ~std::size_t{0});
  EXPECT_EQ(parse_bytes("17179869183G"), ((std::size_t{1} << 34) - 1) << 30);
}

TEST(Options, BytesThatAreNoNumberOrTooLargeAreRefused) {
  for (const char* text :
       {"", "M", "4 M", "4MB", "4Mi", "4MiBs", "4iB", "4T", "-1", "+1", " 4", "4.5M", "0x10",
        "18446744073709551616", "17179869184G", "18014398509481984K"}) {
    SCOPED_TRACE(text);
    expect_invalid([&] { static_cast<void>(parse_bytes(text)); },
                   std::string(text) + "' is not a number of bytes; write for example 4M");
  }
}

TEST(Options, CodesHaveTheNumbersOfTheCInterface) {
  EXPECT_EQ(static_cast<int>(ErrorCode::infeasible), 5);
  EXPECT_EQ(static_cast<int>(ErrorCode::internal), 15);
  EXPECT_EQ(static_cast<int>(ErrorCode::callback_failed), 16);
  EXPECT_STREQ(to_string(ErrorCode::callback_failed), "callback_failed");
  EXPECT_STREQ(to_string(ErrorCode::slot_taken_twice), "slot_taken_twice");
  const Error error(ErrorCode::infeasible, "too much");
  EXPECT_STREQ(error.what(), "valet: too much [infeasible]");
  EXPECT_EQ(error.message(), "too much");
}

TEST(WithoutMpi, PlanningIsRefused) {
  std::array<double, 4> values{};
  const BlockStorage storage{field(values.data(), values.size())};
  const std::array<int, 4> ranks{};
  test::expect_thrown(ErrorCode::not_initialized, {"MPI_Init"}, [&] {
    static_cast<void>(plan_to_ranks(MPI_COMM_WORLD, storage, Occupied(4), ranks));
  });
  const std::array<Address, 4> addresses{};
  EXPECT_THROW(migrate(MPI_COMM_WORLD, storage, Occupied(4), addresses), Error);
}

}  // namespace
}  // namespace valet
