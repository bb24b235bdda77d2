// SPDX-License-Identifier: BSD-3-Clause

// Options::verify must be able to fail: for a byte that changes in flight, a block that does not
// land, blocks that land in each other's places, a slot that changes afterwards. Every rank then
// gets the same error, which names the blocks.

#include "filled_map.hpp"

namespace valet::test {
namespace {

enum class Fault {
  none,
  byte_when_sent,      ///< changes while a block is packed for another rank
  byte_when_received,  ///< changes before a block is unpacked
  not_unpacked,        ///< the blocks of a message never get to their slots
  in_others_slots,     ///< two blocks of a message change places
  byte_of_an_arrival,  ///< changes in a slot when everything has moved
  byte_of_a_resident   ///< likewise, of a block that stays
};

/// Host memory of a test in which one thing goes wrong, once, while blocks are exchanged or when
/// they have been.
class CorruptingBackend final : public StorageBackend {
 public:
  explicit CorruptingBackend(const BlockStorage& inner) : inner_(inner) {}

  /// @param slot  That changes when everything has moved.
  void corrupt(Fault fault, std::uint64_t slot = 0) {
    fault_ = fault;
    slot_ = static_cast<SlotIndex>(slot);
    done_ = fault == Fault::none;
    exchanges_ = false;
    exchanged_ = false;
  }
  [[nodiscard]] bool has_corrupted() const { return done_; }

  [[nodiscard]] std::uint64_t slots() const override { return inner_.slots(); }
  [[nodiscard]] std::size_t block_bytes() const override { return inner_.block_bytes(); }
  void begin_stage(const char* name) override {
    const std::string stage = name;
    exchanges_ = stage == "exchange";
    exchanged_ = exchanged_ || exchanges_;
    const bool afterwards =
        fault_ == Fault::byte_of_an_arrival || fault_ == Fault::byte_of_a_resident;
    if (stage == "verify" && exchanged_ && afterwards) flip_slot();
  }
  void end_stage() override { exchanges_ = false; }
  void gather(SlotList from, std::byte* packed) override {
    inner_.backend().gather(from, packed);
    if (from.size() > 0 && happens(Fault::byte_when_sent))
      packed[block_bytes() - 1] ^= std::byte{1};
  }
  void scatter(const std::byte* packed, SlotList to) override {
    if (to.size() == 0 || happens(Fault::not_unpacked)) return;
    std::vector<std::byte> changed(packed, packed + to.size() * block_bytes());
    if (happens(Fault::byte_when_received)) changed.front() ^= std::byte{1};
    if (to.size() > 1 && happens(Fault::in_others_slots))
      std::swap_ranges(changed.begin(), changed.begin() + block(1), changed.begin() + block(1));
    inner_.backend().scatter(changed.data(), to);
  }
  void copy(SlotList from, SlotList to, std::span<std::byte> scratch) override {
    inner_.backend().copy(from, to, scratch);
  }
  [[nodiscard]] bool may_throw() const override { return false; }
  [[nodiscard]] bool reachable_by_mpi() const override { return false; }
  void pieces(std::uint64_t, Vector<MemoryPiece>&) const override {}

 private:
  [[nodiscard]] std::ptrdiff_t block(std::ptrdiff_t number) const {
    return number * static_cast<std::ptrdiff_t>(block_bytes());
  }
  bool happens(Fault fault) {
    if (done_ || !exchanges_ || fault != fault_) return false;
    return done_ = true;
  }
  void flip_slot() {
    if (std::exchange(done_, true)) return;
    std::vector<std::byte> packed(block_bytes());
    const SlotList slot(&slot_, 1);
    inner_.backend().gather(slot, packed.data());
    packed[packed.size() / 2] ^= std::byte{0x80};
    inner_.backend().scatter(packed.data(), slot);
  }

  BlockStorage inner_;
  Fault fault_ = Fault::none;
  SlotIndex slot_ = 0;
  bool done_ = true;
  bool exchanges_ = false;
  bool exchanged_ = false;
};

/// Block k of each rank goes to rank r + k, so that each rank keeps some and sends to all others.
/// The ranks have free slots, and a few blocks too many in front of them.
class Migrations {
 public:
  static constexpr std::uint64_t blocks = 60;

