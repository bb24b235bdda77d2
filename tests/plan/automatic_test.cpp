// SPDX-License-Identifier: BSD-3-Clause

// Method::automatic: all ranks choose alike, whatever options each of them has; the choice is in
// the report; what moving data costs is measured once for a communicator.

#include "filled_map.hpp"

#include <chrono>

namespace {
long long ring_messages = 0;
}

// Only the measurement sends with this function.
extern "C" __attribute__((visibility("default"))) int MPI_Sendrecv(
    const void* sent, int send_count, MPI_Datatype send_type, int destination, int send_tag,
    void* received, int receive_count, MPI_Datatype receive_type, int source, int receive_tag,
    MPI_Comm comm, MPI_Status* status) {
  ++ring_messages;
  return PMPI_Sendrecv(sent, send_count, send_type, destination, send_tag, received, receive_count,
                       receive_type, source, receive_tag, comm, status);
}

namespace valet::test {
namespace {

Report move(MPI_Comm communicator, const GlobalMap& map, const Options& options,
            std::size_t block_bytes = 40) {
  FilledMap filled(map, rank(), Shape::dense, block_bytes);
  Plan plan = filled.plan(communicator, Form::to_ranks, options);
  const Report report = execute(plan, filled.storage());
  EXPECT_EQ(sum_over_ranks(filled.wrong(Form::to_ranks, options.order)), 0);
  expect_within_bound(report);
  return report;
}

/// Whether all ranks say what rank 0 says.
bool said_by_all(const std::string& text) { return same_on_all_ranks({ErrorCode::success, text}); }

TEST(Automatic, IsTheDefaultAndSaysWhatItChose) {
  const Report report = move(MPI_COMM_WORLD, ring_map(size(), 300, 280, 1), Options{});
  EXPECT_TRUE(said_by_all(report.method));
  if (size() == 1) {
    EXPECT_EQ(report.reason(), "no block leaves its rank");
    return;
  }
  expect_words(std::string(report.reason()), {report.method + ", predicted to take"});
  EXPECT_TRUE(said_by_all(std::string(report.reason())));
  EXPECT_GT(report.predicted_seconds(), 0);
  EXPECT_GT(report.lower_bound_seconds(), 0);
  expect_words(report.to_string(), {std::string(report.reason())});
  expect_words(report.to_json(), {"predicted_seconds"});
}

TEST(Automatic, MeasuresOnceForACommunicatorAndQuickly) {
  const OwnComm fresh;
  const GlobalMap map = ring_map(size(), 300, 280, 1);
  const Options stream{.method = Method::stream};
  move(fresh, map, stream);
  const long long before = ring_messages;
  const auto start = std::chrono::steady_clock::now();
  move(fresh, map, Options{});
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  const long long measured = ring_messages;
  move(fresh, map, Options{});
  EXPECT_TRUE(all_ranks(ring_messages == measured));
  EXPECT_TRUE(all_ranks((measured > before) == (size() > 1)));
  if (rank() == 0) std::cout << "first choice: " << taken.count() << " s\n";
}

TEST(Automatic, DoesNotMeasureWhatItIsGiven) {
  const OwnComm fresh;
  const Options options{.automatic = {.model = CostModel{}}};
  const long long before = ring_messages;
  move(fresh, ring_map(size(), 300, 280, 1), options);
  EXPECT_TRUE(all_ranks(ring_messages == before));
}

TEST(Automatic, RanksThatAreGivenDifferentCostsChooseAlike) {
  std::mt19937_64 random(seed() + static_cast<std::uint64_t>(rank()));
  std::uniform_real_distribution<double> exponent(-3, 3);
  for (unsigned k = 0; k < 40; ++k) {
    Options options{.budget_bytes = std::size_t{40} << (k + static_cast<unsigned>(rank())) % 12};
    if (k % 3 == 1 || (k % 3 == 2 && rank() % 2 == 0)) options.message_bytes = 100U + 64U * k;
    if (k % 4 != 3 || rank() % 2 == 0) {
      options.automatic.model = CostModel{};
      options.automatic.model->latency_seconds *= std::pow(10, exponent(random));
      options.automatic.model->bandwidth *= std::pow(10, exponent(random));
      options.automatic.model->copy_bandwidth *= std::pow(10, exponent(random));
    }
    std::mt19937_64 shared(seed() + k);
    const GlobalMap map = random_map(shared, size(), 80, static_cast<Tightness>(k % 3), false);
    EXPECT_TRUE(said_by_all(move(MPI_COMM_WORLD, map, options).method)) << seed_note(seed(), k);
  }
}

TEST(Automatic, MovesThoughTheEnvironmentsModelIsMalformed) {
  ASSERT_EQ(setenv("VALET_MODEL", "bandwidth=fast", 1), 0);
  testing::internal::CaptureStderr();
  const Report report = move(MPI_COMM_WORLD, ring_map(size(), 30, 20, 1), Options{});
  const std::string said = testing::internal::GetCapturedStderr();
  unsetenv("VALET_MODEL");
  EXPECT_FALSE(report.method.empty());
  if (rank() != 0) {
    EXPECT_EQ(said, "");
    return;
  }
  expect_words(said, {"VALET_MODEL", "bandwidth=fast", "latency=2e-06"});
}

TEST(Automatic, ObeysTheEnvironmentsModel) {
  const OwnComm fresh;
  ASSERT_EQ(setenv("VALET_MODEL", "latency=1e-6,bandwidth=1e9,copy=1e9,block=1e-8", 1), 0);
  const long long before = ring_messages;
  const Report report = move(fresh, ring_map(size(), 300, 250, 1), Options{}, 4000);
  unsetenv("VALET_MODEL");
  EXPECT_TRUE(all_ranks(ring_messages == before));
  if (size() > 1) {
    EXPECT_NEAR(report.lower_bound_seconds(), static_cast<double>(report.blocks_sent) * 4000 / 1e9,
                1e-9);
  }
}

/// What is predicted where nothing but messages takes time: a second for each, and one for its
/// credit.
double predicted_seconds(const GlobalMap& map, Options options) {
  options.share_memory = false;
  options.order = Order::fill;
  options.automatic.model = CostModel{
      .latency_seconds = 1, .bandwidth = 1e30, .copy_bandwidth = 1e30, .block_seconds = 1e-30};
  return move(MPI_COMM_WORLD, map, options).predicted_seconds();
}

/// Every rank sends so many blocks to one.
template <class DestinationOf>
GlobalMap map_to_one(std::size_t blocks, DestinationOf&& destination_of) {
  GlobalMap map = empty_map(size(), static_cast<std::uint64_t>(size()) * blocks);
  for (int source = 0; source < size(); ++source)
    std::fill_n(row_of(map.destination, source).begin(), blocks,
                Address{destination_of(source), 0});
  return map;
}

TEST(Automatic, CountsTheMessagesOfBothMethods) {
  if (size() == 1) GTEST_SKIP() << "nothing leaves";
  Options options;
  options.budget_bytes = std::size_t{40} * 64;  // a message has a quarter of it
  const GlobalMap ring = map_to_one(280, [](int source) { return (source + 1) % size(); });
  EXPECT_NEAR(predicted_seconds(ring, options), 2 * 18, 1e-6);
  // To rank 0, a block in a message or all at once: as many messages as sources.
  options.budget_bytes = std::size_t{1} << 20;
  options.message_bytes = 40;
  const GlobalMap star = map_to_one(8, [](int) { return 0; });
  EXPECT_NEAR(predicted_seconds(star, options), 2 * (size() - 1), 1e-6);
}

TEST(Automatic, ReplansWithEveryPlanAndKeepsItsChoiceForAllExecutions) {
  const GlobalMap map = ring_map(size(), 100, 90, 1);
  FilledMap filled(map, rank(), Shape::structure);
  Plan plan = filled.plan(MPI_COMM_WORLD, Form::to_slots, Options{});
  const std::string first = execute(plan, filled.storage()).method;
  EXPECT_EQ(execute(plan, filled.storage()).method, first);
  EXPECT_TRUE(all_ranks(plan.extra_bytes() > 0));
}

}  // namespace
}  // namespace valet::test
