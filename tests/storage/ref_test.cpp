// SPDX-License-Identifier: BSD-3-Clause

// A storage of references is made once; vectors that grow, shrink and are swapped between the calls
// are looked at again in each, by every call that takes a storage.

#include "test_comm.hpp"

namespace valet::test {
namespace {

constexpr std::uint64_t blocks = 40;

/// Values that say where a block began, in two arrays of different rows.
struct Particles {
  std::vector<double> position = std::vector<double>(3 * blocks);
  std::vector<std::int64_t> id = std::vector<std::int64_t>(blocks);
  BlockStorage storage{field(valet::ref(position), 3, "position"), field(valet::ref(id), 1, "id")};

  Particles() {
    std::iota(id.begin(), id.end(), 1000 * rank());
    for (std::uint64_t k = 0; k < blocks; ++k)
      for (std::uint64_t c = 0; c < 3; ++c)
        position[3 * k + c] = static_cast<double>(id[k]) + 0.25 * static_cast<double>(c);
  }
  Particles(const Particles&) = delete;
  Particles& operator=(const Particles&) = delete;

  void resize(std::uint64_t slots) {
    position.resize(3 * slots, -1);
    position.shrink_to_fit();
    id.resize(slots, -1);
    id.shrink_to_fit();
  }
  [[nodiscard]] std::uint64_t wrong(std::uint64_t count, int from) const {
    std::uint64_t wrong = 0;
    for (std::uint64_t k = 0; k < count; ++k) {
      if (id[k] / 1000 != from) ++wrong;
      for (std::uint64_t c = 0; c < 3; ++c)
        if (position[3 * k + c] != static_cast<double>(id[k]) + 0.25 * static_cast<double>(c))
          ++wrong;
    }
    return wrong;
  }
};

/// Has no default: a vector of it is not enlarged by Valet, but moves.
struct Number {
  explicit Number(int from) : value(from) {}
  int value;
};

TEST(Ref, ToValuesWithoutADefault) {
  std::vector<Number> numbers(3, Number(rank()));
  const BlockStorage storage{field(valet::ref(numbers)), field(growing(numbers))};
  EXPECT_FALSE(storage.grows());
}

int next() { return (rank() + 1) % size(); }
int before(int distance) { return (rank() + size() - distance % size()) % size(); }

TEST(Ref, AMigrationSeesWhatTheVectorsAreNow) {
  Particles particles;
  const std::vector<int> to(blocks, next());
  for (int step = 1; step <= 6; ++step) {
    const std::uint64_t slots = blocks + static_cast<std::uint64_t>(step * 7 + rank()) % 50;
    particles.resize(slots);
    EXPECT_EQ(particles.storage.slots(), slots);
    const Report report = migrate(MPI_COMM_WORLD, particles.storage, blocks, to);
    EXPECT_EQ(report.blocks_after, blocks);
    EXPECT_EQ(particles.wrong(blocks, before(step)), 0U) << "step " << step;
  }
}

TEST(Ref, APlanIsExecutedWhereTheVectorsAreThen) {
  Particles particles;
  // Everything to rank 0, which grows between the plan and its execution.
  const std::vector<int> to(blocks, 0);
  Plan plan = plan_to_ranks(MPI_COMM_WORLD, particles.storage, blocks, to);
  if (size() > 1) {
    const Outcome outcome = outcome_of([&] { execute(plan, particles.storage); });
    expect_error(outcome, ErrorCode::infeasible, {});
  }
  if (rank() == 0) particles.resize(plan.required_slots());
  const Report report = execute(plan, particles.storage);
  EXPECT_EQ(report.blocks_after, rank() == 0 ? blocks * static_cast<std::uint64_t>(size()) : 0);
  std::vector<std::int64_t> ids(particles.id.begin(),
                                particles.id.begin() + static_cast<long>(report.blocks_after));
  std::ranges::sort(ids);
  for (std::uint64_t k = 0; k < ids.size(); ++k)
    EXPECT_EQ(ids[k], static_cast<std::int64_t>(1000 * (k / blocks) + k % blocks));
}

TEST(Ref, VectorsThatDoNotFitTogetherAreRefusedAndThenUsable) {
  Particles particles;
  const std::vector<int> to(blocks, next());
  if (rank() == size() - 1) particles.id.resize(blocks + 5);
  const auto migrate_all = [&] { migrate(MPI_COMM_WORLD, particles.storage, blocks, to); };
  const Outcome outcome = outcome_of(migrate_all);
  expect_error(outcome, ErrorCode::field_mismatch,
               {"'id' has 45 slots, but the first field has 40"});
  if (rank() == size() - 1) particles.id.resize(blocks);
  migrate_all();
  EXPECT_EQ(particles.wrong(blocks, before(1)), 0U);
}

/// Moved vectors keep their memory, but the names that were referred to have none.
TEST(Ref, VectorsThatWereMovedFromHaveNoSlots) {
  Particles particles;
  const std::vector<std::int64_t> away = std::move(particles.id);
  const std::vector<int> to(blocks, next());
  const Outcome outcome =
      outcome_of([&] { migrate(MPI_COMM_WORLD, particles.storage, blocks, to); });
  EXPECT_EQ(outcome.code, ErrorCode::field_mismatch) << outcome.text;
  EXPECT_EQ(away.size(), blocks);
}

TEST(BlockStorageHandle, OneThatWasMovedFromStillRefersToItsMemory) {
  Particles particles;
  BlockStorage other = std::move(particles.storage);
  const std::vector<int> to(blocks, next());
  migrate(MPI_COMM_WORLD, particles.storage, blocks, to);
  EXPECT_EQ(particles.wrong(blocks, before(1)), 0U);
  EXPECT_EQ(other.slots(), blocks);
}

TEST(BlockStorageHandle, ANullBackendIsAnError) {
  const BlockStorage storage{std::shared_ptr<StorageBackend>()};
  EXPECT_EQ(storage.slots(), 0U);
  const Outcome outcome =
      outcome_of([&] { migrate(MPI_COMM_WORLD, storage, 0, std::span<const int>()); });
  EXPECT_EQ(outcome.code, ErrorCode::invalid_argument);
  expect_words(outcome.text, {"no backend (a null pointer)"});
}

}  // namespace
}  // namespace valet::test
