// SPDX-License-Identifier: BSD-3-Clause

// What the storage promises besides moving: errors on all ranks, lifetime, fences, labels, memory.

#include "kokkos_environment.hpp"
#include "random_options.hpp"
#include "test_comm.hpp"
#include <valet/kokkos/blocks.hpp>

#include <Kokkos_Core.hpp>

namespace {

using namespace valet::test;

using Doubles = Kokkos::View<double*, Kokkos::HostSpace>;

/// The text, and in it the code, of what a migration of `count` blocks to rank 0 throws; empty if
/// nothing.
std::string error_of_migration(const valet::BlockStorage& storage, std::uint64_t count) {
  const std::vector<int> ranks(count, 0);
  return outcome_of([&] { valet::migrate(MPI_COMM_WORLD, storage, count, ranks); }).text;
}

/// An execution space that counts how often it is fenced.
struct CountedSpace : Kokkos::DefaultHostExecutionSpace {
  using execution_space = CountedSpace;
  int* fences = nullptr;
  // Versions of Kokkos before 3.5 have no name for a fence.
  void fence(const std::string& = {}) const { ++*fences; }
};

TEST(Blocks, CountSlotsAndBytes) {
  const Doubles a("a", 7);
  const Kokkos::View<float* [3], Kokkos::HostSpace> b("b", 7);
  for (const auto& storage :
       {valet::kokkos::blocks(a, b), valet::kokkos::staged_blocks(a, b),
        valet::kokkos::blocks(Kokkos::DefaultHostExecutionSpace(), a, b),
        valet::kokkos::staged_blocks(Kokkos::DefaultHostExecutionSpace(), a, b)}) {
    EXPECT_EQ(storage.slots(), 7U);
    EXPECT_EQ(storage.block_bytes(), 20U);
  }
}

TEST(Blocks, HaveNoMoreSlotsThanTheirTiles) {
  const Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace> view("view", 3, 4);
  const Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace> none("none", 0, 4);
  EXPECT_EQ(valet::kokkos::blocks(valet::kokkos::tiled(view, 10)).slots(), 10U);
  EXPECT_EQ(error_of_migration(valet::kokkos::blocks(valet::kokkos::tiled(none, 0)), 0), "");
  valet::test::expect_words(
      error_of_migration(valet::kokkos::blocks(valet::kokkos::tiled(view, 13)), 13),
      {"field 'view'", "3 tiles with 12 slots for its 13"});
  valet::test::expect_words(
      error_of_migration(valet::kokkos::blocks(valet::kokkos::tiled(none, 1)), 1),
      {"has no memory (a null pointer) for its 1 slots"});
}

TEST(Blocks, OneContiguousViewGoesToMpiWithoutACopy) {
  const Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace> view("view", 5, 3);
  const valet::BlockStorage direct = valet::kokkos::blocks(view);
  EXPECT_EQ(static_cast<void*>(direct.backend().contiguous_data()),
            static_cast<void*>(view.data()));
  EXPECT_TRUE(direct.backend().reachable_by_mpi());
  const valet::BlockStorage staged = valet::kokkos::staged_blocks(view);
  EXPECT_EQ(staged.backend().contiguous_data(), nullptr);
  EXPECT_FALSE(staged.backend().reachable_by_mpi());
}

TEST(Blocks, KeepTheirViewsAlive) {
  std::vector<valet::BlockStorage> storages;
  double* data = nullptr;
  {
    const Doubles view("view", 4);
    data = view.data();
    storages.push_back(valet::kokkos::blocks(view));
    EXPECT_EQ(view.use_count(), 2);
  }
  data[3] = 1.5;
  EXPECT_EQ(reinterpret_cast<double*>(storages.front().backend().contiguous_data())[3], 1.5);
}

/// The View of a time loop, resized between the calls: a reference follows it, a copy is refused.
TEST(Blocks, ReferencesFollowAViewThatIsResized) {
  for (const bool staged : {false, true}) {
    Doubles view("x", 4);
    const auto blocks_of = [staged](const auto&... views) {
      return staged ? valet::kokkos::staged_blocks(views...) : valet::kokkos::blocks(views...);
    };
    Kokkos::View<float**, Kokkos::LayoutLeft, Kokkos::HostSpace> other("y", 4, 3);
    const valet::BlockStorage storage = blocks_of(valet::ref(view), valet::ref(other));
    const std::vector<int> ranks(4, (rank() + 1) % size());
    for (std::size_t slots : {4, 9, 5, 200}) {
      Kokkos::resize(view, slots);
      Kokkos::resize(other, slots, 3);
      Kokkos::deep_copy(view, rank());
      Kokkos::deep_copy(other, static_cast<float>(rank()));
      EXPECT_EQ(storage.slots(), slots);
      EXPECT_EQ(storage.block_bytes(), 20U);
      const valet::Options options{.verify = true};
      valet::migrate(MPI_COMM_WORLD, storage, 4, ranks, options);
      const double from = (rank() + size() - 1) % size();
      for (std::size_t k = 0; k < 4; ++k) {
        EXPECT_EQ(view(k), from) << slots;
        for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(other(k, c), static_cast<float>(from));
      }
    }
  }
}

TEST(Blocks, ReferencesFollowADualViewThatIsResized) {
  Kokkos::DualView<double*, Kokkos::DefaultHostExecutionSpace> dual("x", 4);
  const valet::BlockStorage storage = valet::kokkos::blocks(valet::ref(dual));
  dual.resize(50);
  Kokkos::deep_copy(dual.view_device(), rank());
  const std::vector<int> ranks(4, (rank() + 1) % size());
  valet::migrate(MPI_COMM_WORLD, storage, 4, ranks);
  dual.sync_host();
  EXPECT_EQ(dual.view_host()(0), (rank() + size() - 1) % size());
}

/// All blocks go to the last rank, whose Views, of any kind, become as long as it takes.
TEST(Blocks, GrowingViewsAreResizedWhereTheyMust) {
  for (const bool staged : {false, true}) {
    Doubles view("x", 4);
    Kokkos::View<float**, Kokkos::LayoutLeft, Kokkos::HostSpace> matrix("y", 4, 3);
    Kokkos::View<int* [2], Kokkos::HostSpace> pairs("z", 4);
    Kokkos::DualView<double*, Kokkos::DefaultHostExecutionSpace> dual("d", 4);
    valet::kokkos::NodeView<double*> node("n", 4, MPI_COMM_WORLD);
    Kokkos::deep_copy(view, rank());
    Kokkos::deep_copy(matrix, static_cast<float>(rank()));
    Kokkos::deep_copy(pairs, rank());
    Kokkos::deep_copy(dual.view_device(), rank());
    for (std::size_t k = 0; k < 4; ++k) node(k) = rank();
    const auto storage_of = [&](auto&&... given) {
      return staged ? valet::kokkos::staged_blocks(valet::growing(given)...)
                    : valet::kokkos::blocks(valet::growing(given)...);
    };
    const valet::BlockStorage storage = storage_of(view, matrix, pairs, dual, node);
    EXPECT_TRUE(storage.grows());
    const std::vector<int> ranks(4, size() - 1);
    const valet::Report report =
        valet::migrate(MPI_COMM_WORLD, storage, 4, ranks, {.order = valet::Order::stable});
    const bool has_all = rank() == size() - 1;
    const std::size_t slots = has_all ? 4 * static_cast<std::size_t>(size()) : 4;
    EXPECT_EQ(view.extent(0), slots);
    EXPECT_EQ(matrix.extent(0), slots);
    EXPECT_EQ(matrix.extent(1), 3U);
    EXPECT_EQ(pairs.extent(0), slots);
    EXPECT_EQ(node.extent(0), slots);
    dual.sync_host();
    EXPECT_EQ(dual.extent(0), slots);
    EXPECT_EQ(view.label(), "x");
    for (std::size_t k = 0; k < report.blocks_after; ++k) {
      // Those that stay come first.
      const int from = k < 4 ? size() - 1 : static_cast<int>(k / 4) - 1;
      EXPECT_EQ(view(k), from);
      EXPECT_EQ(matrix(k, 2), static_cast<float>(from));
      EXPECT_EQ(pairs(k, 1), from);
      EXPECT_EQ(dual.view_host()(k), from);
      EXPECT_EQ(node(k), from);
    }
  }
}

TEST(Blocks, OfGrowingViewsThatKokkosCannotResizeAreRefused) {
  if (size() == 1) return;
  std::vector<double> memory(4, rank());
  using Unmanaged =
      Kokkos::View<double*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  Unmanaged unmanaged(memory.data(), 4);
  Doubles view("x", 4);
  const auto storage = valet::kokkos::blocks(valet::growing(view), valet::growing(unmanaged));
  expect_words(error_of_migration(storage, 4),
               {"callback_failed", "rank 0:", "is unmanaged, const, tiled or has LayoutStride",
                "nothing has moved"});
  EXPECT_EQ(view.extent(0), 4U) << "as long as the other one";
  EXPECT_EQ(error_of_migration(storage, rank() == 0 ? 4 : 0), "");
}

TEST(Blocks, OfAViewThatWasResizedSinceAreRefused) {
  for (const bool staged : {false, true}) {
    Doubles view("x", 4), other("y", 4);
    const auto storage =
        staged ? valet::kokkos::staged_blocks(view, other) : valet::kokkos::blocks(view, other);
    EXPECT_EQ(error_of_migration(storage, rank() == 0 ? 4 : 0), "");
    if (rank() == size() - 1) Kokkos::resize(view, 8);
    expect_words(error_of_migration(storage, 0),
                 {"invalid_argument", "rank " + std::to_string(size() - 1) + ":", "View 'x'",
                  "held by its storage alone", "valet::ref(view)"});
  }
}

/// Whatever the extents of a View say that was never allocated.
TEST(Blocks, ViewsThatWereNeverAllocatedTakePart) {
  for (const bool staged : {false, true}) {
    using Positions = Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace>;
    Positions view =
        rank() == 0 ? Positions("x", static_cast<std::size_t>(2 * size()), 3) : Positions();
    Doubles id = rank() == 0 ? Doubles("id", view.extent(0)) : Doubles();
    const auto storage = staged ? valet::kokkos::staged_blocks(valet::ref(view), valet::ref(id))
                                : valet::kokkos::blocks(valet::ref(view), valet::ref(id));
    const std::uint64_t count = rank() == 0 ? view.extent(0) : 0;
    std::vector<int> ranks(count, 0);
    EXPECT_EQ(error_of_migration(storage, count), "");
    // Two for each rank, which allocates them when it knows how many there are.
    for (std::uint64_t k = 0; k < count; ++k) {
      ranks[k] = static_cast<int>(k / 2);
      for (std::size_t c = 0; c < 3; ++c) view(k, c) = static_cast<double>(k / 2);
      id(k) = static_cast<double>(k / 2);
    }
    valet::Plan plan = valet::plan_to_ranks(MPI_COMM_WORLD, storage, count, ranks);
    EXPECT_EQ(plan.required_slots(), 2U);
    if (rank() != 0) {
      view = Positions("x", plan.required_slots(), 3);
      id = Doubles("id", plan.required_slots());
    }
    valet::execute(plan, storage);
    for (std::size_t k = 0; k < 2; ++k) {
      EXPECT_EQ(id(k), rank());
      EXPECT_EQ(view(k, 2), rank());
    }
  }
}

/// Not even a block's size is known then.
TEST(Blocks, ViewsThatNobodyHasAllocatedMoveNothing) {
  for (const valet::Method method : all_methods)
    for (const valet::Order order : all_orders) {
      SCOPED_TRACE(std::string(to_string(method)) + ", " + to_string(order));
      Kokkos::View<double**, Kokkos::HostSpace> view;
      const valet::Report report =
          valet::migrate(MPI_COMM_WORLD, valet::kokkos::blocks(valet::ref(view)), 0,
                         std::vector<int>(), {.method = method, .order = order, .verify = true});
      EXPECT_EQ(report.blocks_before + report.blocks_after + report.bytes_sent, 0U);
    }
}

TEST(Blocks, WithoutSlotsTakePart) {
  for (const bool staged : {false, true}) {
    const Doubles view("view", rank() == 0 ? static_cast<std::size_t>(size()) : 0U);
    const std::uint64_t count = view.extent(0);
    std::vector<int> ranks;
    for (std::uint64_t k = 0; k < count; ++k) {
      view(k) = static_cast<double>(k);
      ranks.push_back(0);
    }
    const auto storage = staged ? valet::kokkos::staged_blocks(view) : valet::kokkos::blocks(view);
    const auto report = valet::migrate(MPI_COMM_WORLD, storage, count, ranks);
    EXPECT_TRUE(all_ranks(report.blocks_after == count));
  }
}

TEST(Blocks, OfDifferentExtentsAreAnErrorThatNamesTheView) {
  const Doubles a("temperature", 4);
  const Doubles b("pressure", rank() == size() - 1 ? 5U : 4U);
  for (const bool staged : {false, true}) {
    const auto storage = staged ? valet::kokkos::staged_blocks(a, b) : valet::kokkos::blocks(a, b);
    expect_words(error_of_migration(storage, 2), {"field_mismatch", "pressure", "5 slots", "has 4",
                                                  "rank " + std::to_string(size() - 1)});
  }
}

TEST(Blocks, ThatShareMemoryAreAnErrorThatNamesBothViews) {
  const Kokkos::View<double* [3], Kokkos::HostSpace> all("position", 4);
  const auto column = Kokkos::subview(all, Kokkos::ALL, rank() == 0 ? 2 : 0);
  const auto others = Kokkos::subview(all, Kokkos::ALL, Kokkos::pair<int, int>(1, 3));
  for (const bool staged : {false, true}) {
    const auto storage = staged ? valet::kokkos::staged_blocks(column, others)
                                : valet::kokkos::blocks(column, others);
    expect_words(error_of_migration(storage, 2),
                 {"invalid_argument", "rank 0", "'position' (rows of 16 bytes, 24 apart)",
                  "shares memory", "give every array once"});
  }
}

TEST(Blocks, MayBeDisjointPartsOfOneView) {
  const Kokkos::View<double* [3], Kokkos::HostSpace> all("position", size());
  const auto column = Kokkos::subview(all, Kokkos::ALL, 0);
  const auto others = Kokkos::subview(all, Kokkos::ALL, Kokkos::pair<int, int>(1, 3));
  EXPECT_TRUE(all_ranks(error_of_migration(valet::kokkos::blocks(column, others), 1).empty()));
}

TEST(Blocks, WithoutMemoryAreAnError) {
  using Unmanaged =
      Kokkos::View<double*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  std::vector<double> memory(4);
  const Doubles a("temperature", 4);
  const Unmanaged b(rank() == 0 ? nullptr : memory.data(), 4);
  for (const bool staged : {false, true}) {
    const auto storage = staged ? valet::kokkos::staged_blocks(a, b) : valet::kokkos::blocks(a, b);
    expect_words(error_of_migration(storage, 2),
                 {"inaccessible_memory", "rank 0", "field 1", "4 slots"});
  }
}

TEST(Blocks, NeverAllocatedCannotHoldBlocks) {
  const Doubles view;
  for (const bool staged : {false, true}) {
    const auto storage = staged ? valet::kokkos::staged_blocks(view) : valet::kokkos::blocks(view);
    expect_words(error_of_migration(storage, 2), {"2 blocks", "0 slots"});
  }
}

TEST(StagedBlocks, NeedTwoBlocksOfBudget) {
  const Doubles view("view", 4);
  const std::vector<int> ranks(1, rank());
  const valet::Options options{.budget_bytes = 15};
  expect_thrown(valet::ErrorCode::budget_too_small, {"15", "16"}, [&] {
    valet::migrate(MPI_COMM_WORLD, valet::kokkos::staged_blocks(view), 1, ranks, options);
  });
}

TEST(Blocks, FenceTheGivenInstanceBeforeTheDataIsTouched) {
  const Doubles view("view", 4);
  int given = 0;
  CountedSpace space;
  space.fences = &given;
  const auto storage = valet::kokkos::blocks(space, view);
  const std::vector<int> ranks(4, rank());
  valet::Plan plan = valet::plan_to_ranks(MPI_COMM_WORLD, storage, 4, ranks);
  const int before = given;
  execute(plan, storage);
  EXPECT_TRUE(all_ranks(given > before));
}

std::multiset<std::string>* kernel_names = nullptr;
std::multiset<std::string>* allocations = nullptr;

void note_kernel(const char* name, const std::uint32_t, std::uint64_t*) {
  kernel_names->insert(name);
}

void note_allocation(const Kokkos::Tools::SpaceHandle, const char* label, const void* const,
                     const std::uint64_t bytes) {
  allocations->insert(std::string(label) + " " + std::to_string(bytes));
}

/// Listens to Kokkos while it lives.
class Listener {
 public:
  Listener() {
    kernel_names = &kernels_;
    allocations = &allocations_;
    Kokkos::Tools::Experimental::set_begin_parallel_for_callback(note_kernel);
    Kokkos::Tools::Experimental::set_allocate_data_callback(note_allocation);
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener() {
    Kokkos::Tools::Experimental::set_begin_parallel_for_callback(nullptr);
    Kokkos::Tools::Experimental::set_allocate_data_callback(nullptr);
  }

  std::multiset<std::string> kernels_;
  std::multiset<std::string> allocations_;
};

TEST(StagedBlocks, LabelTheirKernelsAndAllocateNoMoreThanTheySay) {
  const Doubles view("view", 64);
  std::vector<valet::Address> addresses;
  for (std::uint64_t s = 0; s < 64; ++s)
    addresses.push_back({(rank() + static_cast<int>(s)) % size(), (s + 1) % 64});
  // Every rank sends the block in slot s to slot s+1: one arrival for each slot.
  Listener listener;
  {
    const auto storage = valet::kokkos::staged_blocks(view);
    const valet::Options options{.budget_bytes = 128};
    const auto report = valet::migrate(MPI_COMM_WORLD, storage, 64,
                                       std::span<const valet::Address>(addresses), options);
    EXPECT_TRUE(all_ranks(report.blocks_after == 64));
  }
  const auto calls = [&](const char* label) { return listener.kernels_.count(label); };
  const bool labelled = calls("valet::gather") > 0 && calls("valet::scatter") > 0 &&
                        calls("valet::gather") + calls("valet::scatter") + calls("valet::copy") ==
                            listener.kernels_.size();
  EXPECT_TRUE(all_ranks(labelled));
  std::size_t bytes = 0;
  for (const std::string& allocation : listener.allocations_) {
    EXPECT_EQ(allocation.rfind("valet::scratch ", 0), 0U) << allocation;
    bytes += std::stoull(allocation.substr(allocation.find(' ')));
  }
  EXPECT_LE(bytes, valet::kokkos::detail::index_staging_bytes + 128);
}

TEST(StagedBlocks, AllocateNothingAfterTheFirstOfAThousandMigrations) {
  const Doubles view("view", 64);
  for (std::uint64_t s = 0; s < 64; ++s) view(s) = rank() * 1000.0 + static_cast<double>(s);
  const std::vector<int> ranks(64, (rank() + 1) % size());
  const auto storage = valet::kokkos::staged_blocks(view);
  valet::Plan plan = valet::plan_to_ranks(MPI_COMM_WORLD, storage, 64, ranks);
  valet::execute(plan, storage);
  const Listener listener;
  for (int migration = 1; migration < 1000; ++migration) valet::execute(plan, storage);
  EXPECT_TRUE(all_ranks(listener.allocations_.empty()));
  double sum = 0;
  for (std::uint64_t s = 0; s < 64; ++s) sum += view(s);
  const int source = ((rank() - 1000) % size() + size()) % size();
  EXPECT_TRUE(all_ranks(sum == 64 * 1000.0 * source + 63 * 32.0));
}

TEST(Blocks, OnTheHostAllocateNothingWithKokkos) {
  const Doubles view("view", 8);
  const std::vector<int> ranks(4, (rank() + 1) % size());
  Listener listener;
  valet::migrate(MPI_COMM_WORLD, valet::kokkos::blocks(view), 4, ranks);
  EXPECT_TRUE(all_ranks(listener.allocations_.empty() && listener.kernels_.empty()));
}

TEST(StagedBlocks, WorkInALentWorkspaceOfAnyBlockSize) {
  const Kokkos::View<char* [3], Kokkos::HostSpace> small("small", 40);
  const Doubles big("big", 40);
  for (std::uint64_t s = 0; s < 20; ++s) {
    big(s) = rank() * 1000.0 + static_cast<double>(s);
    for (int i = 0; i < 3; ++i) small(s, i) = static_cast<char>(s + static_cast<unsigned>(i));
  }
  const std::vector<int> ranks(20, (rank() + 1) % size());
  const auto storage = valet::kokkos::staged_blocks(small, big);
  valet::Plan plan = valet::plan_to_ranks(MPI_COMM_WORLD, storage, 20, ranks);
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> workspace(plan.workspace_bytes() / 64 + 1);
  execute(plan, storage, std::as_writable_bytes(std::span(workspace)));
  const int source = (rank() + size() - 1) % size();
  bool right = true;
  for (std::uint64_t s = 0; s < 20; ++s) {
    right = right && big(s) == source * 1000.0 + static_cast<double>(s);
    for (int i = 0; i < 3; ++i)
      right = right && small(s, i) == static_cast<char>(s + static_cast<unsigned>(i));
  }
  EXPECT_TRUE(all_ranks(right));
}

}  // namespace
