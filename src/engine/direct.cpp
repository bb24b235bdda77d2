// SPDX-License-Identifier: BSD-3-Clause
#include "engine/at_once.hpp"
#include "engine/exchange.hpp"
#include "plan/any_order.hpp"

#include <utility>

namespace valet::engine {
namespace {

/// DIRECT: all blocks that leave and all that arrive are in scratch at once (engine/at_once.hpp).
class Direct final : public Exchange {
 public:
  explicit Direct(const plan::State& state)
      : state_(state),
        flows_(state.flows),
        messages_(state.channel, state.ledger, flows_.incoming.size(), flows_.outgoing.size()),
        imports_(state.ledger, flows_.in_order() ? flows_.incoming.size() : 0, flows_.any.grain),
        holes_(state.ledger, flows_) {}

  [[nodiscard]] std::size_t scratch_bytes() const override {
    return scratch_bytes_of(state_.options, state_.blocks,
                            flows_.exports.size() + flows_.blocks_arriving);
  }
  void expect(std::span<std::byte> scratch) override {
    messages_.restart();
    receive_all(scratch.data() + bytes_of(flows_.exports.size()));
    is_expecting_ = true;
  }
  void withdraw() override {
    if (std::exchange(is_expecting_, false)) messages_.withdraw();
  }
  [[nodiscard]] bool begins_alone() const override { return true; }
  void begin(LocalSlots& local, std::span<std::byte> scratch) override {
    local_ = &local;
    arriving_ = scratch.data() + bytes_of(flows_.exports.size());
    note_in_use(flows_.exports.size() + flows_.blocks_arriving);
    if (!is_expecting_) {
      expect(scratch);
      messages_.meet();
    }
    is_expecting_ = false;
    send_all(local, scratch.data());
  }
  bool progress() override { return messages_.progress(); }
  void finish(Report& report) override {
    for (std::size_t s = 0; s < flows_.incoming.size(); ++s) {
      messages_.wait_for(s);
      state_.observer.moved(flows_.incoming[s].count);
    }
    messages_.wait_for_sends();
    report.messages += messages_.messages();
    note_in_use(flows_.blocks_arriving);
    flows_.in_order() ? land(*local_, arriving_) : store_all(*local_, arriving_);
    note_in_use(0);
  }

 private:
  void receive_all(std::byte* arriving) {
    for (const plan::Incoming& flow : flows_.incoming) {
      const std::size_t bytes = bytes_of(flow.count);
      messages_.receive(flow.rank, arriving, bytes);
      arriving += bytes;
    }
  }
  void send_all(LocalSlots& local, std::byte* leaving) {
    for (const plan::Outgoing& flow : flows_.outgoing)
      local.gather(local.exports(flow, 0, flow.count), leaving + bytes_of(flow.first));
    for (const plan::Outgoing& flow : flows_.outgoing) {
      std::byte* const packed = leaving + bytes_of(flow.first);
      local.finish(packed, bytes_of(flow.count));
      messages_.send(flow.rank, packed, bytes_of(flow.count));
      state_.observer.moved(flow.count);
    }
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
  AtOnce messages_;
  LocalSlots* local_ = nullptr;    ///< while it runs
  std::byte* arriving_ = nullptr;  ///< likewise
  bool is_expecting_ = false;      ///< receives were posted before the ranks agreed to run
  schedule::GrainOrder imports_;   ///< where blocks land in order
  plan::HoleWalk holes_;           ///< likewise
};

}  // namespace

std::unique_ptr<Exchange> make_direct(const plan::State& state) {
  return std::make_unique<Direct>(state);
}

}  // namespace valet::engine
