// SPDX-License-Identifier: BSD-3-Clause

// What two sides contradict each other in, or one says wrongly, is one error on all ranks of both,
// and the junction goes on.

#include "spoilt_sends.hpp"
#include "two_sides.hpp"
#include <valet/junction.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

namespace valet::test {
namespace {

class JunctionErrors : public ::testing::Test {
 protected:
  void SetUp() override {
    if (size() < 2) GTEST_SKIP() << "two sides need two ranks";
    sides_.emplace(1);
    junction_.emplace(Junction::connect(sides_->between(), "errors"));
  }
  void TearDown() override {
    if (!junction_) return;
    // After any error: an array goes through.
    const GridLayout layout = block({64});
    std::vector<int> values(1000, sides_->is_first ? 7 : 0);
    const auto part = std::span(values).first(part_of(layout));
    if (sides_->is_first)
      junction_->put(part, layout).wait();
    else
      junction_->get(part, layout).wait();
    EXPECT_TRUE(all_ranks(std::ranges::all_of(part, [](int value) { return value == 7; })));
    junction_.reset();
    sides_.reset();
  }

  [[nodiscard]] GridLayout block(const BlockCyclic::Extents& extents) const {
    auto grid = BlockCyclic::Coordinates::filled(extents.size(), 1);
    grid[0] = sides_->own_ranks;
    return {BlockCyclic::block(extents, grid)};
  }
  [[nodiscard]] std::size_t part_of(const GridLayout& layout) const {
    return static_cast<std::size_t>(layout.layout.local_elements(sides_->own_rank));
  }
  /// Puts on the first side and gets on the other.
  void expect(ErrorCode code, const std::vector<std::string>& words,
              const std::function<JunctionTransfer()>& put,
              const std::function<JunctionTransfer()>& get) {
    expect_error(outcome_of([&] { (sides_->is_first ? put : get)().wait(); }), code, words);
  }
  JunctionTransfer put(const GridLayout& layout, const char* label = "") {
    return junction_->put(std::span<const int>(values_), layout, label);
  }
  JunctionTransfer get(const GridLayout& layout, const char* label = "") {
    return junction_->get(std::span(values_), layout, label);
  }

