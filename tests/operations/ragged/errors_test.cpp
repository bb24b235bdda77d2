// SPDX-License-Identifier: BSD-3-Clause

// What is wrong is found before anything moves, and said alike on all ranks.

#include "named_budget.hpp"
#include "ragged_case.hpp"

namespace valet::test {
namespace {

/// Ten blocks a rank, each rank sends them to the next one; the last rank may spoil its call.
struct Spoilt {
  std::vector<std::byte> memory = std::vector<std::byte>(4096 + 64);
  std::vector<std::uint64_t> lengths = std::vector<std::uint64_t>(20, 50);
  std::vector<double> column = std::vector<double>(20);
  std::vector<int> ranks = std::vector<int>(10, (rank() + 1) % size());
  std::uint64_t count = 10;
  Options options;
  RaggedField ragged;
  Field side;
  std::vector<RaggedField> more;  ///< behind that one
  bool no_fields = false, no_columns = false;

  Spoilt() {
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    ragged.data = memory.data() + (64 - address % 64) % 64;
    ragged.capacity_bytes = 4096;
    ragged.lengths = lengths.data();
    ragged.block_capacity = lengths.size();
    ragged.alignment_bytes = 8;
    side = field(column);
  }
  void call() {
    std::vector<RaggedField> fields(no_fields ? 0 : 1, ragged);
    fields.insert(fields.end(), more.begin(), more.end());
    const std::vector<Field> columns(no_columns ? 0 : 1, side);
    migrate(MPI_COMM_WORLD, RaggedStorage(fields, columns), count, ranks, options);
  }
};

void expect_error(ErrorCode code, const std::string& words,
                  const std::function<void(Spoilt&)>& spoil, bool everywhere = false) {
  Spoilt call;
  for (std::size_t b = 0; b < call.memory.size(); ++b)
    call.memory[b] = static_cast<std::byte>(b * 31);
  const std::vector<std::byte> memory = call.memory;
  if (everywhere || rank() == size() - 1) spoil(call);
  std::iota(call.column.begin(), call.column.end(), 0.5);
  const std::vector<std::uint64_t> lengths = call.lengths;
  const std::vector<double> column = call.column;
  const Outcome outcome = outcome_of([&] { call.call(); });
  EXPECT_TRUE(all_ranks(outcome.code == code)) << words << ": " << outcome.text;
  EXPECT_TRUE(same_on_all_ranks(outcome)) << outcome.text;
  expect_words(outcome.text, {words});
  EXPECT_TRUE(all_ranks(call.memory == memory && call.lengths == lengths && call.column == column))
      << words;
}

TEST(RaggedErrors, NameFieldsThatCannotBeUsed) {
  using enum ErrorCode;
  expect_error(invalid_argument, "alignment of 3 bytes",
               [](Spoilt& s) { s.ragged.alignment_bytes = 3; });
  expect_error(invalid_argument, "alignment of 0 bytes",
               [](Spoilt& s) { s.ragged.alignment_bytes = 0; });
  expect_error(invalid_argument, "64 at most", [](Spoilt& s) { s.ragged.alignment_bytes = 128; });
  expect_error(inaccessible_memory, "no memory for its bytes",
               [](Spoilt& s) { s.ragged.data = nullptr; });
  expect_error(inaccessible_memory, "no memory for its lengths",
               [](Spoilt& s) { s.ragged.lengths = nullptr; });
  expect_error(invalid_argument, "more than 2^60", [](Spoilt& s) {
    s.ragged.capacity_bytes = std::numeric_limits<std::uint64_t>::max();
  });
  expect_error(invalid_argument, "more than 2^60",
               [](Spoilt& s) { s.ragged.block_capacity = std::uint64_t{1} << 63; });
  expect_error(invalid_argument, "not a multiple of its alignment", [](Spoilt& s) {
    s.ragged.data = static_cast<std::byte*>(s.ragged.data) + 1;
    s.ragged.capacity_bytes -= 8;
  });
  expect_error(
      invalid_argument, "share memory", [](Spoilt& s) { s.side = field(s.lengths); }, true);
  expect_error(field_mismatch, "has 5 rows for 10 blocks", [](Spoilt& s) { s.side.slots = 5; });
  expect_error(invalid_argument, "one after the other",
               [](Spoilt& s) { s.side.slot_stride_bytes = 16; });
  expect_error(
      invalid_argument, "no ragged field", [](Spoilt& s) { s.no_fields = true; }, true);
}

TEST(RaggedErrors, SayWhatAFieldSaysOfItself) {
  expect_error(ErrorCode::callback_failed, "the arena is out of reach", [](Spoilt& s) {
    s.ragged.prepare = [] {
      return Diagnostic{ErrorCode::callback_failed, "the arena is out of reach; fetch it"};
    };
  });
  // Once it is ready, in every call that moves it.
  Spoilt call;
  int asked = 0;
  call.ragged.prepare = [&]() -> std::optional<Diagnostic> {
    ++asked;
    return std::nullopt;
  };
  const RaggedStorage storage({call.ragged});
  RaggedPlan plan = plan_to_ranks(MPI_COMM_WORLD, storage, call.count, call.ranks);
  EXPECT_TRUE(all_ranks(asked >= 1));
  asked = 0;
  EXPECT_EQ(outcome_of([&] { execute(plan, storage, call.ranks); }).text, "");
  EXPECT_TRUE(all_ranks(asked >= 1));
}

TEST(RaggedErrors, NameFieldsThatDifferBetweenRanks) {
  if (size() == 1) return;
  using enum ErrorCode;
  expect_error(block_size_mismatch, "alignments of ragged fields",
               [](Spoilt& s) { s.ragged.alignment_bytes = 16; });
  expect_error(block_size_mismatch, "the bytes of a row of columns",
               [](Spoilt& s) { s.side = field(s.column.data(), s.column.size() / 2, 2); });
  expect_error(field_mismatch, "the number of columns", [](Spoilt& s) { s.no_columns = true; });
  std::vector<std::byte> bytes(2048);
  std::vector<std::uint64_t> lengths(20, 8);
  expect_error(field_mismatch, "the number of ragged fields",
               [&](Spoilt& s) { s.more = {ragged_field(std::span(bytes), std::span(lengths))}; });
}

TEST(RaggedErrors, NameTheFieldThatIsWrong) {
  using enum ErrorCode;
  std::vector<std::byte> bytes(2048);
  std::vector<std::uint64_t> lengths(20, 8);
  const auto add = [&](Spoilt& s) {
    s.more = {ragged_field(std::span(bytes), std::span(lengths))};
  };
  expect_error(
      invalid_argument, "ragged field 1 has 2048 bytes, but block 3 of 5000 bytes",
      [&](Spoilt& s) {
        add(s);
        lengths[3] = 5000;
      },
      true);
  expect_error(
      invalid_argument, "ragged field 'mesh' has 2048 bytes, but block 3 of 5000 bytes",
      [&](Spoilt& s) {
        add(s);
        s.more[0].label = "mesh";
      },
      true);
  expect_error(
      invalid_argument, "the lengths of ragged field 0 and the lengths of ragged field 1 share",
      [&](Spoilt& s) {
        add(s);
        s.more[0].lengths = s.ragged.lengths;
      },
      true);
  expect_error(
      invalid_argument, "the bytes of ragged field 0 and the bytes of ragged field 1 share memory",
      [&](Spoilt& s) {
        add(s);
        s.more[0].data = static_cast<std::byte*>(s.ragged.data) + 4000;
      },
      true);
  expect_error(
      invalid_argument, "more than 32 arrays",
      [&](Spoilt& s) {
        add(s);
        s.more.resize(16, s.more[0]);
      },
      true);
}

TEST(RaggedErrors, NameLengthsThatDoNotFit) {
  using enum ErrorCode;
  expect_error(invalid_argument, "block 9 of 4000 bytes would start at byte 504",
               [](Spoilt& s) { s.lengths[9] = 4000; });
  expect_error(invalid_argument, "block 1 of 9223372036854775808 bytes",
               [](Spoilt& s) { s.lengths[1] = std::uint64_t{1} << 63; });
  expect_error(invalid_argument, "block 0 of 18446744073709551615 (negative: -1) bytes",
               [](Spoilt& s) { s.lengths[0] = std::numeric_limits<std::uint64_t>::max(); });
  expect_error(invalid_argument, "block 9 of 50 bytes",  // but not with what aligns the next
               [](Spoilt& s) { s.ragged.capacity_bytes = 9 * 56 + 50; });
  expect_error(invalid_argument, "lengths for 9 blocks",
               [](Spoilt& s) { s.ragged.block_capacity = 9; });
}

TEST(RaggedErrors, NameOffsetsThatAreNotInOrder) {
  using enum ErrorCode;
  const auto expect_bad = [](const std::string& words, std::size_t k, std::uint64_t offset) {
    expect_error(invalid_argument, words, [&](Spoilt& s) {
      for (std::size_t b = 0; b < s.lengths.size(); ++b) s.lengths[b] = 56 * b;
      s.ragged.are_offsets = true;
      --s.ragged.block_capacity;
      s.lengths[k] = offset;
    });
  };
  expect_bad("has 8 as its offset 0, but blocks start at byte 0", 0, 8);
  expect_bad("has 168 as its offset 3, below the 224 before it", 2, 224);
  expect_bad("offset 10, behind its 4096 bytes", 10, 4104);
  expect_bad("offset 4, no multiple of its alignment of 8", 4, 225);
  expect_bad("has 9223372036854775808 as its offset 10, behind", 10, std::uint64_t{1} << 63);
}

// Numbers of values where bytes are meant. Padding between blocks is no part of them.
TEST(RaggedErrors, NameLengthsThatAreNotOfWholeValues) {
  using enum ErrorCode;
  struct Triple {
    double values[3];
  };
  const auto expect_bad = [](const std::string& words, bool are_offsets, std::uint64_t third) {
    expect_error(invalid_argument, words, [&](Spoilt& s) {
      const std::span values(static_cast<Triple*>(s.ragged.data), 4096 / sizeof(Triple));
      for (std::size_t b = 0; b < s.lengths.size(); ++b) s.lengths[b] = are_offsets ? 24 * b : 24;
      s.ragged = are_offsets ? ragged_field_by_offsets(values, std::span(s.lengths), "triples")
                             : ragged_field(values, std::span(s.lengths), "triples");
      s.lengths[3] = third;
    });
  };
  expect_bad("ragged field 'triples' has block 3 of 3 bytes, no multiple of the 24 bytes", false,
             3);
  expect_bad("has block 3 of 32 bytes, no multiple of the 24 bytes of its values", false, 32);
  expect_bad("ragged field 'triples' has 80 as its offset 3, no multiple of the 24 bytes", true,
             80);
  expect_error(invalid_argument, "ragged field 0 has values of 0 bytes",
               [](Spoilt& s) { s.ragged.value_bytes = 0; });
  // Offsets of blocks that are aligned to more than their values are multiples of that.
  Spoilt call;
  call.lengths.assign(call.lengths.size(), 24);
  call.ragged.value_bytes = 24;
  call.ragged.alignment_bytes = 64;
  if (is_odd()) {
    for (std::size_t b = 0; b < call.lengths.size(); ++b) call.lengths[b] = 64 * b;
    call.ragged.are_offsets = true;
    --call.ragged.block_capacity;
  }
  EXPECT_EQ(outcome_of([&] { call.call(); }).text, "");
}

TEST(RaggedErrors, AreNotMadeOfArraysThatARankDoesNotHave) {
  for (const bool are_offsets : {false, true}) {
    Spoilt call;
    if (is_odd()) {
      RaggedField nothing;
      nothing.are_offsets = are_offsets;
      nothing.alignment_bytes = 8;
      call.ragged = nothing;
      call.more = {nothing};
      call.count = 0;
      call.ranks.clear();
    } else {
      call.more = {call.ragged};
      call.ragged.capacity_bytes = 2048;
      call.more[0].data = static_cast<std::byte*>(call.ragged.data) + 2048;
      call.more[0].capacity_bytes = 2048;
      call.more[0].block_capacity = call.ragged.block_capacity = 10;
      call.more[0].lengths = call.ragged.lengths + 10;
      call.ranks.assign(10, rank());
    }
    EXPECT_EQ(outcome_of([&] { call.call(); }).text, "");
  }
}

TEST(RaggedErrors, NameMapsAndChoicesThatAreWrong) {
  using enum ErrorCode;
  expect_error(rank_out_of_range, "block 3 is sent to rank 99", [](Spoilt& s) { s.ranks[3] = 99; });
  expect_error(rank_out_of_range, "is sent to rank -1", [](Spoilt& s) { s.ranks[3] = -1; });
  expect_error(invalid_argument, "the map has 9 entries", [](Spoilt& s) { s.ranks.pop_back(); });
  expect_error(
      invalid_argument, "order fill", [](Spoilt& s) { s.options.order = Order::fill; }, true);
}

TEST(RaggedErrors, SayWhatBudgetIsNeeded) {
  expect_error(ErrorCode::budget_too_small, "set budget_bytes to at least 2048",
               [](Spoilt& s) { s.options.budget_bytes = 2047; });
  Spoilt call;
  call.options.budget_bytes = 2048;
  EXPECT_EQ(outcome_of([&] { call.call(); }).text, "");
}

/// Rank 0 sends to all, so it needs more than the others; the lists of PHASED depend on the ranks.
TEST(RaggedErrors, NameABudgetThatSufficesForAllRanks) {
  const auto options_of = [](Method method, Scheduler scheduler, int parking) {
    Options options{.method = method};
    options.phased.scheduler = scheduler;
    options.phased.parking = parking;
    return options;
  };
  using enum Scheduler;
  for (const Options& chosen :
       {options_of(Method::stream, distributed, 0), options_of(Method::direct, distributed, 0),
        options_of(Method::cyclic, distributed, 0), options_of(Method::phased, distributed, 0),
        options_of(Method::phased, distributed, 1), options_of(Method::phased, centralized, 0),
        options_of(Method::phased, centralized, 1)})
    for (const int poor : {-1, 0, size() - 1})  // the only rank with so little; -1: all
      for (const std::size_t budget : {1, 2048, 2560, 10'000}) {
        Spoilt call;
        for (std::size_t k = 0; k < 10 && rank() == 0; ++k)
          call.ranks[k] = static_cast<int>(k) % size();
        call.options = chosen;
        call.options.budget_bytes = poor == -1 || poor == rank() ? budget : 4 << 20;
        const Outcome outcome = outcome_of([&] { call.call(); });
        EXPECT_TRUE(same_on_all_ranks(outcome));
        if (outcome.code == ErrorCode::success) continue;
        ASSERT_EQ(outcome.code, ErrorCode::budget_too_small) << outcome.text;
        call.options.budget_bytes = named_budget(outcome.text);
        const Outcome followed = outcome_of([&] { call.call(); });
        EXPECT_EQ(followed.text, "") << to_string(chosen.method) << " after " << outcome.text;
      }
}

TEST(RaggedErrors, SayWhatARankWouldHaveToHold) {
  const std::string blocks = std::to_string(10 * size()), bytes = std::to_string(560 * size());
  // All go to rank 0.
  const auto to_first = [](Spoilt& s) { s.ranks.assign(10, 0); };
  if (size() > 2) {
    expect_error(ErrorCode::infeasible, "required blocks = " + blocks, to_first, true);
    expect_error(
        ErrorCode::infeasible, "(required_bytes = " + bytes + ", required blocks = " + blocks,
        [&](Spoilt& s) {
          to_first(s);
          s.ragged.capacity_bytes = 1000;
        },
        true);
  }
}

// Room for what a rank has now, but not for what it would have: on the first rank, which gets all.
TEST(RaggedErrors, SayWhichArrayHasTooLittleRoom) {
  if (size() == 1) return;
  const std::string blocks = std::to_string(10 * size()), bytes = std::to_string(560 * size()),
                    row_bytes = std::to_string(80 * size());
  const auto expect_lack = [&](const std::string& words, auto&& spoil) {
    expect_error(
        ErrorCode::infeasible, words,
        [&](Spoilt& s) {
          s.ranks.assign(10, 0);
          s.lengths.resize(10 * static_cast<std::size_t>(size()), 50);
          s.column.resize(s.lengths.size());
          s.ragged.lengths = s.lengths.data();
          s.ragged.block_capacity = s.lengths.size();
          s.side = field(s.column);
          if (rank() == 0) spoil(s);
        },
        true);
  };
  const std::string starts = "rank 0: it would hold " + blocks + " blocks, with ";
  const std::string required = ", required blocks = " + blocks + "); grow it to that";
  expect_lack(starts + bytes + " bytes in ragged field 0, which has 560 bytes (required_bytes = " +
                  bytes + required,
              [](Spoilt& s) { s.ragged.capacity_bytes = 560; });
  expect_lack(starts + row_bytes +
                  " bytes in the lengths of ragged field 0, which has room for "
                  "10 blocks (required_bytes = " +
                  row_bytes + required,
              [](Spoilt& s) { s.ragged.block_capacity = 10; });
  expect_lack(starts + row_bytes +
                  " bytes in column 0, which has room for 10 blocks "
                  "(required_bytes = " +
                  row_bytes + required,
              [](Spoilt& s) { s.side.slots = 10; });
}

// Between the plan and its execution the application changed its storage.
TEST(RaggedErrors, RefuseAStorageThatIsNotTheOneThatWasPlanned) {
  Spoilt call;
  RaggedPlan plan =
      plan_to_ranks(MPI_COMM_WORLD, RaggedStorage({call.ragged}), call.count, call.ranks);
  const auto expect_refused = [&](ErrorCode code, const std::string& words,
                                  const std::function<void(RaggedField&)>& spoil) {
    RaggedField changed = call.ragged;
    if (rank() == size() - 1) spoil(changed);
    const RaggedStorage storage({changed});
    const Outcome outcome = outcome_of([&] { execute(plan, storage, call.ranks); });
    EXPECT_TRUE(all_ranks(outcome.code == code)) << outcome.text;
    EXPECT_TRUE(same_on_all_ranks(outcome));
    expect_words(outcome.text, {words});
  };
  using enum ErrorCode;
  expect_refused(infeasible, "required_bytes = 560",
                 [](RaggedField& f) { f.capacity_bytes = 552; });
  expect_refused(invalid_argument, "lengths for 9 blocks",
                 [](RaggedField& f) { f.block_capacity = 9; });
  expect_refused(invalid_argument, "plan again", [](RaggedField& f) { f.alignment_bytes = 4; });
  expect_refused(invalid_argument, "alignment of 3 bytes",
                 [](RaggedField& f) { f.alignment_bytes = 3; });
  expect_refused(inaccessible_memory, "no memory for its bytes",
                 [](RaggedField& f) { f.data = nullptr; });
  expect_refused(success, "", [](RaggedField&) {});
}

TEST(RaggedErrors, RefuseAMapThatIsNotTheOneThatWasPlanned) {
  Spoilt call;
  const RaggedStorage storage({call.ragged});
  RaggedPlan plan = plan_to_ranks(MPI_COMM_WORLD, storage, call.count, call.ranks);
  const auto expect_changed = [&] {
    const std::vector<std::byte> memory = call.memory;
    const Outcome outcome = outcome_of([&] { execute(plan, storage, call.ranks); });
    EXPECT_TRUE(same_on_all_ranks(outcome));
    EXPECT_TRUE(size() == 1 || contains(outcome.text, "plan again")) << outcome.text;
    EXPECT_TRUE(call.memory == memory || size() == 1);
  };
  call.lengths[4] += 8;
  expect_changed();
  call.lengths[4] -= 8;
  if (size() > 1) {
    call.ranks[2] = rank();
    expect_changed();
    call.ranks[2] = (rank() + 1) % size();
  }
  EXPECT_EQ(outcome_of([&] { execute(plan, storage, call.ranks); }).text, "");
}

// Also where no block leaves its rank, and where what each rank is sent keeps its bytes.
TEST(RaggedErrors, RefuseAnotherMapOrOtherLengthsWhateverMoves) {
  for (const bool verify : {false, true})
    for (const bool stays : {false, true})
      for (const std::string what :
           {"ranks", "one rank", "lengths", "swapped lengths", "padding"}) {
        SCOPED_TRACE(what + (verify ? ", verified" : "") + (stays ? ", nothing moves" : ""));
        Spoilt call;
        call.options.verify = verify;
        call.lengths[4] = 42;
        if (stays) call.ranks.assign(10, rank());
        const RaggedStorage storage({call.ragged});
        RaggedPlan plan =
            plan_to_ranks(MPI_COMM_WORLD, storage, call.count, call.ranks, call.options);
        const std::vector<int> planned = call.ranks;
        const std::vector<std::uint64_t> lengths = call.lengths;
        if (is_odd()) {
          if (what == "ranks") call.ranks.assign(10, (planned[0] + 1) % size());
          if (what == "one rank") call.ranks[9] = (planned[9] + 1) % size();
          if (what == "lengths") call.lengths[0] = 20;
          if (what == "swapped lengths") std::swap(call.lengths[4], call.lengths[5]);
          if (what == "padding") call.lengths[4] = 43;
        }
        const std::vector<std::byte> memory = call.memory;
        const bool is_other =
            !all_ranks(call.ranks == planned) || !all_ranks(call.lengths == lengths);
        const Outcome outcome = outcome_of([&] { execute(plan, storage, call.ranks); });
        expect_error(outcome, is_other ? ErrorCode::invalid_argument : ErrorCode::success, {});
        EXPECT_EQ(contains(outcome.text, "are not those that the plan was made from"), is_other)
            << outcome.text;
        EXPECT_TRUE(!is_other || all_ranks(call.memory == memory));
        if (!is_other) continue;
        std::ranges::copy(lengths, call.lengths.begin());
        EXPECT_EQ(outcome_of([&] { execute(plan, storage, planned); }).text, "");
      }
}

/// Lengths or offsets of a plan that were spoilt since on the last rank, in a way that leaves the
/// sum of all as it was.
void expect_found_by_execute(bool are_offsets, std::uint64_t first, std::uint64_t second,
                             bool verify) {
  Spoilt call;
  call.options.verify = verify;
  call.ragged.alignment_bytes = 1;
  if (are_offsets) {
    for (std::size_t b = 0; b < call.lengths.size(); ++b) call.lengths[b] = 56 * b;
    call.ragged.are_offsets = true;
    --call.ragged.block_capacity;
  }
  const RaggedStorage storage({call.ragged});
  RaggedPlan plan = plan_to_ranks(MPI_COMM_WORLD, storage, call.count, call.ranks, call.options);
  if (rank() == size() - 1) {
    call.lengths[4] = first;
    call.lengths[5] = second;
  }
  const std::vector<std::byte> memory = call.memory;
  const std::vector<std::uint64_t> lengths = call.lengths;
  const Outcome outcome = outcome_of([&] { execute(plan, storage, call.ranks); });
  expect_error(outcome, ErrorCode::invalid_argument, {});
  EXPECT_TRUE(all_ranks(call.memory == memory && call.lengths == lengths)) << outcome.text;
}

TEST(RaggedErrors, RefuseLengthsThatWereSpoiltSinceThePlan) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  for (const bool verify : {false, true}) {
    expect_found_by_execute(false, most, 101, verify);                   // 50 and 50
    expect_found_by_execute(false, 101, most, verify);                   // 50 and 50
    expect_found_by_execute(true, 224, std::uint64_t{1} << 63, verify);  // 224 and 280
    expect_found_by_execute(true, 3, 1, verify);
  }
}

}  // namespace
}  // namespace valet::test
