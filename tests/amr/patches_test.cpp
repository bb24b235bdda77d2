// SPDX-License-Identifier: BSD-3-Clause

// What an AMR code does with a plan: it asks for the slots it needs, grows its Views, and carries
// it out, also again and again.

#include "counted_new.hpp"
#include "kokkos_environment.hpp"
#include "memory.hpp"
#include "migrate.hpp"
#include "random_mesh.hpp"
#include "regrid.hpp"
#include "test_comm.hpp"

#include <new>
#include <sys/resource.h>

namespace amr::test {
namespace {

using namespace valet::test;

/// What the cells of a leaf hold: halves of small integers, so that means of eight are exact.
double cell_value(LeafKey key, std::size_t variable, int cell) {
  return 0.5 *
         static_cast<double>((key * 31 + variable * 7 + static_cast<std::uint64_t>(cell)) % 64);
}

void write_patch(Patches& patches, std::uint64_t slot, LeafKey key) {
  patches.key(slot) = key;
  patches.work(slot) = static_cast<double>(key % 13);
  patches.occupied[slot] = 1;
  for (std::size_t v = 0; v < variables; ++v)
    for (int c = 0; c < patch_cells; ++c) patches.cells[v](slot, c) = cell_value(key, v, c);
}

/// Occupied slots whose content is not that of the leaf they are named after.
long long wrong_patches(const Patches& patches) {
  long long wrong = 0;
  for (std::uint64_t slot = 0; slot < patches.slots(); ++slot) {
    if (patches.occupied[slot] == 0) continue;
    const LeafKey key = patches.key(slot);
    bool good = patches.work(slot) == static_cast<double>(key % 13);
    for (std::size_t v = 0; v < variables; ++v)
      for (int c = 0; c < patch_cells; ++c)
        good = good && patches.cells[v](slot, c) == cell_value(key, v, c);
    if (!good) ++wrong;
  }
  return wrong;
}

/// Patches on random ranks behind free slots, and where they shall go.
struct Case {
  explicit Case(std::uint64_t number, int level = 1)
      : random(seed() + number), mesh(refined_mesh(uniform_mesh(level), random, 0.5)) {
    scatter_homes(mesh, random, size());
    std::uint64_t slots = 0;
    for (const int home : mesh.home) slots += home == rank() ? 1 : 0;
    holes = random() % 5;
    patches = Patches(slots + holes);
    std::uint64_t slot = holes;  // the first slots are free
    for (LeafIndex leaf = 0; leaf < mesh.size(); ++leaf)
      if (mesh.home[leaf] == rank()) write_patch(patches, slot++, mesh.keys[leaf]);
    target = mesh;
    scatter_homes(target, random, size());
  }

  [[nodiscard]] std::vector<int> ranks() const {
    std::vector<int> result(patches.slots(), -1);
    for (std::uint64_t slot = 0; slot < patches.slots(); ++slot)
      if (patches.occupied[slot] != 0) result[slot] = target.home[target.find(patches.key(slot))];
    return result;
  }
  [[nodiscard]] valet::Plan plan(const valet::Options& options) const {
    return valet::plan_to_ranks(MPI_COMM_WORLD, patches.storage(),
                                valet::Occupied::masked(patches.occupied), ranks(), options);
  }
  [[nodiscard]] std::uint64_t arriving() const {
    return static_cast<std::uint64_t>(std::count(target.home.begin(), target.home.end(), rank()));
  }

