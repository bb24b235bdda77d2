// SPDX-License-Identifier: BSD-3-Clause
#include "engine/local_slots.hpp"

#include "testing.hpp"

namespace valet::test {
namespace {

using Block = std::uint64_t;

/// One rank whose slots are all occupied, and all leave; arrival k goes to slot finals[k].
class Full {
 public:
  explicit Full(std::vector<std::uint32_t> finals)
      : flows_(ledger_), slots_(finals.size()), origins_(finals.size()), free_(ledger_, slots_) {
    flows_.form = plan::Form::slots;
    flows_.slots = flows_.blocks_before = flows_.blocks_after = slots_;
    flows_.initially_free = storage::SlotSet(ledger_, slots_);
    flows_.arrivals = Array<std::uint32_t>(ledger_, slots_);
    std::copy(finals.begin(), finals.end(), flows_.arrivals.begin());
    memory_.assign(slots_, unsent);
    storage_.emplace({field(memory_.data(), slots_)});
    local_.emplace(flows_, storage_->backend(), free_, origins_, nullptr);
  }

  void send(std::uint32_t slot) {
    Block packed = 0;
    local_->gather(std::span<const std::uint32_t>(&slot, 1), as_bytes(packed));
    EXPECT_EQ(packed, unsent) << "from slot " << slot;
  }
  /// Whether arrival k found a slot.
  bool receive(std::uint32_t k, engine::LocalSlots::Misplace misplace) {
    Block packed = k;
    return local_->store(as_bytes(packed), k, 1, misplace) == 1;
  }
  /// The first arrivals at once; returns how many found their final slots.
  std::uint64_t receive_many(std::uint32_t count) {
    std::vector<Block> packed(count);
    for (std::uint32_t k = 0; k < count; ++k) packed[k] = k;
    return local_->store(reinterpret_cast<const std::byte*>(packed.data()), 0, count,
                         engine::LocalSlots::Misplace::never);
  }
  /// All arrivals in one run of slots, whose first is slot 0; returns how many are misplaced.
  std::uint64_t receive_run() {
    const storage::SlotRun run{0, slots_};
    local_->reserve(run);
    for (std::uint32_t k = 0; k < slots_; ++k) memory_[k] = k;
    local_->landed(0, run);
    return local_->misplaced();
  }
  std::uint64_t redistribute() {
    Block scratch = 0;
    return local_->redistribute({as_bytes(scratch), sizeof scratch});
  }
  void expect_all_home() const {
    for (std::uint32_t k = 0; k < slots_; ++k) EXPECT_EQ(memory_[flows_.arrivals[k]], k);
  }

 private:
  static constexpr Block unsent = 1000;
  static std::byte* as_bytes(Block& block) { return reinterpret_cast<std::byte*>(&block); }

  Ledger ledger_;
  plan::Flows flows_;
  std::uint64_t slots_;
  std::vector<std::uint32_t> origins_;
  storage::SlotSet free_;
  std::vector<Block> memory_;
  std::optional<BlockStorage> storage_;
  std::optional<engine::LocalSlots> local_;
};

constexpr auto never = engine::LocalSlots::Misplace::never;
constexpr auto if_needed = engine::LocalSlots::Misplace::if_needed;

TEST(LocalSlots, AMisplacedBlockLeavesTheSlotOfAnotherAsSoonAsItCan) {
  Full rank({1, 0});
  rank.send(0);
  EXPECT_FALSE(rank.receive(0, never)) << "slot 1 is occupied";
  EXPECT_TRUE(rank.receive(0, if_needed)) << "into slot 0";
  rank.send(1);
  EXPECT_TRUE(rank.receive(1, never)) << "slot 0 is free again";
  EXPECT_EQ(rank.redistribute(), 1U);
  rank.expect_all_home();
}

TEST(LocalSlots, BlocksFollowEachOtherIntoTheSlotsThatBecomeFree) {
  Full rank({1, 2, 3, 0});
  rank.send(0);
  EXPECT_TRUE(rank.receive(0, if_needed)) << "into slot 0, at home in 1";
  rank.send(2);
  EXPECT_TRUE(rank.receive(2, if_needed)) << "into slot 2, at home in 3";
  rank.send(1);
  EXPECT_TRUE(rank.receive(1, if_needed)) << "into slot 0, which the first has left";
  rank.send(3);
  // 2 to 3, and from 0 to 2.
  EXPECT_TRUE(rank.receive(3, never));
  EXPECT_EQ(rank.redistribute(), 3U);
  rank.expect_all_home();
}

TEST(LocalSlots, WhatIsMisplacedToTheLastIsMovedInTheEnd) {
  Full rank({1, 0, 2});
  rank.send(2);
  EXPECT_TRUE(rank.receive(0, if_needed)) << "into slot 2";
  rank.send(1);
  EXPECT_TRUE(rank.receive(2, never)) << "the first went home, slot 2 is free";
  rank.send(0);
  EXPECT_TRUE(rank.receive(1, if_needed));
  EXPECT_EQ(rank.redistribute(), 1U);
  rank.expect_all_home();
}

TEST(LocalSlots, OfARunThatLandsInOtherSlotsOnlyThoseAreMisplacedThatAreNotAtHome) {
  Full rank({0, 2, 1, 3});
  for (std::uint32_t slot = 0; slot < 4; ++slot) rank.send(slot);
  EXPECT_EQ(rank.receive_run(), 2U);
  EXPECT_EQ(rank.redistribute(), 3U) << "two change places, through scratch";
  rank.expect_all_home();
}

TEST(LocalSlots, ListedSlotsAreTakenOneByOneThoughTheirEndsLookLikeARun) {
  std::vector<std::uint32_t> finals(18);
  for (std::uint32_t k = 0; k < finals.size(); ++k) finals[k] = k;
  std::swap(finals[1], finals[17]);
  Full rank(finals);
  for (std::uint32_t slot = 0; slot < finals.size(); ++slot) rank.send(slot);
  EXPECT_EQ(rank.receive_many(17), 17U);
  EXPECT_TRUE(rank.receive(17, never)) << "slot 1 is free yet";
  EXPECT_EQ(rank.redistribute(), 0U);
  rank.expect_all_home();
}

}  // namespace
}  // namespace valet::test
