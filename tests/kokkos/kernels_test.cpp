// SPDX-License-Identifier: BSD-3-Clause

// The kernels that move and hash blocks, beside what the host does with the same Views.

#include "kokkos_environment.hpp"
#include "test_comm.hpp"
#include <valet/kokkos/blocks.hpp>

#include <Kokkos_Core.hpp>

namespace valet::test {
namespace {

constexpr std::size_t row_slots = 200;

/// Rows of all kinds: a block of 16 byte words, one of 8 across, and bytes that spoil alignment.
struct MixedRows {
  Kokkos::View<float* [4], Kokkos::LayoutRight, Kokkos::HostSpace> whole { "whole", row_slots };
  Kokkos::View<double* [3], Kokkos::LayoutLeft, Kokkos::HostSpace> across { "across", row_slots };
  Kokkos::View<char* [3], Kokkos::LayoutRight, Kokkos::HostSpace> odd { "odd", row_slots };
  /// As Cabana stores vectors: component by component in tiles of eight.
  Kokkos::View<double* [3][8], Kokkos::LayoutRight, Kokkos::HostSpace> members {
    "members", row_slots / 8
  };
  Kokkos::View<double***, Kokkos::LayoutStride, Kokkos::HostSpace> tiles{
      members.data(), Kokkos::LayoutStride(row_slots / 8, 24, 8, 1, 3, 8)};
  Kokkos::View<float** [2], Kokkos::LayoutLeft, Kokkos::HostSpace> across_tiles {
    "across tiles", row_slots / 5, 5
  };

