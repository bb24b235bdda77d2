// SPDX-License-Identifier: BSD-3-Clause

// SlotSet against std::set.

#include "storage/slot_set.hpp"

#include "test_comm.hpp"

namespace valet::test {
namespace {

using Reference = std::set<std::uint64_t>;

class Pair {
 public:
  Pair(std::uint64_t slots, std::uint64_t seed_of_pair)
      : slots_(slots), random_(seed_of_pair), set_(ledger_, slots) {}

  std::uint64_t pick(std::uint64_t least, std::uint64_t most) {
    return std::uniform_int_distribution<std::uint64_t>(least, most)(random_);
  }

  /// One random change to both.
  void change() {
    if (slots_ == 0) return;
    const std::uint64_t slot = pick(0, slots_ - 1);
    switch (pick(0, 6)) {
      case 0:
      case 1:
        if (reference_.insert(slot).second)
          set_.insert(slot);
        else
          erase(slot);
        break;
      case 2: insert_run(slot); break;
      case 3: erase_run(slot); break;
      case 4: set_word(slot / 64); break;
      case 5: take_highest(); break;
      default: {
        storage::SlotSet copy(ledger_, slots_);
        copy.assign(set_);
        set_ = std::move(copy);
      }
    }
  }

  /// Every question, at a random place.
  void compare() {
    ASSERT_EQ(set_.count(), reference_.size());
    const std::uint64_t at = pick(0, slots_);
    ASSERT_EQ(set_.next(at), next(at));
    ASSERT_EQ(set_.next_absent(at), next_absent(at));
    ASSERT_EQ(set_.previous(at), previous(at));
    ASSERT_TRUE(at == slots_ || set_.contains(at) == reference_.contains(at));
    compare_run(at);
    compare_lists(at);
  }

  void compare_grown() {
    const std::uint64_t more = slots_ + pick(0, 5000);
    const storage::SlotSet grown = set_.grown(ledger_, more);
    ASSERT_EQ(grown.slots(), more);
    ASSERT_EQ(grown.count(), reference_.size() + more - slots_);
    for (std::uint64_t slot = 0; slot < more; ++slot)
      ASSERT_EQ(grown.contains(slot), slot >= slots_ || reference_.contains(slot));
  }

 private:
  void erase(std::uint64_t slot) {
    reference_.erase(slot);
    set_.erase(slot);
  }
  void insert_run(std::uint64_t first) {
    // Runs of slots that are not members.
    storage::SlotRun run{first, 0};
    while (first + run.count < slots_ && !reference_.contains(first + run.count))
      reference_.insert(first + run.count++);
    if (run.count > 0) set_.insert(run);
  }
  void erase_run(std::uint64_t first) {
    storage::SlotRun run{first, 0};
    while (reference_.contains(first + run.count)) reference_.erase(first + run.count++);
    if (run.count > 0) set_.erase(run);
  }
  void set_word(std::uint64_t word) {
    std::uint64_t bits = pick(0, ~std::uint64_t{0});
    if (pick(0, 3) == 0) bits = 0;
    const std::uint64_t width = std::min<std::uint64_t>(64, slots_ - word * 64);
    if (width < 64) bits &= (std::uint64_t{1} << width) - 1;
    set_.set_word(word, bits);
    ASSERT_EQ(set_.word(word), bits);
    for (std::uint64_t bit = 0; bit < width; ++bit) {
      if ((bits >> bit & 1U) != 0)
        reference_.insert(word * 64 + bit);
      else
        reference_.erase(word * 64 + bit);
    }
  }

  void take_highest() {
    std::vector<SlotIndex> taken(pick(0, std::min<std::uint64_t>(100, reference_.size())));
    set_.take_highest(std::span(taken));
    for (const std::uint64_t slot : taken) {
      ASSERT_EQ(slot, *reference_.rbegin());
      reference_.erase(slot);
    }
  }

  std::uint64_t next(std::uint64_t from) const {
    const auto found = reference_.lower_bound(from);
    return found == reference_.end() ? slots_ : *found;
  }
  std::uint64_t next_absent(std::uint64_t from) const {
    while (from < slots_ && reference_.contains(from)) ++from;
    return from;
  }
  std::uint64_t previous(std::uint64_t end) const {
    const auto found = reference_.lower_bound(end);
    return found == reference_.begin() ? slots_ : *std::prev(found);
  }
  void compare_run(std::uint64_t at) {
    const std::uint64_t most = pick(0, 3) == 0 ? ~std::uint64_t{0} : pick(0, 200);
    const storage::SlotRun run = set_.next_run(at, most);
    ASSERT_EQ(run.first, next(at));
    std::uint64_t count = 0;
    while (count < most && reference_.contains(run.first + count)) ++count;
    ASSERT_EQ(run.count, count);
  }
  void compare_lists(std::uint64_t at) {
    const std::vector<std::uint64_t> members(reference_.lower_bound(at), reference_.end());
    if (members.empty()) return;
    const std::uint64_t size = pick(1, members.size());
    const std::uint64_t behind = members[size - 1] + 1;
    ASSERT_EQ(set_.skip(at, size), behind);
    ASSERT_EQ(set_.skip(at, 0), at);
    std::vector<SlotIndex> listed(size);
    ASSERT_EQ(set_.list(at, size, listed.data()), behind);
    ASSERT_TRUE(std::equal(listed.begin(), listed.end(), members.begin()));
  }

  std::uint64_t slots_;
  std::mt19937_64 random_;
  Ledger ledger_;
  storage::SlotSet set_;
  Reference reference_;
};

class SlotSets : public testing::TestWithParam<std::uint64_t> {};

TEST_P(SlotSets, AnswerAsASortedSetDoes) {
  for (std::uint64_t k = 0; k < 5 && !HasFatalFailure(); ++k) {
    SCOPED_TRACE(seed_note(seed() + k, 0));
    Pair pair(GetParam(), seed() + k);
    pair.compare();
    for (int step = 0; step < 1000 && !HasFatalFailure(); ++step) {
      pair.change();
      pair.compare();
    }
    pair.compare_grown();
  }
}

// Around the sizes of a word (64) and of a summary word (4096).
INSTANTIATE_TEST_SUITE_P(Sizes, SlotSets,
                         testing::Values(0, 1, 63, 64, 65, 127, 128, 1000, 4095, 4096, 4097, 9000));

TEST(SlotSetMemory, IsABitASlotAndASixtyFourthMore) {
  Ledger ledger;
  const storage::SlotSet set(ledger, 64 * 64 * 10);
  EXPECT_EQ(ledger.current_bytes(), 64U * 64 * 10 / 8 + 10 * 8);
}

}  // namespace
}  // namespace valet::test
