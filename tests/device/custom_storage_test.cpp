// SPDX-License-Identifier: BSD-3-Clause

// Storages of functions of the application, on memory that the host must not touch: every method,
// order and form, scratch within the budget, errors of the functions.

#include "fake_device.hpp"
#include "filled_map.hpp"
#include "swept_case.hpp"

#include <numeric>

namespace valet::test {
namespace {

constexpr std::size_t list_bytes = custom_most_slots * sizeof(std::uint64_t);
constexpr std::array methods{Method::stream, Method::phased, Method::cyclic, Method::direct};

/// A map on the device; budgets that the device polices.
struct DeviceCase {
  DeviceCase(const GlobalMap& map, Form chosen_form, const Options& chosen_options,
             std::size_t block_bytes = 56, bool copies_slots = true)
      : form(chosen_form),
        options(chosen_options),
        filled(map, rank(), Shape::device, block_bytes),
        device(*filled.blocks().device()),
        functions(device.functions(copies_slots)),
        storage(custom_storage(filled.slots(), block_bytes, functions)),
        plan(filled.plan(MPI_COMM_WORLD, form, options)) {}

  Report run() { return execute(plan, storage); }
  [[nodiscard]] long long wrong() { return sum_over_ranks(filled.wrong(form, options.order)); }

