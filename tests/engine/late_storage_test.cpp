// SPDX-License-Identifier: BSD-3-Clause

// Storages that go on with their work after a call has returned, as kernels do: every method, order
// and form waits for what it needs, and only for that.

#include "filled_map.hpp"
#include "late_backend.hpp"
#include "swept_case.hpp"

namespace valet::test {
namespace {

constexpr std::size_t late_block_bytes = 56;
constexpr std::array methods{Method::stream, Method::phased, Method::cyclic, Method::direct};

struct LateCase {
  LateCase(const GlobalMap& map, Form form, const Options& options, bool hashes = false)
      : filled(map, rank(), Shape::dense, late_block_bytes),
        late(std::make_shared<LateBackend>(filled.storage(), hashes)),
        storage(late),
        plan(filled.plan(MPI_COMM_WORLD, storage, form, options)) {}

  FilledMap filled;
  std::shared_ptr<LateBackend> late;
  BlockStorage storage;
  Plan plan;
};

class LateStorage : public testing::TestWithParam<Method> {};

TEST_P(LateStorage, IsWaitedForBeforeItsMemoryIsUsed) {
  const Method method = GetParam();
  for (std::uint64_t k = 0; k < 72; ++k) {
    const auto [map, form, options] = swept_case(k, method, late_block_bytes);
    SCOPED_TRACE(seed_note(seed() + k) + ", " + to_string(method) + ", " +
                 to_string(options.order));
    LateCase tried(map, form, options, k % 4 == 0 && rank() % 2 == 0);
    const Report report = execute(tried.plan, tried.storage);
    EXPECT_TRUE(all_ranks(tried.late->is_idle()));
    EXPECT_EQ(sum_over_ranks(tried.filled.wrong(form, options.order)), 0);
    EXPECT_TRUE(all_ranks(report.verified == options.verify));
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, LateStorage, testing::ValuesIn(methods), ParameterName());

/// Several messages are packed while MPI moves others.
TEST(LateStream, WaitsForSeveralMessagesAtATime) {
  Options options{.method = Method::stream, .message_bytes = 4 * late_block_bytes};
  for (const Order order : all_orders) {
    options.order = order;
    LateCase tried(ring_map(size(), 2000, 2000, 1), Form::to_ranks, options);
    execute(tried.plan, tried.storage);
    const LateBackend::Counts& counts = tried.late->counts();
    if (size() == 1) continue;
    EXPECT_GT(counts.most_waiting, 1U) << to_string(order);
    EXPECT_LT(counts.waits, counts.started) << to_string(order);
  }
}

TEST(BlockHash, IsOfThePiecesWhereARankHashesItsOwnBlocks) {
  const Options options{.verify = true};
  LateCase tried(ring_map(size(), 60, 50, 1), Form::to_ranks, options, rank() == 0);
  EXPECT_TRUE(all_ranks(execute(tried.plan, tried.storage).verified));
  EXPECT_EQ(tried.late->counts().hashed > 0, rank() == 0);
}

TEST(BlockHash, DiffersWhereBytesPlacesOrSeedsDo) {
  std::array<std::byte, 20> block{};
  const auto hash = [&](std::uint64_t seed = 3, std::size_t bytes = 20) {
    return detail::block_hash(block.data(), bytes, seed);
  };
  const std::uint64_t zeros = hash();
  EXPECT_NE(zeros, hash(4));
  EXPECT_NE(zeros, hash(3, 8));
  for (std::size_t k = 0; k < block.size(); ++k) {
    block[k] = std::byte{1};
    const std::uint64_t here = hash();
    EXPECT_NE(here, zeros) << k;
    block[k] = std::byte{0};
    block[(k + 8) % block.size()] = std::byte{1};
    EXPECT_NE(here, hash()) << k;
    block[(k + 8) % block.size()] = std::byte{0};
  }
}

}  // namespace
}  // namespace valet::test