  std::optional<TwoSides> sides_;
  std::optional<Junction> junction_;
  std::vector<int> values_ = std::vector<int>(1000);
  std::vector<int> ranks_;
  std::vector<int> blocks_ = std::vector<int>(10);
};

TEST_F(JunctionErrors, OtherExtents) {
  expect(
      ErrorCode::invalid_argument, {"3 x 5", "3 x 6", "put", "got", "whole array"},
      [&] {
        return put(block({3, 5}));
      },
      [&] {
        return get(block({3, 6}));
      });
}
TEST_F(JunctionErrors, OtherDimensions) {
  expect(
      ErrorCode::invalid_argument, {"30", "5 x 6"}, [&] { return put(block({30})); },
      [&] {
        return get(block({5, 6}));
      });
}
TEST_F(JunctionErrors, OtherLabels) {
  expect(
      ErrorCode::invalid_argument, {"'density'", "'pressure'", "order"},
      [&] { return put(block({8}), "density"); }, [&] { return get(block({8}), "pressure"); });
}
TEST_F(JunctionErrors, OtherElementSizes) {
  expect(
      ErrorCode::block_size_mismatch, {"4 bytes", "8 bytes", "same type"},
      [&] { return put(block({8})); },
      [&] {
        return junction_->get(TargetArray{values_.data(), 4 * values_.size()}, block({8}), 8);
      });
}
TEST_F(JunctionErrors, BothPut) {
  expect(
      ErrorCode::invalid_argument, {"both sides", "put"}, [&] { return put(block({8})); },
      [&] { return put(block({8})); });
}
TEST_F(JunctionErrors, BothGet) {
  expect(
      ErrorCode::invalid_argument, {"both sides", "get"}, [&] { return get(block({8})); },
      [&] { return get(block({8})); });
}
TEST_F(JunctionErrors, OtherKinds) {
  expect(
      ErrorCode::invalid_argument, {"an array", "blocks by ranks"}, [&] { return put(block({8})); },
      [&] { return junction_->get({field(blocks_)}); });
}
TEST_F(JunctionErrors, TooLargeGrid) {
  expect(
      ErrorCode::invalid_argument, {"grid has 9 ranks", "smaller grid"},
      [&] { return put({BlockCyclic::block({9}, {9})}); }, [&] { return get(block({9})); });
}
TEST_F(JunctionErrors, RanksThatTheSideDoesNotHave) {
  expect(
      ErrorCode::rank_out_of_range,
      {"names rank 5", "number 0", "ranks 0 to 0; ranks count from 0: fix the ranks of"},
      [&] {
        return put({BlockCyclic::block({9}, {1}), {5}});
      },
      [&] { return get(block({9})); });
}
TEST_F(JunctionErrors, TooSmallArrays) {
  expect(
      ErrorCode::infeasible, {"source array", "4000 bytes", "need 8000"},
      [&] { return put(block({2000})); },
      [&] {
        values_.resize(2000);
        return get(block({2000}));
      });
}
TEST_F(JunctionErrors, LayoutsThatDifferInsideASide) {
  if (size() < 3) return;
  expect(
      ErrorCode::invalid_argument, {"one side of a junction", "differs", "rank"},
      [&] { return put(block({8})); },
      [&] { return get(sides_->own_rank == 0 ? block({8}) : block({9})); });
}
TEST_F(JunctionErrors, BlocksForRanksThatTheOtherSideDoesNotHave) {
  ranks_.assign(3, sides_->other_ranks);
  expect(
      ErrorCode::rank_out_of_range, {"block 0", "other side", "0 to"},
      [&] { return junction_->put({field(blocks_)}, 3, ranks_); },
      [&] { return junction_->get({field(blocks_)}); });
}
TEST_F(JunctionErrors, AMapOfAnotherLength) {
  ranks_.assign(2, 0);
  expect(
      ErrorCode::invalid_argument, {"puts 3 blocks", "2 ranks"},
      [&] { return junction_->put({field(blocks_)}, 3, ranks_); },
      [&] { return junction_->get({field(blocks_)}); });
}
TEST_F(JunctionErrors, BlocksOfAnotherSize) {
  ranks_.assign(3, 0);
  std::vector<double> wide(3);
  expect(
      ErrorCode::block_size_mismatch, {"bytes"},
      [&] { return junction_->put({field(blocks_)}, 3, ranks_); },
      [&] { return junction_->get({field(wide)}); });
}
TEST_F(JunctionErrors, TooFewSlots) {
  ranks_.assign(10, 0);
  expect(
      ErrorCode::infeasible, {"10", "slots"},
      [&] { return junction_->put({field(blocks_)}, 10, ranks_); },
      [&] { return junction_->get({field(std::span(blocks_).first(4))}); });
}
TEST_F(JunctionErrors, AFunctionThatThrows) {
  ranks_.assign(10, 0);
  expect(
      ErrorCode::callback_failed, {"no room", "nothing has moved"},
      [&] { return junction_->put({field(blocks_)}, 10, ranks_); },
      [&] {
        return junction_->get([this](std::uint64_t blocks) {
          if (blocks > 0) throw std::runtime_error("no room");
          return BlockStorage{field(blocks_)};
        });
      });
}
TEST_F(JunctionErrors, NumberedBlocksThatAreNotAllOfTheLayout) {
  expect(
      ErrorCode::invalid_argument, {"array of 11", "10 on all ranks"},
      [&] {
        return junction_->put({field(blocks_)}, 10,
                              ObjectLayout::tiles(BlockCyclic({11}, {1}, {1})));
      },
      [&] { return junction_->get({field(blocks_)}, ObjectLayout::balanced()); });
}
TEST_F(JunctionErrors, TooFewSlotsForALayout) {
  expect(
      ErrorCode::infeasible, {"of 10 objects", "grow"},
      [&] { return junction_->put({field(blocks_)}, 10, ObjectLayout::balanced()); },
      [&] {
        return junction_->get({field(std::span(blocks_).first(0))}, ObjectLayout::balanced());
      });
}
/// Two lists of 4 bytes, put by numbers on the first side, of one rank.
class NumberedListErrors : public JunctionErrors {
 protected:
  [[nodiscard]] RaggedStorage lists(std::size_t bytes = 4000) {
    return RaggedStorage({ragged_field(std::span(values_).first(bytes / 4), std::span(lengths_))});
  }
  JunctionTransfer put_lists(const ObjectLayout& layout = ObjectLayout::balanced()) {
    return junction_->put(lists(), 2, layout, "lists");
  }
  JunctionTransfer get_lists(const RaggedStorage& storage) {
    return junction_->get(storage, ObjectLayout::cyclic(2), "lists");  // all to the first rank
  }