  Form form;
  Options options;
  FilledMap filled;
  FakeDevice& device;
  CustomFunctions functions;
  BlockStorage storage;
  Plan plan;
};

std::string describe(Method method, Order order, Form form, std::size_t budget) {
  return std::string(to_string(method)) + ", " + to_string(order) +
         (form == Form::to_ranks ? ", to ranks" : ", to slots") + ", budget " +
         std::to_string(budget);
}

/// Random maps with everything that can be chosen, on this method.
class Device : public testing::TestWithParam<Method> {};

TEST_P(Device, IsMovedInAnyOrderWithinTheBudget) {
  const Method method = GetParam();
  for (std::uint64_t k = 0; k < 72; ++k) {
    constexpr std::size_t block_bytes = 56;
    const auto [map, form, options] = swept_case(k, method, block_bytes);
    SCOPED_TRACE(seed_note(seed() + k) + ", " +
                 describe(method, options.order, form, options.budget_bytes));
    DeviceCase tried(map, form, options, block_bytes, k % 4 < 2);
    const std::size_t before = tried.device.counts().scratch_bytes;
    tried.device.count_peak_anew();
    const Report report = tried.run();
    const std::size_t peak = tried.device.counts().scratch_peak_bytes;
    EXPECT_EQ(tried.wrong(), 0);
    EXPECT_TRUE(all_ranks(report.verified == options.verify));
    EXPECT_LE(peak - before, options.budget_bytes);
    EXPECT_LE(report.peak_extra_bytes, report.extra_bytes_bound);
    EXPECT_EQ(report.shared_bytes, 0U) << "memory of the node is not written by kernels";
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, Device, testing::ValuesIn(methods), ParameterName());

Options stream_options(Order order, bool verify = false) {
  return {.method = Method::stream, .order = order, .verify = verify};
}

TEST(DeviceBudget, OfOneBlockIsTooSmall) {
  Options options = stream_options(Order::any);
  options.budget_bytes = 111;
  const Outcome outcome = outcome_of(
      [&] { const DeviceCase tried(ring_map(size(), 20, 10, 1), Form::to_ranks, options); });
  expect_error(outcome, ErrorCode::budget_too_small, {"112 bytes that two staged blocks take"});
}

TEST(DeviceScratch, IsAllocatedOnceForAllExecutionsOfAPlan) {
  for (const Order order : all_orders) {
    // Every block goes round, so that the map can be carried out again and again.
    DeviceCase tried(ring_map(size(), 60, 50, 1), Form::to_ranks, stream_options(order));
    static_cast<void>(tried.run());
    const FakeDevice::Counts first = tried.device.counts();
    std::uint64_t most = 0;
    const int executions = order == Order::any ? 1000 : 50;
    for (int k = 1; k < executions; ++k) most = std::max(most, tried.run().peak_extra_bytes);
    EXPECT_EQ(tried.device.counts().allocations, first.allocations);
    EXPECT_EQ(tried.device.counts().scratch_peak_bytes, first.scratch_peak_bytes);
    EXPECT_LE(most, tried.run().extra_bytes_bound);
    EXPECT_GE(tried.device.counts().fences, static_cast<std::uint64_t>(executions));
  }
}

TEST(DeviceScratch, GoesBackWithThePlanAlsoAfterTheStorage) {
  FakeDevice device(20, 16);
  {
    std::unique_ptr<Plan> plan;
    {
      const BlockStorage storage = device.storage();
      const std::vector<int> ranks(10, (rank() + 1) % size());
      plan = std::make_unique<Plan>(plan_to_ranks(MPI_COMM_WORLD, storage, 10, ranks, Options()));
      execute(*plan, storage);
    }
    EXPECT_GT(device.counts().scratch_bytes, 0U);
  }
  EXPECT_EQ(device.counts().scratch_bytes, 0U);
}

TEST(DeviceScratch, MayBeLent) {
  DeviceCase tried(ring_map(size(), 60, 50, 1), Form::to_ranks, stream_options(Order::stable));
  // A type with a name: nvcc 13.0 fails on vectors of std::max_align_t, which has none.
  struct alignas(std::max_align_t) Aligned {
    std::byte bytes[alignof(std::max_align_t)];
  };
  std::vector<Aligned> lent(tried.plan.workspace_bytes() / sizeof(Aligned) + 1);
  tried.device.take_any_memory();
  const std::size_t before = tried.device.counts().allocations;
  execute(tried.plan, tried.storage, std::as_writable_bytes(std::span(lent)));
  EXPECT_EQ(tried.device.counts().allocations, before);
  EXPECT_EQ(tried.wrong(), 0);
}

TEST(DeviceScratch, ThatIsNotThereIsAnErrorOfAllRanks) {
  DeviceCase tried(ring_map(size(), 60, 50, 1), Form::to_ranks, stream_options(Order::any));
  if (rank() == size() - 1) tried.device.limit_scratch(tried.device.counts().scratch_bytes);
  const Outcome outcome = outcome_of([&] { static_cast<void>(tried.run()); });
  expect_error(outcome, ErrorCode::out_of_memory, {});
  tried.device.limit_scratch(~std::size_t{0});
  static_cast<void>(tried.run());
  EXPECT_EQ(tried.wrong(), 0) << "nothing had moved";
}

/// Slots of which none is both read and written are copied without being packed, some at a time.
TEST(DeviceCopies, GoFromSlotToSlotWhereSlotsAreDisjoint) {
  // Nothing leaves: all of it is a rank's own redistribution, of sixteen chains at a time.
  GlobalMap map = empty_map(size(), 400);
  for (int r = 0; r < size(); ++r)
    for (std::uint64_t k = 0; k < 200; ++k) row_of(map.destination, r)[k] = Address{r, k + 200};
  DeviceCase tried(map, Form::to_slots, stream_options(Order::any));
  static_cast<void>(tried.run());
  EXPECT_EQ(tried.wrong(), 0);
  EXPECT_LE(tried.device.counts().copies, 200U / 16 + 1);
  EXPECT_EQ(tried.device.counts().packs, 0U);
}

/// An array that MPI may read and write, as it may a device's where it is aware of it.
TEST(DeviceThatMpiReaches, SendsRunsFromWhereTheyAre) {
  constexpr std::size_t block_bytes = 8192;
  constexpr std::uint64_t slots = 100, count = 64;
  std::vector<std::uint64_t> array(slots * block_bytes / 8);
  const auto word = [&](std::uint64_t slot) -> std::uint64_t& {
    return array[slot * block_bytes / 8];
  };
  std::uint64_t packed_blocks = 0;
  CustomFunctions functions;
  functions.pack = [&](SlotSpan list, std::byte* packed) {
    packed_blocks += list.size();
    for (std::size_t k = 0; k < list.size(); ++k)
      std::memcpy(packed + k * block_bytes, &word(list[k]), block_bytes);
  };
  functions.unpack = [&](const std::byte* packed, SlotSpan list) {
    for (std::size_t k = 0; k < list.size(); ++k)
      std::memcpy(&word(list[k]), packed + k * block_bytes, block_bytes);
  };
  functions.mpi_data = array.data();
  const BlockStorage storage = custom_storage(slots, block_bytes, functions);
  for (std::uint64_t slot = 0; slot < count; ++slot)
    word(slot) = 1000 * static_cast<std::uint64_t>(rank()) + slot;
  const std::vector<int> ranks(count, (rank() + 1) % size());
  Options options = stream_options(Order::any);
  const Report report = migrate(MPI_COMM_WORLD, storage, count, ranks, options);
  EXPECT_EQ(report.shared_bytes, 0U);
  const auto source = static_cast<std::uint64_t>((rank() + size() - 1) % size());
  std::vector<std::uint64_t> got;
  for (std::uint64_t slot = 0; slot < count; ++slot) got.push_back(word(slot));
  std::ranges::sort(got);
  for (std::uint64_t k = 0; k < count; ++k) EXPECT_EQ(got[k], 1000 * source + k);
  EXPECT_EQ(packed_blocks, 0U) << "all that leaves is one run";
}

TEST(CustomStorage, IsRefusedOnAllRanksWhereOneHasItsFunctionsWrong) {
  struct Wrong {
    const char* text;
    void (*spoil)(CustomFunctions&, std::size_t& block_bytes);
  };
  const std::array wrongs{
      Wrong{"no function that packs", [](CustomFunctions& f, std::size_t&) { f.pack = nullptr; }},
      Wrong{"or none that unpacks", [](CustomFunctions& f, std::size_t&) { f.unpack = nullptr; }},
      Wrong{"does not free it", [](CustomFunctions& f, std::size_t&) { f.free_scratch = nullptr; }},
      Wrong{"does not free it",
            [](CustomFunctions& f, std::size_t&) { f.allocate_scratch = nullptr; }},
      Wrong{"have no bytes", [](CustomFunctions&, std::size_t& bytes) { bytes = 0; }}};
  for (const Wrong& wrong : wrongs) {
    FakeDevice device(8, 24);
    CustomFunctions functions = device.functions();
    std::size_t block_bytes = 24;
    if (rank() == size() - 1) wrong.spoil(functions, block_bytes);
    const BlockStorage storage = custom_storage(8, block_bytes, functions);
    const std::vector<int> ranks(4, 0);
    const Outcome outcome = outcome_of([&] { migrate(MPI_COMM_WORLD, storage, 4, ranks); });
    expect_error(outcome, ErrorCode::invalid_argument,
                 {wrong.text, "rank " + std::to_string(size() - 1)});
  }
}

TEST(CustomStorage, WithoutMemoryForItsListsIsRefusedOnAllRanks) {
  FakeDevice device(8, 24);
  if (rank() == 0) device.limit_scratch(list_bytes - 1);
  const BlockStorage storage = device.storage();
  const std::vector<int> ranks(4, 0);
  const Outcome outcome = outcome_of([&] { migrate(MPI_COMM_WORLD, storage, 4, ranks); });
  expect_error(outcome, ErrorCode::out_of_memory, {});
}

TEST(CustomStorage, NeedsNoMemoryOfItsOwn) {
  FakeDevice device(60, 56);
  device.take_any_memory();
  CustomFunctions functions;
  // Only what must be there: packed blocks are then in memory of the host.
  std::vector<double> array(60);
  functions.pack = [&](SlotSpan slots, std::byte* packed) {
    for (std::size_t k = 0; k < slots.size(); ++k) std::memcpy(packed + 8 * k, &array[slots[k]], 8);
  };
  functions.unpack = [&](const std::byte* packed, SlotSpan slots) {
    for (std::size_t k = 0; k < slots.size(); ++k) std::memcpy(&array[slots[k]], packed + 8 * k, 8);
  };
  for (std::size_t k = 0; k < 50; ++k) array[k] = rank() * 100.0 + static_cast<double>(k);
  const std::vector<int> ranks(50, (rank() + 1) % size());
  migrate(MPI_COMM_WORLD, custom_storage(60, 8, functions), 50, ranks,
          stream_options(Order::fill, true));
  for (std::size_t k = 0; k < 50; ++k)
    EXPECT_EQ(array[k], (rank() + size() - 1) % size() * 100.0 + static_cast<double>(k));
}

TEST(CustomStorage, CutsListsToWhatFunctionsTakeAtATime) {
  constexpr std::size_t count = 2 * custom_most_slots + 7;
  std::vector<std::uint64_t> array(count), packed(count);
  CustomFunctions functions;
  functions.pack = [&](SlotSpan slots, std::byte* to) {
    EXPECT_LE(slots.size(), custom_most_slots);
    for (std::size_t k = 0; k < slots.size(); ++k) std::memcpy(to + 8 * k, &array[slots[k]], 8);
  };
  functions.unpack = [&](const std::byte* from, SlotSpan slots) {
    EXPECT_LE(slots.size(), custom_most_slots);
    for (std::size_t k = 0; k < slots.size(); ++k) std::memcpy(&array[slots[k]], from + 8 * k, 8);
  };
  BlockStorage storage = custom_storage(count, 8, functions);
  std::vector<SlotIndex> slots(count);
  std::iota(slots.begin(), slots.end(), SlotIndex{0});
  std::iota(array.begin(), array.end(), std::uint64_t{1});
  const std::vector<std::uint64_t> before = array;
  auto* const bytes = reinterpret_cast<std::byte*>(packed.data());
  storage.backend().gather(slots, bytes);
  EXPECT_EQ(packed, before);
  std::ranges::reverse(slots);
  storage.backend().scatter(bytes, slots);
  std::ranges::reverse(packed);
  EXPECT_EQ(array, packed);
}

/// Which function fails, and how the error calls it.
struct Failure {
  const char* call;
  void (*spoil)(CustomFunctions&, bool& fails);
};

template <class Function>
void fail_when(Function& function, bool& fails) {
  function = [inner = function, &fails](auto&&... arguments) {
    if (fails) throw std::runtime_error("the device fell off the bus");
    return inner(arguments...);
  };
}

TEST(CustomStorage, ThatFailsEndsTheExecutionOnAllRanks) {
  const std::array failures{
      Failure{"packing blocks", [](CustomFunctions& f, bool& on) { fail_when(f.pack, on); }},
      Failure{"unpacking blocks", [](CustomFunctions& f, bool& on) { fail_when(f.unpack, on); }},
      Failure{"waiting for the application's work",
              [](CustomFunctions& f, bool& on) { fail_when(f.synchronize, on); }},
      Failure{"making the workspace",
              [](CustomFunctions& f, bool& on) { fail_when(f.allocate_scratch, on); }}};
  for (const Method method : methods)
    for (const Failure& failure : failures) {
      SCOPED_TRACE(std::string(to_string(method)) + ", " + failure.call);
      Options options = stream_options(Order::fill, true);
      options.method = method;
      DeviceCase tried(ring_map(size(), 60, 50, 1), Form::to_ranks, options);
      bool fails = false;
      CustomFunctions functions = tried.functions;
      failure.spoil(functions, fails);
      const BlockStorage storage = custom_storage(60, 56, functions);
      fails = rank() == size() - 1;
      const Outcome outcome = outcome_of([&] { execute(tried.plan, storage); });
      EXPECT_TRUE(same_on_all_ranks(outcome)) << outcome.text;
      // One rank has nothing to unpack.
      if (size() == 1 && outcome.code == ErrorCode::success) continue;
      EXPECT_EQ(outcome.code, ErrorCode::callback_failed) << outcome.text;
      expect_words(outcome.text, {failure.call, "the device fell off the bus"});
      fails = false;
      tried.filled.fill();
      execute(tried.plan, storage);
      EXPECT_EQ(tried.wrong(), 0) << "the plan is as good as before";
    }
}

}  // namespace
}  // namespace valet::test