  Migrations(Method method, Order order)
      : filled_(ring_map(size(), blocks + 20, blocks, 0), rank(), Shape::structure),
        backend_(std::make_shared<CorruptingBackend>(filled_.storage())),
        storage_(backend_),
        ranks_(blocks) {
    options_.method = method;
    options_.order = order;
    options_.verify = true;
    options_.share_memory = false;
    options_.budget_bytes = method == Method::direct ? 1 << 20 : 2000;
    for (std::size_t k = 0; k < ranks_.size(); ++k)
      ranks_[k] = (rank() + static_cast<int>(k)) % size();
    plan_.emplace(plan_to_ranks(MPI_COMM_WORLD, storage_, blocks, ranks_, options_));
    filled_.fill();
    backend_->corrupt(Fault::none);
    Report report;
    EXPECT_TRUE(all_ranks(outcome_of([&] { report = execute(*plan_, storage_); }).code ==
                          ErrorCode::success));
    EXPECT_TRUE(report.verified);
  }

  /// Slots whose blocks came from another rank, or from this one, ascending. After a healthy run.
  [[nodiscard]] std::vector<std::uint64_t> slots_of(bool resident) {
    std::vector<std::uint64_t> slots;
    for (std::uint64_t slot = 0; slot < blocks; ++slot)
      for (std::uint64_t k = 0; k < blocks; ++k)
        for (int other = 0; other < size(); ++other)
          if ((other == rank()) == resident && filled_.blocks().holds(slot, {other, k}))
            slots.push_back(slot);
    return slots;
  }

  /// From the beginning, with a fault on the last rank.
  Outcome run(Fault fault, std::uint64_t slot) {
    filled_.fill();
    backend_->corrupt(rank() == size() - 1 ? fault : Fault::none, slot);
    return outcome_of([&] { execute(*plan_, storage_); });
  }
  [[nodiscard]] bool has_corrupted() const { return backend_->has_corrupted(); }

 private:
  FilledMap filled_;
  std::shared_ptr<CorruptingBackend> backend_;
  BlockStorage storage_;
  std::vector<int> ranks_;
  Options options_;
  std::optional<Plan> plan_;
};

class Verification : public testing::TestWithParam<std::tuple<Method, Order>> {};

TEST_P(Verification, FindsWhateverChanges) {
  Migrations migrations(std::get<0>(GetParam()), std::get<1>(GetParam()));
  std::vector<Fault> faults{Fault::byte_of_a_resident};
  if (size() > 1)
    faults.insert(faults.end(),
                  {Fault::byte_when_sent, Fault::byte_when_received, Fault::not_unpacked,
                   Fault::in_others_slots, Fault::byte_of_an_arrival});
  faults.push_back(Fault::byte_of_a_resident);
  const std::vector<std::uint64_t> arrivals = migrations.slots_of(false);
  // The last one is not where it was, by Order::stable; the first one is.
  std::vector<std::uint64_t> residents = migrations.slots_of(true);
  for (const Fault fault : faults) {
    SCOPED_TRACE(static_cast<int>(fault));
    std::uint64_t slot = arrivals.empty() ? 0 : arrivals.front();
    if (fault == Fault::byte_of_a_resident) {
      slot = residents.front();
      std::ranges::reverse(residents);
    }
    const Outcome outcome = migrations.run(fault, slot);
    EXPECT_TRUE(all_ranks(migrations.has_corrupted()));
    expect_error(outcome, ErrorCode::corrupted, {});
    const std::string last = std::to_string(size() - 1);
    std::string expected = "rank " + last + ": the ";
    if (fault == Fault::byte_when_sent)
      expected = "blocks from rank " + last + " are not what that rank sent; restart from";
    else if (fault == Fault::byte_of_a_resident)
      expected += "blocks that stay are not what they were; restart from a checkpoint";
    expect_words(outcome.text, {expected});
  }
  EXPECT_EQ(migrations.run(Fault::none, 0).code, ErrorCode::success);
}

TEST(VerificationOfManyBlocks, AgreesWhereTheyLandInManyPieces) {
  const GlobalMap map = ring_map(size(), 3000, 3000, 0);
  FilledMap filled(map, rank(), Shape::dense);
  const Options options{.method = Method::stream, .verify = true};
  Plan plan = filled.plan(MPI_COMM_WORLD, Form::to_ranks, options);
  Report report;
  const Outcome outcome = outcome_of([&] { report = execute(plan, filled.storage()); });
  EXPECT_EQ(outcome.code, ErrorCode::success) << outcome.text;
  EXPECT_TRUE(all_ranks(report.verified));
}

INSTANTIATE_TEST_SUITE_P(MethodsAndOrders, Verification,
                         testing::Combine(testing::Values(Method::stream, Method::direct,
                                                          Method::phased, Method::cyclic),
                                          testing::Values(Order::any, Order::fill, Order::stable)),
                         [](const auto& one) {
                           return std::string(to_string(std::get<0>(one.param))) + "_" +
                                  to_string(std::get<1>(one.param));
                         });

}  // namespace
}  // namespace valet::test