  std::mt19937_64 random;
  Mesh mesh;
  Mesh target;
  std::uint64_t holes = 0;
  Patches patches;
};

valet::Options stable(std::size_t budget_bytes = std::size_t{1} << 20) {
  return {.budget_bytes = budget_bytes, .order = valet::Order::stable};
}

std::vector<LeafKey> keys_of(const Patches& patches) {
  std::vector<LeafKey> keys;
  for (std::uint64_t slot = 0; slot < patches.slots(); ++slot)
    if (patches.occupied[slot] != 0) keys.push_back(patches.key(slot));
  return keys;
}

TEST(Patches, PlanReportsTheSlotsThatAreNeededAndViewsGrowToThem) {
  bool has_grown = false;
  for (std::uint64_t number = 0; number < 20; ++number) {
    SCOPED_TRACE(seed_note(seed(), static_cast<long long>(number)));
    Case c(number);
    valet::Plan plan = c.plan(stable());
    EXPECT_EQ(plan.required_slots(), c.arriving());
    const Totals before = c.patches.totals(MPI_COMM_WORLD);
    const std::vector<LeafKey> keys_before = keys_of(c.patches);
    if (!all_ranks(plan.required_slots() <= c.patches.slots())) {
      has_grown = true;
      const Outcome refused = outcome_of([&] { valet::execute(plan, c.patches.storage()); });
      expect_error(refused, valet::ErrorCode::infeasible, {"required_slots"});
      EXPECT_TRUE(c.patches.totals(MPI_COMM_WORLD) == before) << "nothing has moved";
      EXPECT_TRUE(all_ranks(keys_of(c.patches) == keys_before));
      // On ranks without need the Views stay as they are.
      if (plan.required_slots() > c.patches.slots()) c.patches.grow(plan.required_slots());
    }
    const Moved moved = move_in_place(plan, c.patches);
    EXPECT_TRUE(all_ranks(moved.patches_after == c.arriving()));
    EXPECT_EQ(sum_over_ranks(wrong_patches(c.patches)), 0);
    EXPECT_TRUE(c.patches.totals(MPI_COMM_WORLD) == before);
    EXPECT_NO_THROW(static_cast<void>(c.patches.slots_by_leaf(c.target, rank())));
  }
  EXPECT_EQ(has_grown, size() > 1) << "the case that this test is about must occur";
}

TEST(Patches, InPlaceEndsAsOutOfPlace) {
  for (std::uint64_t number = 0; number < 10; ++number) {
    SCOPED_TRACE(seed_note(seed(), static_cast<long long>(number)));
    Case in_place(number);
    Case out_of_place(number);
    in_place.patches.grow(in_place.mesh.size());
    out_of_place.patches.grow(out_of_place.mesh.size());
    valet::Plan plan = in_place.plan(stable(Patches::block_bytes));
    static_cast<void>(move_in_place(plan, in_place.patches));
    const std::vector<int> ranks = out_of_place.ranks();
    static_cast<void>(move_out_of_place(MPI_COMM_WORLD, out_of_place.patches, ranks));
    EXPECT_EQ(sum_over_ranks(wrong_patches(out_of_place.patches)), 0);
    EXPECT_TRUE(all_ranks(in_place.patches.occupied == out_of_place.patches.occupied));
    EXPECT_TRUE(all_ranks(keys_of(in_place.patches) == keys_of(out_of_place.patches)));
  }
}

TEST(Patches, AlongTheCurveEndInItsOrderWhereverTheyStood) {
  for (std::uint64_t number = 0; number < 10; ++number) {
    SCOPED_TRACE(seed_note(seed(), static_cast<long long>(number)));
    std::mt19937_64 random(seed() + number);
    Mesh mesh = refined_mesh(uniform_mesh(1), random, 0.5);
    scatter_homes(mesh, random, size());
    Mesh target = mesh;
    scatter_homes(target, random, size());
    std::ranges::sort(mesh.home);
    std::ranges::sort(target.home);
    Patches patches(mesh.size() + 3);
    std::uint64_t slot = mesh.size();  // from behind
    for (LeafIndex leaf = 0; leaf < mesh.size(); ++leaf)
      if (mesh.home[leaf] == rank()) write_patch(patches, slot--, mesh.keys[leaf]);
    const Totals before = patches.totals(MPI_COMM_WORLD);
    const Moved moved =
        move_along_curve(MPI_COMM_WORLD, patches, patches.slots_by_leaf(mesh, rank()),
                         cuts_of(mesh.home, size()), cuts_of(target.home, size()), stable());
    std::vector<LeafKey> expected;
    for (LeafIndex leaf = 0; leaf < target.size(); ++leaf)
      if (target.home[leaf] == rank()) expected.push_back(target.keys[leaf]);
    EXPECT_TRUE(all_ranks(keys_of(patches) == expected));
    EXPECT_TRUE(all_ranks(moved.patches_after == expected.size()));
    EXPECT_TRUE(all_ranks(moved.extra_bytes <= moved.limit_bytes));
    EXPECT_EQ(sum_over_ranks(static_cast<long long>(moved.sent_bytes - moved.received_bytes)), 0);
    EXPECT_EQ(sum_over_ranks(wrong_patches(patches)), 0);
    EXPECT_TRUE(patches.totals(MPI_COMM_WORLD) == before);
  }
}

TEST(Patches, CarryingAPlanOutAgainAllocatesNothing) {
  Case c(3);
  c.patches.grow(c.mesh.size());
  for (const valet::Order order : {valet::Order::stable, valet::Order::fill}) {
    valet::Options options = stable();
    options.order = order;
    valet::Plan plan = c.plan(options);
    // Kokkos Views as storage allocate when the storage is made, not when it is used.
    const valet::BlockStorage storage = c.patches.storage();
    for (int warm_up = 0; warm_up < 2; ++warm_up) valet::execute(plan, storage);
    const long long before = new_counters().allocations;
    for (int again = 0; again < 5; ++again) valet::execute(plan, storage);
    EXPECT_EQ(sum_over_ranks(new_counters().allocations - before), 0);
  }
}

TEST(Patches, GrowingAgainAfterAFirstExecutionWorks) {
  Case c(5);
  valet::Plan plan = c.plan(stable());
  const std::vector<std::uint8_t> mask = c.patches.occupied;
  const std::vector<LeafKey> keys = keys_of(c.patches);
  c.patches.grow(std::max(plan.required_slots(), c.patches.slots()));
  static_cast<void>(move_in_place(plan, c.patches));
  // The same blocks in the same slots as when the plan was made, in Views that are larger still.
  c.patches.grow(c.patches.slots() + 3);
  std::fill(c.patches.occupied.begin(), c.patches.occupied.end(), std::uint8_t{0});
  std::size_t next = 0;
  for (std::size_t slot = 0; slot < mask.size(); ++slot)
    if (mask[slot] != 0) write_patch(c.patches, slot, keys[next++]);
  static_cast<void>(move_in_place(plan, c.patches));
  EXPECT_EQ(sum_over_ranks(wrong_patches(c.patches)), 0);
  EXPECT_NO_THROW(static_cast<void>(c.patches.slots_by_leaf(c.target, rank())));
}

TEST(Patches, RefinedAndCoarsenedAreWhatTheyWere) {
  std::mt19937_64 random(seed());
  SCOPED_TRACE(seed_note());
  Mesh coarse = uniform_mesh(2);
  for (LeafIndex leaf = 0; leaf < coarse.size(); ++leaf)
    coarse.home[leaf] = static_cast<int>(leaf) % size();
  const Mesh keys = refined_mesh(coarse, random, 0.4);
  Patches patches(keys.size());
  std::uint64_t slot = 0;
  for (LeafIndex leaf = 0; leaf < coarse.size(); ++leaf)
    if (coarse.home[leaf] == rank()) write_patch(patches, slot++, coarse.keys[leaf]);
  const Totals before = patches.totals(MPI_COMM_WORLD);

  const Transition finer = transition(coarse, keys.keys);
  const Mesh fine = mesh_after(coarse, finer, keys.keys, coarse.home);
  change_patches(patches, fine, finer, patches.slots_by_leaf(coarse, rank()), rank());
  EXPECT_NO_THROW(static_cast<void>(patches.slots_by_leaf(fine, rank())));
  const Totals between = patches.totals(MPI_COMM_WORLD);
  EXPECT_EQ(between.patches, fine.size());
  EXPECT_TRUE(between.mass == before.mass) << "children have the mass of their parent";
  EXPECT_GT(sum_over_ranks(wrong_patches(patches)), 0) << "and other values";

  const Transition back = transition(fine, coarse.keys);
  change_patches(patches, coarse, back, patches.slots_by_leaf(fine, rank()), rank());
  EXPECT_TRUE(patches.totals(MPI_COMM_WORLD) == before);
  EXPECT_EQ(sum_over_ranks(wrong_patches(patches)), 0);
}

TEST(Patches, MemoryRefusedOnOneRankIsAnErrorOnAll) {
  const int last = size() - 1;
  const Outcome outcome = [&]() -> Outcome {
    try {
      agree_on_memory(MPI_COMM_WORLD, rank() == last, 12'300'000, "a test");
    } catch (const OutOfMemory& error) {
      return {valet::ErrorCode::out_of_memory, error.what()};
    }
    return {};
  }();
  expect_error(outcome, valet::ErrorCode::out_of_memory,
               {"refuses rank " + std::to_string(last) + " 12.3 MB for a test"});
  EXPECT_NO_THROW(agree_on_memory(MPI_COMM_WORLD, false, 1, "nothing"));
}

TEST(Memory, PeakThatIsOverAgainIsSeen) {
  ResidentPeak peak;
  peak.start();
  {
    std::vector<char> touched(std::size_t{64} << 20, 1);
    EXPECT_EQ(std::accumulate(touched.begin(), touched.end(), 0L), 64L << 20);
  }
  peak.stop();
  if (peak.ratio() == 0) GTEST_SKIP() << "this system does not report resident peaks";
  const double expected =
      1 + static_cast<double>(64U << 20) / static_cast<double>(peak.before_bytes());
  EXPECT_NEAR(peak.ratio(), expected, 0.05 * expected);
  const double first = peak.ratio();
  peak.start();
  peak.stop();
  EXPECT_EQ(peak.ratio(), first) << "the largest is kept";
}

TEST(Memory, LimitIsEnforcedByTheSystem) {
  if (data_bytes() == 0) GTEST_SKIP() << "this system does not report the data of a process";
  const auto can_have = [](std::size_t bytes) {
    const std::unique_ptr<char[]> memory(new (std::nothrow) char[bytes]);
    return memory != nullptr;
  };
  const std::size_t wanted = std::size_t{64} << 20;
  limit_data(data_bytes() + wanted / 2);
  const bool refused = !can_have(wanted);
  const bool credited = can_have(wanted / 4);
  limit_data(RLIM_INFINITY);
  EXPECT_TRUE(refused);
  EXPECT_TRUE(credited);
  EXPECT_TRUE(can_have(wanted));
}

TEST(Patches, MissingOrDoublePatchesAreFound) {
  Case c(1);
  c.mesh.home[0] = (c.mesh.home[0] + 1) % size();
  long long found = 0;
  try {
    static_cast<void>(c.patches.slots_by_leaf(c.mesh, rank()));
  } catch (const std::logic_error&) {
    found = 1;
  }
  EXPECT_EQ(sum_over_ranks(found), size() > 1 ? 2 : 0) << "on the old home and on the new one";
}

}  // namespace
}  // namespace amr::test