  explicit MixedRows(std::uint64_t seed) {
    std::mt19937 random(static_cast<std::uint32_t>(seed));
    for (std::size_t slot = 0; slot < row_slots; ++slot) {
      for (std::size_t k = 0; k < 3; ++k)
        tiles(slot / 8, slot % 8, k) = static_cast<double>(random());
      for (std::size_t k = 0; k < 2; ++k)
        across_tiles(slot / 5, slot % 5, k) = static_cast<float>(random() % 1000);
      for (std::size_t k = 0; k < 4; ++k) whole(slot, k) = static_cast<float>(random() % 1000);
      for (std::size_t k = 0; k < 3; ++k) {
        across(slot, k) = static_cast<double>(random());
        odd(slot, k) = static_cast<char>(random() % 100);
      }
    }
  }
  /// Fields whose order and number decide where words of a block begin.
  [[nodiscard]] std::vector<std::pair<BlockStorage, BlockStorage>> storages() const {
    using kokkos::blocks, kokkos::staged_blocks;
    const auto vectors = kokkos::tiled(tiles, row_slots);
    const auto pairs = kokkos::tiled(across_tiles, row_slots);
    return {{blocks(vectors), staged_blocks(vectors)},
            {blocks(pairs, odd, vectors), staged_blocks(pairs, odd, vectors)},
            {blocks(whole), staged_blocks(whole)},
            {blocks(odd), staged_blocks(odd)},
            {blocks(whole, across), staged_blocks(whole, across)},
            {blocks(across, odd, whole), staged_blocks(across, odd, whole)},
            {blocks(whole, odd), staged_blocks(whole, odd)}};
  }
};

std::vector<std::byte> packed_by(StorageBackend& backend, SlotList list) {
  std::vector<std::byte> packed(list.size() * backend.block_bytes());
  backend.gather(list, packed.data());
  return packed;
}

std::vector<SlotIndex> every_second_slot() {
  std::vector<SlotIndex> list;
  for (SlotIndex slot = 1; slot < row_slots; slot += 2)
    list.push_back(static_cast<SlotIndex>(row_slots) - slot);
  return list;
}

TEST(Kernels, FindTheRowsOfTiledViews) {
  const MixedRows fields(seed());
  const BlockStorage storage =
      kokkos::staged_blocks(kokkos::tiled(fields.tiles, row_slots), fields.odd);
  for (SlotIndex slot : {SlotIndex{0}, SlotIndex{7}, SlotIndex{8}, SlotIndex{row_slots - 1}}) {
    const std::vector<std::byte> packed = packed_by(storage.backend(), {&slot, 1});
    ASSERT_EQ(packed.size(), 27U);
    std::array<double, 3> vector{};
    std::memcpy(vector.data(), packed.data(), sizeof vector);
    for (std::size_t k = 0; k < 3; ++k)
      EXPECT_EQ(vector[k], fields.members(slot / 8, k, slot % 8)) << slot << ' ' << k;
  }
}

TEST(Kernels, PackAndUnpackAsTheHostDoes) {
  const MixedRows fields(seed());
  const std::vector<SlotIndex> from = every_second_slot();
  std::vector<SlotIndex> to(from.size());
  std::iota(to.begin(), to.end(), SlotIndex{row_slots / 4});
  for (const auto& [host, staged] : fields.storages()) {
    SCOPED_TRACE(host.block_bytes());
    const std::vector<std::byte> packed = packed_by(host.backend(), from);
    EXPECT_EQ(packed_by(staged.backend(), from), packed);
    staged.backend().scatter(packed.data(), to);
    EXPECT_EQ(packed_by(host.backend(), to), packed);
  }
}

TEST(Kernels, CopyChainsAndDisjointSlotsInTheOrderOfTheList) {
  for (const bool chain : {false, true}) {
    const MixedRows fields(seed()), expected(seed());
    std::vector<SlotIndex> from, to;
    for (SlotIndex k = 0; k < row_slots / 2; ++k) {
      to.push_back(k);
      from.push_back(chain ? k + 1 : k + SlotIndex{row_slots / 2});
    }
    const auto storages = fields.storages();
    const auto expected_storages = expected.storages();
    std::vector<SlotIndex> all(row_slots);
    std::iota(all.begin(), all.end(), SlotIndex{0});
    for (std::size_t k = 0; k < storages.size(); ++k) {
      SCOPED_TRACE(storages[k].first.block_bytes());
      std::vector<std::byte> scratch(7 * storages[k].first.block_bytes());
      storages[k].second.backend().copy(from, to, scratch);
      storages[k].second.backend().finish_all();
      expected_storages[k].first.backend().copy(from, to, {});
      EXPECT_EQ(packed_by(storages[k].first.backend(), all),
                packed_by(expected_storages[k].first.backend(), all));
    }
  }
}

TEST(Kernels, HashAsTheHostDoes) {
  const MixedRows fields(seed());
  const std::vector<SlotIndex> list = every_second_slot();
  std::vector<std::uint64_t> seeds(list.size());
  std::iota(seeds.begin(), seeds.end(), std::uint64_t{17});
  for (const auto& [host, staged] : fields.storages()) {
    const std::size_t bytes = host.block_bytes();
    const std::vector<std::byte> packed = packed_by(host.backend(), list);
    std::uint64_t sum = 0;
    for (std::size_t k = 0; k < list.size(); ++k)
      sum += detail::block_hash(packed.data() + k * bytes, bytes, seeds[k]);
    EXPECT_EQ(staged.backend().hash_sum(list, seeds), sum) << bytes;
  }
}

TEST(Kernels, VerifyBesideARankWhoseViewsTheHostMoves) {
  const MixedRows fields(seed() + static_cast<std::uint64_t>(rank()));
  const auto storages = fields.storages();
  const std::vector<int> ranks(row_slots, (rank() + 1) % size());
  const Options options{.verify = true};
  for (const auto& [host, staged] : storages) {
    const Report report =
        migrate(MPI_COMM_WORLD, rank() == 0 ? host : staged, row_slots, ranks, options);
    EXPECT_TRUE(all_ranks(report.verified));
  }
}

/// A list that is longer than the memory for lists.
TEST(Kernels, MoveAnyNumberOfBlocks) {
  constexpr SlotIndex many = 100'000;
  const Kokkos::View<std::uint64_t*, Kokkos::HostSpace> ids("ids", many);
  std::vector<SlotIndex> list(many);
  for (SlotIndex slot = 0; slot < many; ++slot) {
    ids(slot) = std::uint64_t{3} * slot;
    list[slot] = many - 1 - slot;
  }
  const BlockStorage storage = kokkos::staged_blocks(ids);
  StorageBackend& backend = storage.backend();
  const SlotList reversed(list);
  std::vector<std::uint64_t> packed(many), seeds(many, 1);
  backend.start_gather(reversed, reinterpret_cast<std::byte*>(packed.data()));
  backend.finish(std::as_bytes(std::span(packed)).subspan(many, 8));
  for (std::uint64_t k = 0; k < many; ++k) ASSERT_EQ(packed[k], 3 * (many - 1 - k));
  const std::uint64_t sum = backend.hash_sum(reversed, seeds);
  std::ranges::fill(packed, 5);
  backend.scatter(reinterpret_cast<const std::byte*>(packed.data()), reversed);
  for (std::uint64_t slot = 0; slot < many; ++slot) ASSERT_EQ(ids(slot), 5U);
  EXPECT_NE(backend.hash_sum(reversed, seeds), sum);
}

TEST(StartedWork, IsFoundWhereItTouchesMemory) {
  kokkos::detail::StartedWork work;
  const std::vector<std::byte> memory(100);
  const std::span<const std::byte> bytes(memory);
  work.add(bytes.subspan(20, 10));
  EXPECT_TRUE(work.touches(bytes.subspan(29, 1)));
  EXPECT_TRUE(work.touches(bytes));
  EXPECT_FALSE(work.touches(bytes.subspan(30, 10)));
  EXPECT_FALSE(work.touches(bytes.first(20)));
  work.clear();
  EXPECT_FALSE(work.touches(bytes));
  while (!work.is_full()) work.add(bytes.first(1));
  EXPECT_FALSE(work.empty());
}

}  // namespace
}  // namespace valet::test
