// SPDX-License-Identifier: BSD-3-Clause
#include "engine/at_once.hpp"
#include "engine/exchange.hpp"
#include "mpi/before_finalize.hpp"
#include "mpi/neighbour_words.hpp"
#include "plan/any_order.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>

namespace valet::engine {
namespace {

/// DIRECT, and STREAM where little moves: all blocks that leave and all that arrive are in scratch
/// at once (engine/at_once.hpp).
class Direct final : public Exchange {
 public:
  explicit Direct(const plan::State& state)
      : state_(state),
        flows_(state.flows),
        rounds_{messages_of(state, true), messages_of(state, state.at_once)},
        imports_(state.ledger, flows_.in_order() ? flows_.incoming.size() : 0, flows_.any.grain),
        holes_(state.ledger, flows_) {}

  [[nodiscard]] std::size_t scratch_bytes() const override {
    if (state_.at_once) return local_bytes() + 2 * bytes_of(flows_.blocks_arriving);
    return scratch_bytes_of(state_.options, state_.blocks,
                            flows_.exports.size() + flows_.blocks_arriving);
  }
  [[nodiscard]] std::size_t local_bytes() const override {
    return state_.at_once ? scratch_bytes_of(state_.options, state_.blocks, flows_.exports.size())
                          : scratch_bytes();
  }
  void bind() override {
    if (state_.at_once && !withdrawal_) withdrawal_.emplace([this] { withdraw(); });
  }
  void expect(std::span<std::byte> scratch, bool stands) override {
    // Where there is no room for what comes ahead all ranks meet in each execution.
    if (stands && !state_.at_once) return;
    scratch_ = scratch.data();
    stands_ = stands;
    receive_all(round_);
    is_expecting_ = true;
  }
  void withdraw() override {
    stands_ = false;
    if (std::exchange(is_expecting_, false)) messages().withdraw();
  }
  [[nodiscard]] bool begins_alone() const override { return true; }
  void begin(LocalSlots& local, std::span<std::byte> scratch) override {
    local_ = &local;
    note_in_use(flows_.exports.size() + flows_.blocks_arriving);
    if (!is_expecting_) {
      expect(scratch, false);
      messages().meet();
    }
    is_expecting_ = false;
    if (stands_) receive_all(1 - round_);
    send_all(local);
  }
  bool progress() override { return messages().progress(); }
  void finish(Report& report) override {
    for (std::size_t s = 0; s < flows_.incoming.size(); ++s) {
      messages().wait_for(s);
      state_.observer.moved(flows_.incoming[s].count);
    }
    messages().wait_for_all();
    report.messages += flows_.outgoing.size();
    note_in_use(flows_.blocks_arriving);
    flows_.in_order() ? land(*local_, arriving(round_)) : store_all(*local_, arriving(round_));
    note_in_use(0);
    if (!stands_) return;
    round_ = 1 - round_;
    is_expecting_ = true;
  }

 private:
  /// @param has_any  Whether there is such a round.
  static AtOnce messages_of(const plan::State& state, bool has_any) {
    const plan::Flows& flows = state.flows;
    if (!has_any) return {state.channel, state.ledger, 0, 0};
    if (!state.at_once)
      return {state.channel, state.ledger, flows.incoming.size(), flows.outgoing.size()};
    const auto neighbours = static_cast<std::size_t>(
        mpi::count_neighbours(flows.outgoing, flows.incoming, state.channel.rank()));
    return {state.channel, state.ledger, neighbours, neighbours};
  }
  [[nodiscard]] AtOnce& messages() { return rounds_[round_]; }
  [[nodiscard]] std::byte* arriving(std::size_t round) const {
    const std::size_t before = state_.at_once ? local_bytes() : bytes_of(flows_.exports.size());
    return scratch_ + before + round * bytes_of(flows_.blocks_arriving);
  }
  void receive_all(std::size_t round) {
    rounds_[round].restart();
    std::byte* memory = arriving(round);
    for (const plan::Incoming& flow : flows_.incoming) {
      const std::size_t bytes = bytes_of(flow.count);
      rounds_[round].receive(flow.rank, memory, bytes);
      memory += bytes;
    }
    if (stands_)
      for_each_without(flows_.outgoing, flows_.incoming,
                       [&](int rank) { rounds_[round].receive(rank, nullptr, 0); });
  }
  void send_all(LocalSlots& local) {
    for (const plan::Outgoing& flow : flows_.outgoing)
      local.gather(local.exports(flow, 0, flow.count), scratch_ + bytes_of(flow.first));
    for (const plan::Outgoing& flow : flows_.outgoing) {
      std::byte* const packed = scratch_ + bytes_of(flow.first);
      local.finish(packed, bytes_of(flow.count));
      messages().send(flow.rank, packed, bytes_of(flow.count));
      state_.observer.moved(flow.count);
    }
    if (stands_)
      for_each_without(flows_.incoming, flows_.outgoing,
                       [&](int rank) { messages().send(rank, nullptr, 0); });
  }
  /// Calls action(rank) for those that flows go to, or come from, in one direction alone.
  template <class List, class Others, class Action>
  static void for_each_without(const List& flows, const Others& others, Action&& action) {
    for (const auto& flow : flows)
      if (mpi::find_peer(std::span(others), flow.rank) == nullptr) action(flow.rank);
  }
  void store_all(LocalSlots& local, const std::byte* packed) const {
    for (const plan::Incoming& flow : flows_.incoming) {
      local.store(packed, flow.cursor, flow.count, LocalSlots::Misplace::if_needed);
      packed += bytes_of(flow.count);
    }
  }
  /// The same in the order in which imports take their holes.
  void land(LocalSlots& local, const std::byte* packed) {
    for_each_landing(flows_, imports_, holes_, [&](const schedule::FlowRun& run, SlotList slots) {
      local.land(packed + bytes_of(flows_.incoming[run.flow].cursor + run.first), slots);
    });
  }
  void note_in_use(std::uint64_t blocks) const {
    if (observe::Trace* const trace = state_.observer.trace)
      trace->counter("scratch in use", bytes_of(blocks));
  }
  [[nodiscard]] std::size_t bytes_of(std::uint64_t blocks) const {
    return static_cast<std::size_t>(blocks) * state_.blocks.block_bytes;
  }

  const plan::State& state_;
  const plan::Flows& flows_;
  std::array<AtOnce, 2> rounds_;
  LocalSlots* local_ = nullptr;  ///< while it runs
  std::byte* scratch_ = nullptr;
  bool is_expecting_ = false;  ///< receives were posted before the ranks agreed to run
  bool stands_ = false;        ///< those of an execution are posted in the one before
  std::size_t round_ = 0;      ///< the messages and the memory of the next execution, or this one
  schedule::GrainOrder imports_;                   ///< where blocks land in order
  plan::HoleWalk holes_;                           ///< likewise
  std::optional<mpi::BeforeFinalize> withdrawal_;  ///< of what stands
};

}  // namespace

std::unique_ptr<Exchange> make_direct(const plan::State& state) {
  return std::make_unique<Direct>(state);
}

}  // namespace valet::engine
