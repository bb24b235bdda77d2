// SPDX-License-Identifier: BSD-3-Clause

// A storage that the host reaches and MPI does not, as a file is: ranks of a node share memory, and
// every message is packed, with the least budget too.

#include "filled_map.hpp"
#include "random_options.hpp"

namespace valet::test {
namespace {

class HostStorage final : public StorageBackend {
 public:
  explicit HostStorage(BlockStorage inner) : inner_(std::move(inner)) {}

  [[nodiscard]] std::uint64_t slots() const override { return inner_.slots(); }
  [[nodiscard]] std::size_t block_bytes() const override { return inner_.block_bytes(); }
  void gather(SlotList from, std::byte* packed) override { inner_.backend().gather(from, packed); }
  void scatter(const std::byte* packed, SlotList to) override {
    inner_.backend().scatter(packed, to);
  }
  void copy(SlotList from, SlotList to, std::span<std::byte> scratch) override {
    inner_.backend().copy(from, to, scratch);
  }
  [[nodiscard]] bool reachable_by_mpi() const override { return false; }
  [[nodiscard]] bool reachable_by_host() const override { return true; }
  void pieces(std::uint64_t /*slot*/, Vector<MemoryPiece>& /*list*/) const override {
    throw std::logic_error("MPI cannot read blocks where they are");
  }

 private:
  BlockStorage inner_;
};

/// Above all where blocks land in order: then what a rank of the node may write is sometimes sent.
TEST(HostStorage, IsPackedWhateverTheMethod) {
  std::mt19937_64 random(seed());
  for (std::uint64_t k = 0; k < 200; ++k) {
    SCOPED_TRACE(seed_note(seed()) + ", case " + std::to_string(k));
    const GlobalMap map = random_map(random, size(), 60, Tightness::one_free, false);
    Options options;
    if (k % 2 == 0) options.method = all_methods[k / 2 % all_methods.size()];
    if (k % 4 == 0) options.order = all_orders[k / 4 % all_orders.size()];
    FilledMap filled(map, rank(), Shape::dense);
    const std::size_t blocks = options.method == Method::direct ? 200 : pick(random, 2, 60);
    options.budget_bytes = blocks * filled.storage().block_bytes();
    const BlockStorage storage(std::make_shared<HostStorage>(filled.storage()));
    Plan plan = filled.plan(MPI_COMM_WORLD, storage, Form::to_ranks, options);
    const Outcome outcome = outcome_of([&] { execute(plan, storage); });
    ASSERT_EQ(outcome.text, "") << describe(options);
    ASSERT_EQ(sum_over_ranks(filled.wrong(Form::to_ranks, options.order)), 0) << describe(options);
  }
}

}  // namespace
}  // namespace valet::test
