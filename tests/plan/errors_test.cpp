// SPDX-License-Identifier: BSD-3-Clause

// Every mistake of a caller, made on the last rank only: all ranks throw the same error, whose text
// names the rank, the block and a remedy; the data is as it was, and the communicator still works.

#include "spoilt_call.hpp"

#include <climits>

namespace valet::test {
namespace {

TEST(MapErrors, DestinationRankOutOfRangeNamesRankAndSlot) {
  for (const int bad : {-1, INT_MIN, size(), INT_MAX})
    for (const std::uint64_t slot : {std::uint64_t{0}, std::uint64_t{1}, blocks - 1}) {
      SCOPED_TRACE("rank " + std::to_string(bad) + " in slot " + std::to_string(slot));
      Call call;
      if (is_odd()) {
        call.ranks[slot] = bad;
        call.addresses[slot].rank = bad;
      }
      expect_plans_refused(call, ErrorCode::rank_out_of_range,
                           {odd_name(), "slot " + std::to_string(slot),
                            "rank " + std::to_string(bad), "fix the map"});
    }
}

TEST(MapErrors, DestinationRankOutOfRangeBehindBlocksThatLeaveARankThatGetsNone) {
  Call call;
  // Everything goes to rank 0, so the odd rank loses blocks and nothing arrives there.
  call.ranks.assign(blocks, 0);
  for (Address& address : call.addresses) address.rank = 0;
  if (is_odd()) {
    call.ranks.back() = size();
    call.addresses.back().rank = size();
  }
  expect_refused(call, [&] { call.plan_ranks(); }, ErrorCode::rank_out_of_range,
                 {odd_name(), "slot 3", "fix the map"});
}

TEST(MapErrors, DestinationSlotOutOfRangeNamesSourceSlotAndDestination) {
  for (const std::uint64_t bad : {slots, slots + 1000, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    Call call;
    const int destination = (odd_rank() + 3) % size();  // where block 2 of the odd rank goes
    if (is_odd()) call.addresses[2].slot = bad;
    expect_refused(
        call, [&] { call.plan_slots(); }, ErrorCode::slot_out_of_range,
        {"rank " + std::to_string(destination) + ":",
         "rank " + std::to_string(odd_rank()) + " sends", "6 slots", "grow the storage"});
  }
}

TEST(MapErrors, SlotTakenTwiceByTwoArrivalsOfOneSource) {
  Call call;
  // Blocks 0 and 1 go to the same rank, whatever the number of ranks, and to the same slot.
  if (is_odd()) call.addresses[0] = call.addresses[1];
  const int destination = (odd_rank() + 2) % size();
  expect_refused(call, [&] { call.plan_slots(); }, ErrorCode::slot_taken_twice,
                 {"rank " + std::to_string(destination) + ":", "slot 1", "fix the map"});
}

TEST(MapErrors, SlotTakenTwiceByArrivalsOfTwoSources) {
  if (size() < 3) GTEST_SKIP() << "needs two sources and a destination";
  Call call;
  // Slot 1 of this destination gets block 1 of the rank two before it.
  const int destination = (odd_rank() + 1) % size();
  if (is_odd()) call.addresses[0] = {destination, 1};
  expect_refused(call, [&] { call.plan_slots(); }, ErrorCode::slot_taken_twice,
                 {"rank " + std::to_string(destination) + ":", "slot 1", "fix the map"});
}

TEST(MapErrors, SlotTakenTwiceByAnArrivalAndABlockThatStays) {
  for (const std::uint64_t stays_at : {std::uint64_t{0}, slots - 1}) {
    Call call;
    // Everybody keeps block 0, moved to `stays_at`, and passes the others on; the odd rank sends
    // its block 1 on top of the block that stays.
    for (std::uint64_t k = 0; k < blocks; ++k)
      call.addresses[k] = {k == 0 ? rank() : (rank() + 1) % size(), k};
    call.addresses[0].slot = stays_at;
    if (is_odd()) call.addresses[1].slot = stays_at;
    const int destination = (odd_rank() + 1) % size();
    expect_refused(call, [&] { call.plan_slots(); }, ErrorCode::slot_taken_twice,
                   {"rank " + std::to_string(destination) + ":", "slot " + std::to_string(stays_at),
                    "fix the map"});
  }
}

TEST(MapErrors, MoreBlocksThanSlotsIsRefusedByExecuteWithTheNumberNeeded) {
  if (size() == 1) GTEST_SKIP() << "one rank cannot be sent more than it has";
  for (const Order order : all_orders) {
    Call call;
    call.options.order = order;
    call.ranks.assign(blocks, odd_rank());
    const std::uint64_t required = blocks * static_cast<std::uint64_t>(size());
    Plan plan = call.plan_ranks();
    EXPECT_EQ(plan.required_slots(), is_odd() ? required : 0);
    expect_refused(call, [&] { execute(plan, call.storage); }, ErrorCode::infeasible,
                   {odd_name(), "required_slots = " + std::to_string(required), "grow"});
  }
}

TEST(MapErrors, RanksThatDisagreeOnTheBytesOfABlock) {
  if (size() == 1) GTEST_SKIP() << "one rank agrees with itself";
  for (const std::size_t bytes : {8, 4000}) {
    Call call;
    AddressedBlocks other(Shape::dense, slots, bytes);
    if (is_odd()) call.storage = other.storage();
    expect_plans_refused(
        call, ErrorCode::block_size_mismatch,
        {odd_name(),
         "field 0 of a block is 'dense' of " + std::to_string(bytes) + " bytes, on rank 0",
         "same fields in the same order"});
  }
}

/// Ranks that move different amounts: the number in the error is enough for all of them at once.
TEST(MapErrors, TheBudgetThatDirectNamesIsEnoughForAllRanks) {
  if (size() == 1) GTEST_SKIP() << "nothing leaves";
  const auto count = static_cast<std::uint64_t>(3 + 20 * rank());
  std::vector<double> values(static_cast<std::size_t>(20 * size() + 3));
  Call call;
  call.storage = BlockStorage{field(values, 1, "x")};
  call.occupied = Occupied(count);
  call.ranks.assign(count, (rank() + 1) % size());
  call.options.method = Method::direct;
  const auto plan = [&] { call.plan_ranks(); };
  for (const int poor : {-1, 0, size() - 1})   // the only rank with so little; -1: all
    for (const std::size_t budget : {1, 8}) {  // below one block, and one
      call.options.budget_bytes = poor == -1 || poor == rank() ? budget : 4 << 20;
      const Outcome refused = outcome_of(plan);
      expect_error(refused, ErrorCode::budget_too_small, {});
      const std::string before = "set budget_bytes to at least ";
      const std::size_t found = refused.text.find(before);
      ASSERT_NE(found, std::string::npos) << refused.text;
      expect_words(refused.text, {"which is enough for all ranks, or take method stream"});
      const auto enough = std::strtoull(refused.text.c_str() + found + before.size(), nullptr, 10);
      call.options.budget_bytes = enough;
      EXPECT_EQ(outcome_of(plan).text, "");
      call.options.budget_bytes = enough - 1;
      EXPECT_EQ(outcome_of(plan).code, ErrorCode::budget_too_small) << "the least that is enough";
    }
  // What differs is said first: the number could be wrong once it is put right.
  call.options.budget_bytes = 8;
  call.options.order = rank() == size() - 1 ? Order::any : Order::stable;
  EXPECT_EQ(outcome_of(plan).code, ErrorCode::invalid_argument);
}

/// Blocks of 24 bytes in three ways: other orders, other labels, other numbers of fields.
TEST(MapErrors, RanksThatDisagreeOnFieldsOfTheSameBytes) {
  if (size() == 1) GTEST_SKIP() << "one rank agrees with itself";
  std::vector<double> x(2 * slots), m(slots), y(3 * slots);
  const Field position = field(x, 2, "position"), mass = field(m, 1, "mass");
  const BlockStorage usual{position, mass};
  struct Odd {
    BlockStorage storage;
    const char* text;
  };
  const std::vector<Odd> odd{
      {BlockStorage{mass, position},
       "field 0 of a block is 'mass' of 8 bytes, on rank 0 it is 'position' of 16 bytes"},
      {BlockStorage{position, field(m, 1, "charge")},
       "field 1 of a block is 'charge' of 8 bytes, on rank 0 it is 'mass' of 8 bytes"},
      {BlockStorage{position, field(m)},
       "field 1 of a block is one of 8 bytes, on rank 0 it is 'mass' of 8 bytes"},
      {BlockStorage{field(y, 3, "position")},
       "field 0 of a block is 'position' of 24 bytes, on rank 0 it is 'position' of 16 bytes"},
      {BlockStorage{position, field(y.data(), slots, 1, "u"), field(m, 1, "mass")}, ""}};
  for (const Odd& other : odd) {
    const bool is_larger = other.storage.block_bytes() != usual.block_bytes();
    const std::string text = is_larger ? "field 1 of a block is 'u' of 8 bytes" : other.text;
    Call call;
    call.storage = is_odd() ? other.storage : usual;
    expect_plans_refused(
        call, is_larger ? ErrorCode::block_size_mismatch : ErrorCode::field_mismatch,
        {odd_name(), text, "; give the same fields in the same order on all ranks"});
    call.storage = usual;
    Plan plan = call.plan_ranks();
    if (is_larger) continue;  // refused by the rank itself
    expect_refused(call, [&] { execute(plan, is_odd() ? other.storage : usual); },
                   ErrorCode::field_mismatch, {odd_name(), text});
    // All ranks alike may execute a plan on other fields of the same bytes.
    execute(plan, other.storage);
  }
}

/// Rows of the same bytes whose values are packed in another order.
TEST(MapErrors, RanksThatDisagreeOnTheExtentsOfARow) {
  if (size() == 1) GTEST_SKIP() << "one rank agrees with itself";
  std::vector<double> values(6 * slots);
  const auto rows = [&](std::size_t outer, std::size_t inner) {
    Field result =
        strided_field(values.data(), slots, sizeof(double), 6 * sizeof(double), "stress");
    result.dimensions[0] = {outer, static_cast<std::ptrdiff_t>(sizeof(double))};
    result.dimensions[1] = {inner, static_cast<std::ptrdiff_t>(outer * sizeof(double))};
    result.dimension_count = 2;
    return BlockStorage{result};
  };
  Call call;
  call.storage = is_odd() ? rows(3, 2) : rows(2, 3);
  expect_plans_refused(call, ErrorCode::field_mismatch,
                       {odd_name(), "'stress' of 48 bytes (extents 3 x 2), on rank 0",
                        "'stress' of 48 bytes (extents 2 x 3)"});
}

TEST(MapErrors, ManyFieldsThatDifferBehindWhatAnErrorHolds) {
  if (size() == 1) GTEST_SKIP() << "one rank agrees with itself";
  std::vector<std::vector<double>> values(100, std::vector<double>(slots));
  std::vector<Field> fields;
  for (auto& array : values) fields.push_back(field(array, 1, "a field with a rather long name"));
  if (is_odd()) fields.back().label = "another";
  Call call;
  call.storage = BlockStorage(fields);
  expect_plans_refused(call, ErrorCode::field_mismatch,
                       {"the fields of a block differ", "give the same fields"});
}

/// A rank without slots that cannot say what its blocks are, as with Views without extents, takes
/// part: it gets the answer of the others, and the error that names the slots it needs.
TEST(MapErrors, ARankThatDoesNotKnowItsBlocks) {
  if (size() == 1) GTEST_SKIP() << "nobody tells it";
  const BlockStorage unknown{field(static_cast<double*>(nullptr), 0, 0, "x")};
  std::vector<double> values(3 * slots, rank());
  Call call;
  call.storage = is_odd() ? unknown : BlockStorage{field(values, 3, "x")};
  call.occupied = is_odd() ? 0 : blocks;
  call.ranks.assign(is_odd() ? 0 : blocks, (odd_rank() + 1) % size() == rank() ? 0 : rank());
  Plan stays = call.plan_ranks();
  const Report report = execute(stays, call.storage);
  EXPECT_EQ(report.block_bytes, 24U);
  call.ranks.assign(is_odd() ? 0 : blocks, odd_rank());
  for (const Order order : all_orders) {
    call.options.order = order;
    Plan plan = call.plan_ranks();
    const std::uint64_t required = blocks * static_cast<std::uint64_t>(size() - 1);
    EXPECT_EQ(plan.required_slots(), is_odd() ? required : 0);
    expect_refused(call, [&] { execute(plan, call.storage); }, ErrorCode::infeasible,
                   {odd_name(), "required_slots = " + std::to_string(required)});
    // Allocated now, it takes them in.
    std::vector<double> grown(3 * required, -1);
    const BlockStorage large{field(grown, 3, "x")};
    execute(plan, is_odd() ? large : call.storage);
    EXPECT_EQ(std::ranges::count(grown, -1.0), is_odd() ? 0 : static_cast<long>(grown.size()));
  }
  call.options.budget_bytes = is_odd() ? 23 : 1U << 20;
  expect_refused(call, [&] { call.plan_ranks(); }, ErrorCode::budget_too_small,
                 {odd_name(), "set budget_bytes to at least 24"});
}

TEST(MapErrors, RanksThatDisagreeOnOptions) {
  if (size() == 1) GTEST_SKIP() << "one rank agrees with itself";
  const std::string remedy = "give the same on all ranks";
  Call order;
  if (is_odd()) order.options.order = Order::stable;
  expect_refused(
      order, [&] { static_cast<void>(order.plan_ranks()); }, ErrorCode::invalid_argument,
      {"option order differs: any on " + other_ranks() + ", stable on " + odd_ranks(), remedy});
  Call method;
  if (is_odd()) method.options.method = Method::direct;
  expect_plans_refused(method, ErrorCode::invalid_argument,
                       {"option method differs", "direct on " + odd_ranks(),
                        "automatic on " + other_ranks(), remedy});
  Call verify;
  if (is_odd()) verify.options.verify = true;
  expect_plans_refused(
      verify, ErrorCode::invalid_argument,
      {"option verify differs: no on " + other_ranks() + ", yes on " + odd_ranks(), remedy});
  Call trace;
  if (is_odd()) trace.options.trace = "/tmp/never_written.json";
  expect_plans_refused(
      trace, ErrorCode::invalid_argument,
      {"option trace differs: not given on " + other_ranks() + ", given on " + odd_ranks(),
       remedy});
}

TEST(MapErrors, RanksThatDisagreeOnTheFormOfTheMap) {
  if (size() == 1) GTEST_SKIP() << "one rank agrees with itself";
  for (const bool odd_to_slots : {true, false}) {
    const std::vector<std::string> words{
        "the form of the map differs: ranks on " + (odd_to_slots ? other_ranks() : odd_ranks()) +
            ", slots on " + (odd_to_slots ? odd_ranks() : other_ranks()),
        "on all ranks"};
    Call call;
    expect_refused(
        call,
        [&] {
          if (is_odd() == odd_to_slots)
            call.plan_slots();
          else
            call.plan_ranks();
        },
        ErrorCode::invalid_argument, words);
  }
}

TEST(MapErrors, RanksMayGiveDifferentBudgets) {
  Call call;
  if (is_odd()) call.options.budget_bytes = 36;
  const bool good = all_ranks(outcome_of([&] { call.plan_ranks(); }).code == ErrorCode::success);
  EXPECT_TRUE(good);
}

TEST(MapErrors, BudgetBelowOneBlockNamesBothNumbers) {
  for (const std::size_t budget : {0, 35}) {
    Call call;
    if (is_odd()) call.options.budget_bytes = budget;
    expect_plans_refused(call, ErrorCode::budget_too_small,
                         {odd_name(), std::to_string(budget) + " bytes", "36 bytes",
                          "set budget_bytes to at least 36"});
  }
}

TEST(MapErrors, DirectThatDoesNotFitTheBudgetNamesBothNumbers) {
  if (size() == 1) GTEST_SKIP() << "nothing leaves";
  Call call;
  call.options.method = Method::direct;
  std::uint64_t leaving = 0;
  for (std::uint64_t k = 0; k < blocks; ++k)
    if ((odd_rank() + static_cast<int>(k) + 1) % size() != odd_rank()) ++leaving;
  const std::uint64_t needed = 2 * leaving * 36;  // as many arrive as leave
  if (is_odd()) call.options.budget_bytes = needed - 1;
  expect_plans_refused(call, ErrorCode::budget_too_small,
                       {odd_name(), "method direct", std::to_string(needed) + " bytes",
                        "budget is " + std::to_string(needed - 1), "set budget_bytes to at least ",
                        ", which is enough for all ranks"});
  if (is_odd()) call.options.budget_bytes = needed;
  EXPECT_EQ(outcome_of([&] { call.plan_ranks(); }).text, "");
}

TEST(MapErrors, MapOfWrongLength) {
  for (const bool longer : {false, true}) {
    Call call;
    const std::size_t entries = longer ? blocks + 1 : blocks - 1;
    if (is_odd()) {
      call.ranks.resize(entries, 0);
      call.addresses.resize(entries);
    }
    expect_plans_refused(
        call, ErrorCode::invalid_argument,
        {odd_name(), std::to_string(entries) + " entries", "4 blocks", "for each"});
  }
}

TEST(MapErrors, MaskOfWrongLength) {
  for (const std::size_t entries : {slots - 1, slots + 1}) {
    Call call;
    const std::vector<std::uint8_t> mask(entries, 1);
    if (is_odd()) {
      call.occupied = Occupied::masked(mask);
      call.ranks.resize(entries, 0);
      call.addresses.resize(entries);
    }
    expect_plans_refused(call, ErrorCode::invalid_argument,
                         {odd_name(), std::to_string(entries), std::to_string(slots) + " slots"});
  }
}

TEST(MapErrors, MoreBlocksCountedThanThereAreSlots) {
  Call call;
  if (is_odd()) {
    call.occupied = Occupied(slots + 1);
    call.ranks.resize(slots + 1, 0);
    call.addresses.resize(slots + 1);
  }
  expect_plans_refused(call, ErrorCode::invalid_argument,
                       {odd_name(), "7 blocks", "6 slots", "give the number"});
}

TEST(MapErrors, WindowOutsideOfOneTo64) {
  for (const int window : {-1, 0, 65}) {
    Call call;
    if (is_odd()) call.options.stream.window = window;
    expect_plans_refused(call, ErrorCode::invalid_argument,
                         {odd_name(), "window of " + std::to_string(window), "1 to 64"});
  }
}

TEST(MapErrors, ExecuteWithStorageOfOtherBlocks) {
  Call call;
  AddressedBlocks other(Shape::dense, slots, 40);
  Plan plan = call.plan_ranks();
  expect_refused(call, [&] { execute(plan, is_odd() ? other.storage() : call.storage); },
                 ErrorCode::block_size_mismatch, {odd_name(), "40 bytes", "36", "planned for"});
  const bool works = all_ranks(outcome_of([&] { execute(plan, call.storage); }).text.empty());
  EXPECT_TRUE(works) << "the plan is good for the right storage";
}

TEST(MapErrors, ExecuteWithFewerSlotsThanPlanned) {
  Call call;
  AddressedBlocks smaller(Shape::structure, slots - 1);
  Plan plan = call.plan_slots();
  expect_refused(call, [&] { execute(plan, is_odd() ? smaller.storage() : call.storage); },
                 ErrorCode::invalid_argument, {odd_name(), "5 slots", "6", "not smaller"});
}

TEST(MapErrors, ExecuteWithBadFields) {
  Call call;
  Plan plan = call.plan_ranks();
  const BlockStorage bad{field(static_cast<char*>(nullptr), slots, 36, "lost")};
  expect_refused(call, [&] { execute(plan, is_odd() ? bad : call.storage); },
                 ErrorCode::inaccessible_memory, {odd_name(), "'lost'", "allocate"});
}

TEST(MapErrors, ExecuteWithTooSmallWorkspace) {
  Call call;
  Plan plan = call.plan_ranks();
  std::vector<std::byte> workspace(plan.workspace_bytes());
  const std::size_t given = workspace.size() - (is_odd() ? 1 : 0);
  expect_refused(call, [&] { execute(plan, call.storage, std::span(workspace).first(given)); },
                 ErrorCode::invalid_argument, {odd_name(), "workspace_bytes() = "});
}

TEST(MapErrors, ExecuteWithAWorkspaceThatIsNotAligned) {
  Call call;
  Plan plan = call.plan_ranks();
  std::vector<std::byte> workspace(plan.workspace_bytes() + 1);
  const std::size_t shift = is_odd() ? 1 : 0;
  expect_refused(call, [&] { execute(plan, call.storage, std::span(workspace).subspan(shift)); },
                 ErrorCode::invalid_argument, {odd_name(), "not a multiple", "align it"});
}

TEST(MapErrors, OfSeveralRanksTheLowestIsReported) {
  Call call;
  call.ranks[1] = size() + rank();
  expect_refused(call, [&] { call.plan_ranks(); }, ErrorCode::rank_out_of_range,
                 {"rank 0:", "rank " + std::to_string(size())});
}

TEST(MapErrors, NullCommunicatorIsRefused) {
  Call call;
  const Outcome outcome = outcome_of([&] {
    static_cast<void>(plan_to_ranks(MPI_COMM_NULL, call.storage, call.occupied, call.ranks));
  });
  EXPECT_EQ(outcome.code, ErrorCode::invalid_communicator);
  expect_words(outcome.text, {"MPI_COMM_NULL"});
}

TEST(MapErrors, IntercommunicatorIsRefused) {
  if (size() == 1) GTEST_SKIP() << "needs two groups";
  MPI_Comm group = MPI_COMM_NULL;
  MPI_Comm inter = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, is_odd() ? 1 : 0, 0, &group);
  MPI_Intercomm_create(group, 0, MPI_COMM_WORLD, is_odd() ? 0 : odd_rank(), 1, &inter);
  Call call;
  const Outcome outcome = outcome_of(
      [&] { static_cast<void>(plan_to_ranks(inter, call.storage, call.occupied, call.ranks)); });
  MPI_Comm_free(&inter);
  MPI_Comm_free(&group);
  EXPECT_EQ(outcome.code, ErrorCode::invalid_communicator);
  expect_words(outcome.text, {"MPI_Intercomm_merge"});
}

}  // namespace
}  // namespace valet::test
