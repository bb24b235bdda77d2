// SPDX-License-Identifier: BSD-3-Clause

// The content of every occupied slot depends on the map alone: not on the budget, the method, the
// window, the size of messages, or on when messages come, which wrappers around MPI delay here.

#include "filled_map.hpp"

#include <unistd.h>

namespace {

struct Delays {
  bool on = false;
  std::mt19937_64 random;
  long long sends = 0, receives = 0, waits = 0;

  void pause(long long& calls) {
    ++calls;
    if (!on) return;
    const std::uint64_t dice = random() % 8;
    if (dice == 0) usleep(static_cast<useconds_t>(random() % 300));
  }
};
Delays delays;

}  // namespace

// These stand in front of MPI's functions for the library as well.
extern "C" {
__attribute__((visibility("default"))) int MPI_Isend(const void* buffer, int count,
                                                     MPI_Datatype type, int destination, int tag,
                                                     MPI_Comm comm, MPI_Request* request) {
  delays.pause(delays.sends);
  return PMPI_Isend(buffer, count, type, destination, tag, comm, request);
}
__attribute__((visibility("default"))) int MPI_Irecv(void* buffer, int count, MPI_Datatype type,
                                                     int source, int tag, MPI_Comm comm,
                                                     MPI_Request* request) {
  delays.pause(delays.receives);
  return PMPI_Irecv(buffer, count, type, source, tag, comm, request);
}
__attribute__((visibility("default"))) int MPI_Waitany(int count, MPI_Request* requests, int* index,
                                                       MPI_Status* status) {
  delays.pause(delays.waits);
  return PMPI_Waitany(count, requests, index, status);
}
}

namespace valet::test {
namespace {

class WithDelays {
 public:
  explicit WithDelays(std::uint64_t seed_of_delays) {
    delays.random.seed(seed_of_delays * 1000 + static_cast<std::uint64_t>(rank()));
    delays.on = true;
  }
  WithDelays(const WithDelays&) = delete;
  WithDelays& operator=(const WithDelays&) = delete;
  ~WithDelays() { delays.on = false; }
};

/// Slots that are wrong on any rank after the map was carried out.
long long wrong_after(const GlobalMap& map, const GlobalContent& content, Form form, Shape shape,
                      const Options& options) {
  FilledMap filled(map, rank(), shape);
  Plan plan = filled.plan(MPI_COMM_WORLD, form, options);
  execute(plan, filled.storage());
  return sum_over_ranks(filled.wrong(content));
}

TEST(Determinism, DelaysReachTheCallsOfTheLibrary) {
  const Delays before = delays;
  const GlobalMap map = ring_map(size(), 10, 10, 1);
  FilledMap filled(map, rank(), Shape::dense);
  Plan plan = filled.plan(MPI_COMM_WORLD, Form::to_ranks, {});
  execute(plan, filled.storage());
  EXPECT_GT(delays.receives, before.receives);
  EXPECT_GT(delays.waits, before.waits);
  EXPECT_GT(delays.sends, before.sends);
}

TEST(Determinism, SameContentWhateverTheOptionsAndTheTiming) {
  const std::uint64_t maps = cases_wanted(12);
  for (std::uint64_t k = 0; k < maps; ++k) {
    std::mt19937_64 random(seed() + k);
    const GlobalMap map = random_map(random, size(), 60, static_cast<Tightness>(k % 3), false);
    for (const Form form : {Form::to_ranks, Form::to_slots})
      for (const Order order : all_orders) {
        const Shape shape = all_shapes[pick(random, 0, last_shape)];
        const GlobalContent content = FilledMap(map, rank(), shape).content(form, order);
        for (const std::size_t budget : {48, 100, 1000, 20'000, 4 << 20})
          for (const int window : {1, 3, 64}) {
            Options options{.budget_bytes = budget,
                            .method = Method::stream,
                            .order = order,
                            .stream = {.window = window}};
            options.message_bytes = std::array<std::size_t, 3>{0, 1, 500}[pick(random, 0, 2)];
            const WithDelays slow(seed() + k);
            ASSERT_EQ(wrong_after(map, content, form, shape, options), 0)
                << seed_note(seed() + k, 0) << ", budget " << budget << ", window " << window
                << ", message " << options.message_bytes;
          }
        Options options{.order = order};
        const WithDelays slow(seed() + k);
        ASSERT_EQ(wrong_after(map, content, form, shape, options), 0)
            << seed_note(seed() + k, 0) << ", auto";
        options.method = Method::direct;
        ASSERT_EQ(wrong_after(map, content, form, shape, options), 0)
            << seed_note(seed() + k, 0) << ", direct";
        options.method = Method::phased;
        options.budget_bytes = std::array<std::size_t, 2>{400, 20'000}[pick(random, 0, 1)];
        options.phased.parking = static_cast<int>(pick(random, 0, 1));
        options.phased.heuristic = all_heuristics()[pick(random, 0, 5)];
        ASSERT_EQ(wrong_after(map, content, form, shape, options), 0)
            << seed_note(seed() + k, 0) << ", phased, " << to_string(options.phased.heuristic)
            << ", budget " << options.budget_bytes << ", parking " << options.phased.parking;
      }
  }
}

TEST(Determinism, FewCopiesWhenFewBlocksLeave) {
  // 5 % of the blocks leave, a tenth of the slots is free.
  constexpr std::uint64_t slots = 4000;
  constexpr std::uint64_t blocks = 3600;
  for (const std::size_t budget : {40, 4000, 4 << 20}) {
    std::mt19937_64 random(seed() + static_cast<std::uint64_t>(rank()));
    AddressedBlocks memory(Shape::dense, slots);
    std::vector<int> ranks(blocks, rank());
    for (int& to : ranks)
      if (pick(random, 0, 19) == 0)
        to = static_cast<int>(pick(random, 0, static_cast<std::uint64_t>(size() - 1)));
    const Options options{.budget_bytes = budget, .method = Method::stream};
    const Report report = summed_over_ranks(
        migrate(MPI_COMM_WORLD, memory.storage(), blocks, ranks, options), MPI_COMM_WORLD);
    EXPECT_GT(report.blocks_sent, 0U);
    EXPECT_LE(10 * report.local_copies, report.blocks_before)
        << report.local_copies << " copies, budget " << budget;
  }
}

}  // namespace
}  // namespace valet::test