  std::vector<std::uint64_t> lengths_ = std::vector<std::uint64_t>(8, 4), ends_ = lengths_;
};

TEST_F(NumberedListErrors, NumberedOnOneSideOnly) {
  expect(
      ErrorCode::invalid_argument,
      {"puts numbered blocks of different sizes, the other gets blocks of different sizes"},
      [&] { return put_lists(); }, [&] { return junction_->get(lists(), "lists"); });
}
TEST_F(NumberedListErrors, LengthsThatCannotBe) {
  if (sides_->is_first) lengths_[1] = 4000;
  expect(
      ErrorCode::invalid_argument, {"rank 0", "block 1 of 4000 bytes", "nothing has moved"},
      [&] { return put_lists(); }, [&] { return get_lists(lists()); });
  if (sides_->is_first) lengths_[1] = 3;
  expect(
      ErrorCode::invalid_argument, {"block 1 of 3 bytes", "no multiple of the 4 bytes"},
      [&] { return put_lists(); }, [&] { return get_lists(lists()); });
}
TEST_F(NumberedListErrors, ListsThatAreNotAllOfTheLayout) {
  const auto tiles = ObjectLayout::tiles(BlockCyclic({3}, {1}, {1}));  // one is missing
  expect(
      ErrorCode::invalid_argument, {"array of 3", "2 on all ranks"},
      [&] { return put_lists(tiles); }, [&] { return get_lists(lists()); });
  if (size() < 3) return;
  // The other way round, from several ranks: one has a list twice, and one misses it.
  expect(
      ErrorCode::invalid_argument, {"in its layout", "give those"},
      [&] { return junction_->get(lists(), ObjectLayout::balanced(), "lists"); },
      [&] {
        return junction_->put(lists(),
                              sides_->own_rank == 0   ? 2
                              : sides_->own_rank == 1 ? 0
                                                      : 1,
                              ObjectLayout::balanced(), "lists");
      });
}
TEST_F(NumberedListErrors, TooLittleRoomUntilThereIsMore) {
  lengths_.assign(8, sides_->is_first ? 4 : 77);
  const auto get = [&] { return get_lists(lists(4)); };
  if (!sides_->is_first) values_[0] = 3;
  expect(
      ErrorCode::infeasible, {"4 bytes; it gets 2 blocks with 8 bytes", "grow"},
      [&] { return put_lists(); }, get);
  EXPECT_TRUE(sides_->is_first || (values_[0] == 3 && lengths_[0] == 77)) << "nothing has moved";
  if (sides_->is_first) values_[1] = 5;
  expect(
      ErrorCode::success, {}, [&] { return put_lists(); }, [&] { return get_lists(lists()); });
  EXPECT_TRUE(sides_->own_rank > 0 || (values_[1] == 5 && lengths_[1] == 4));
}
TEST_F(NumberedListErrors, OtherArenasAndTypes) {
  std::vector<double> wide(10);
  const auto arena = ragged_field(std::span(wide), std::span(lengths_));
  expect(
      ErrorCode::invalid_argument, {"the number of arenas of a storage", "differs"},
      [&] { return put_lists(); },
      [&] {
        return get_lists(
            RaggedStorage({arena, ragged_field(std::span(values_), std::span(ends_))}));
      });
  expect(
      ErrorCode::invalid_argument, {"values of 8 bytes", "'lists' are not", "type that was put"},
      [&] { return put_lists(); }, [&] { return get_lists(RaggedStorage({arena})); });
  RaggedField lines = ragged_field_by_offsets(std::span(values_), std::span(ends_));
  lines.alignment_bytes = 8;
  expect(
      ErrorCode::invalid_argument,
      {"offsets at multiples of 8 bytes", "'lists' have other lengths", "with lengths"},
      [&] { return put_lists(); }, [&] { return get_lists(RaggedStorage({lines})); });
}
/// Of 6 bytes in place of 8, and in another order.
TEST_F(NumberedListErrors, OtherColumns) {
  std::vector<std::uint16_t> two(40);
  std::vector<std::uint64_t> eight(8);
  std::vector<std::array<char, 6>> six(8);
  const auto arena = ragged_field(std::span(values_), std::span(lengths_));
  for (const bool are_two : {false, true})
    expect(
        ErrorCode::invalid_argument, {"the columns of a storage", "differs"},
        [&] {
          return junction_->put(are_two ? RaggedStorage({arena}, {field(two), field(eight)})
                                        : RaggedStorage({arena}, {field(eight)}),
                                2, ObjectLayout::balanced(), "lists");
        },
        [&] {
          return get_lists(are_two ? RaggedStorage({arena}, {field(eight), field(two)})
                                   : RaggedStorage({arena}, {field(six)}));
        });
}
TEST_F(NumberedListErrors, ProgressThatThrowsWhenAllHasMoved) {
  const JunctionOptions options{.progress = [](const Progress& now) {
    if (now.bytes_done == now.bytes_total) throw std::runtime_error("no more");
  }};
  Junction watched = Junction::connect(sides_->between(), "watched", options);
  lengths_.assign(8, sides_->is_first ? 4 : 77);
  values_[1] = sides_->is_first ? 5 : 3;
  expect_error(outcome_of([&] {
                 (sides_->is_first ? watched.put(lists(), 2, ObjectLayout::balanced())
                                   : watched.get(lists(), ObjectLayout::cyclic(2)))
                     .wait();
               }),
               ErrorCode::callback_failed,
               {"callback progress", "no more", "every block is where it belongs"});
  EXPECT_TRUE(sides_->is_first || sides_->own_rank > 0 || (values_[1] == 5 && lengths_[1] == 4));
}
TEST_F(NumberedListErrors, ListsThatArriveOtherwise) {
  const JunctionOptions options{.verify = true, .share_memory = false};
  Junction watched = Junction::connect(sides_->between(), "spoilt", options);
  lengths_[0] = 2000;
  spoil_next(1000);
  expect_error(outcome_of([&] {
                 (sides_->is_first ? watched.put(lists(), 2, ObjectLayout::balanced())
                                   : watched.get(lists(), ObjectLayout::cyclic(2)))
                     .wait();
               }),
               ErrorCode::corrupted, {"not what they were"});
  spoil = nullptr;
}
TEST_F(JunctionErrors, ATooSmallBudget) {
  JunctionOptions options{.budget_bytes = 8};
  Junction narrow = Junction::connect(sides_->between(), "narrow", options);
  const auto layout = block({500});
  expect_error(outcome_of([&] {
                 (sides_->is_first ? narrow.put(std::span<const int>(values_), layout)
                                   : narrow.get(std::span(values_), layout))
                     .wait();
               }),
               ErrorCode::budget_too_small, {"budget", "at least"});
}
TEST_F(JunctionErrors, OptionsThatDiffer) {
  expect_error(outcome_of([&] {
                 static_cast<void>(Junction::connect(sides_->between(), "differ",
                                                     JunctionOptions{.verify = sides_->is_first}));
               }),
               ErrorCode::invalid_argument, {"option verify", "differs"});
}
TEST_F(JunctionErrors, TimesThatDifferOrAreNone) {
  const auto connect = [&](double seconds) {
    return outcome_of([&] {
      static_cast<void>(Junction::connect(sides_->between(), "times",
                                          JunctionOptions{.timeout_seconds = seconds}));
    });
  };
  expect_error(connect(sides_->is_first ? 0 : 5), ErrorCode::invalid_argument,
               {"timeout_seconds", "0", "5000"});
  expect_error(connect(-1), ErrorCode::invalid_argument, {"timeout_seconds", "give seconds"});
}
TEST_F(JunctionErrors, ClosedByOneSideOnly) {
  Junction other = Junction::connect(sides_->between(), "half");
  expect_error(outcome_of([&] {
                 if (sides_->is_first)
                   other.put(std::span<const int>(values_), block({500})).wait();
                 else
                   other.close();
               }),
               ErrorCode::invalid_argument, {"closes it", "puts", "as many transfers"});
}
TEST_F(JunctionErrors, AClosedJunction) {
  Junction other = Junction::connect(sides_->between(), "closed");
  other.close();
  expect_thrown(ErrorCode::invalid_argument, {"closed", "make another"},
                [&] { static_cast<void>(other.ranks()); });
}
TEST_F(JunctionErrors, WhatArrivesOtherwiseThanItWasPut) {
  std::vector<int> spoilt(500);
  JunctionOptions options{.budget_bytes = 512, .verify = true, .share_memory = false};
  if (!sides_->is_first && sides_->own_rank == 0)
    options.progress = [&](const Progress&) { spoilt[0] = 1; };
  Junction watched = Junction::connect(sides_->between(), "spoilt", options);
  const auto layout = block({500});
  expect_error(outcome_of([&] {
                 (sides_->is_first ? watched.put(std::span<const int>(spoilt), layout, "field")
                                   : watched.get(std::span(spoilt), layout, "field"))
                     .wait();
               }),
               ErrorCode::corrupted, {"elements", "not what they were"});
}

}  // namespace
}  // namespace valet::test
