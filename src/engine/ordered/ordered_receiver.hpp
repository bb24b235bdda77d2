// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/assert.hpp"
#include "engine/ordered/message_list.hpp"
#include "engine/pulls.hpp"
#include "engine/slots/slot_sender.hpp"
#include "plan/any_order.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>

namespace valet::engine {

/// The sink of exchanges in order, on one rank: credits imports in their order and brings them to
/// their holes in that order, as these are left.
class OrderedReceiver {
 public:
  OrderedReceiver(const plan::State& state, const schedule::OrderedSizes& sizes,
                  CreditTransport& transport, const SlotSender& sender, Pulls& pulls)
      : state_(state),
        flows_(state.flows),
        sizes_(sizes),
        transport_(transport),
        sender_(sender),
        pulls_(pulls),
        block_bytes_(state.blocks.block_bytes),
        imports_(state.ledger, flows_.incoming.size(), flows_.any.grain),
        holes_(state.ledger, flows_),
        messages_(
            state.ledger,
            list_length(state.options, state.blocks, flows_, sizes, state.node().own().size()),
            block_bytes_),
        posted_(receives(state.options, flows_), Posted{}, state.ledger),
        of_source_(flows_.incoming.size(), std::uint8_t{0}, state.ledger) {}
  /// Receive requests that it needs of a transport: MPI looks at all of them for each event.
  [[nodiscard]] static std::size_t receives(const Options& options, const plan::Flows& flows) {
    const std::size_t credits =
        flows.eager_bytes > 0 ? schedule::most_credits_of_a_pair : schedule::credits_of_a_pair;
    return std::min(static_cast<std::size_t>(options.stream.window),
                    credits * flows.incoming.size());
  }

  /// What it allocates, where so many bytes are shared inside the node.
  [[nodiscard]] static std::uint64_t state_bytes(const Options& options, const BlockTraits& blocks,
                                                 const plan::Flows& flows,
                                                 const schedule::OrderedSizes& sizes,
                                                 std::size_t node_bytes) {
    using schedule::GrainOrder;
    return GrainOrder::bytes_for(flows.incoming.size()) +
           GrainOrder::bytes_for(flows.outgoing.size()) +  // of the holes
           MessageList::bytes_for(list_length(options, blocks, flows, sizes, node_bytes)) +
           receives(options, flows) * sizeof(Posted) + flows.incoming.size() * sizeof(std::uint8_t);
  }

  [[nodiscard]] std::uint64_t scratch_blocks() const { return scratch_blocks_of(flows_, sizes_); }
  [[nodiscard]] static std::uint64_t scratch_blocks_of(const plan::Flows& flows,
                                                       const schedule::OrderedSizes& sizes) {
    return flows.any.shift + sizes.waiting_blocks;
  }

  /// Starts an execution; `memory` has scratch_blocks() for the blocks that wait.
  void start(std::byte* memory) {
    const std::span<std::byte> node = state_.node().own();
    aside_ = {memory, flows_.any.shift, Into::aside, true};
    own_room_ =
        WaitingRoom(memory + aside_.count * block_bytes_, sizes_.waiting_blocks, block_bytes_);
    node_room_ = WaitingRoom(node.data(), node.size() / block_bytes_, block_bytes_);
    enter_imports(imports_, flows_);
    holes_.restart();
    messages_.clear();
    credited_ = set_aside_ = blocks_in_rooms_ = blocks_pulled_ = 0;
    in_flight_ = 0;
    detours_ = false;
    blocks_left_ = flows_.blocks_arriving;
  }
  /// Gives the next credit if there is room for what it asks; true when it did.
  /// @param takes_less  Nothing that is on its way will make room: a shorter message will do.
  bool give_credit(LocalSlots& local, bool takes_less) {
    if (imports_.empty()) return false;
    if (pulls()) return pull(takes_less);
    const std::size_t index = idle_receive();
    if (index == posted_.size() || !lists_message()) return false;
    if (credit_aside(index)) return true;
    if (credit_slots(local, index)) return true;
    if (waits_for_slots(local) && !takes_less) return false;
    return credit_room(local, index, takes_less);
  }
  /// Brings the next message that has arrived to holes that are free; true when there was any.
  bool land(LocalSlots& local) {
    bool any = false;
    for (; !messages_.empty() && messages_.front().arrived; messages_.pop_front(), any = true) {
      CreditedMessage& next = messages_.front();
      if (next.into == Into::slots) blocks_left_ -= next.count;
      if (next.into == Into::aside) set_aside_ += next.count;
      if (!is_in_room(next.into)) continue;
      any = set_aside(next) || any;
      any = land_all(local, next) || any;
      if (next.count == 0) messages_.pop_front();
      return any;
    }
    if (messages_.empty() && imports_.empty() && aside_.count > 0)
      any = land_all(local, aside_) || any;
    return any;
  }
  /// The message of a receive request is there.
  void received(std::size_t index) {
    Posted& posted = posted_[index];
    CreditedMessage& arrived = messages_[posted.message];
    state_.observer.moved(arrived.count);
    arrived.arrived = true;
    --of_source_[posted.flow];
    --in_flight_;
    detours_ = detours_ && !posted.is_detour;
    posted.busy = false;
  }
  /// Whether messages are on their way here.
  [[nodiscard]] bool expects() const { return in_flight_ > 0; }
  [[nodiscard]] bool done() const { return blocks_left_ == 0; }
  /// Bytes of scratch that hold blocks, or wait for them.
  [[nodiscard]] std::uint64_t bytes_in_use() const {
    return (blocks_in_rooms_ + std::min(credited_, aside_.count)) * block_bytes_;
  }

  /// Whether it takes the next imports itself.
  [[nodiscard]] bool pulls() const {
    return !imports_.empty() && pulls_.takes(imports_.front().flow);
  }
  /// Blocks that it took itself.
  [[nodiscard]] std::uint64_t blocks_pulled() const { return blocks_pulled_; }

 private:
  using Into = MessageList::Into;
  using CreditedMessage = MessageList::CreditedMessage;

  struct Posted {
    std::uint64_t message = 0;  ///< its number in the list
    std::uint32_t flow = 0;
    bool busy = false;
    bool is_detour = false;  ///< of a rank of the node, and not through its memory
  };

  /// Messages that the list has to hold, where so many bytes are shared inside the node.
  static std::size_t list_length(const Options& options, const BlockTraits& blocks,
                                 const plan::Flows& flows, const schedule::OrderedSizes& sizes,
                                 std::size_t node_bytes) {
    const std::uint64_t grains =
        (sizes.waiting_blocks + node_bytes / blocks.block_bytes) / flows.any.grain;
    return MessageList::length(receives(options, flows), flows.incoming.size(),
                               static_cast<std::size_t>(grains), node_bytes > 0);
  }
  /// For the holes: how many blocks of an outgoing flow have left their slots.
  [[nodiscard]] auto blocks_left() const {
    return [this](std::uint32_t flow) { return sender_.blocks_left_of(flow); };
  }
  /// For the list: finds the receive request of a message whose number changes.
  [[nodiscard]] auto renumber() {
    return [this](std::uint64_t from, std::uint64_t to) {
      for (Posted& posted : posted_)
        if (posted.busy && posted.message == from) posted.message = to;
    };
  }
  [[nodiscard]] static bool is_in_room(Into into) {
    return into == Into::own || into == Into::node;
  }
  [[nodiscard]] WaitingRoom& room_of(Into into) {
    return into == Into::node ? node_room_ : own_room_;
  }
  /// Brings blocks of a message to holes as far as these are free; true when there was one.
  bool land_all(LocalSlots& local, CreditedMessage& message) {
    std::array<SlotIndex, 1024> slots;
    bool any = false;
    while (message.count > 0) {
      const auto most = std::min<std::uint64_t>(slots.size(), message.count);
      const std::size_t count = holes_.take(std::span(slots).first(most), blocks_left());
      if (count == 0) break;
      local.land(message.memory, SlotList(slots).first(count));
      leave_room(message, count);
      blocks_left_ -= count;
      any = true;
    }
    return any;
  }
  /// Takes the next imports from the slots of their source: into their holes, or, where these are
  /// not free, to where they wait; true when there were any.
  /// @param takes_less  To a place that is meant for what nothing else can make room for.
  bool pull(bool takes_less) {
    const std::uint64_t chunk = std::max<std::uint64_t>(1, Pulls::chunk_bytes / block_bytes_);
    std::array<SlotIndex, 1024> slots;
    const schedule::FlowRun next = imports_.front(std::min<std::uint64_t>(chunk, slots.size()));
    if (credited_ < flows_.any.shift) {
      const std::uint64_t count = std::min(next.count, flows_.any.shift - credited_);
      return pull_to(next.flow, count, aside_.memory + credited_ * block_bytes_, Into::aside);
    }
    std::size_t count = 0;
    if (blocks_in_rooms_ == 0)  // those come before
      count = holes_.take(std::span(slots).first(next.count), blocks_left());
    if (count == 0) return (takes_less || flows_.any.shift == 0) && pull_to_room(next);
    pulls_.take(next.flow, SlotList(slots).first(count));
    blocks_left_ -= count;
    pulled(count);
    return true;
  }
  bool pull_to_room(const schedule::FlowRun& next) {
    const std::uint64_t count = std::min(next.count, own_room_.next());
    if (count == 0 || !lists_message()) return false;
    blocks_in_rooms_ += count;
    return pull_to(next.flow, count, own_room_.enter(count), Into::own);
  }
  bool pull_to(std::uint32_t flow, std::uint64_t count, std::byte* memory, Into into) {
    if (!lists_message()) return false;
    pulls_.take(flow, count, memory);
    messages_[messages_.add(memory, count, into)].arrived = true;
    pulled(count);
    return true;
  }
  void pulled(std::uint64_t count) {
    state_.observer.moved(count);
    imports_.advance(count);
    credited_ += count;
    blocks_pulled_ += count;
  }
  /// Credits the next imports straight into their holes, where these are free and one run.
  bool credit_slots(LocalSlots& local, std::size_t index) {
    std::byte* const data = local.backend().contiguous_data();
    if (data == nullptr || credited_ < flows_.any.shift) return false;
    if (blocks_in_rooms_ > 0) return false;  // those come before
    schedule::FlowRun next = next_imports(false);
    if (transport_.node().is_written_by(flows_.incoming[next.flow].rank)) return false;
    // Two on the way: one is received while the next one's slots are left.
    if (flows_.any.shift > 1) next.count = std::min(next.count, flows_.any.shift / 2);
    const storage::SlotRun run = holes_.next_run(next.count, blocks_left());
    if (run.count < next.count && run.count * block_bytes_ < schedule::worthwhile_bytes)
      return false;
    next.count = run.count;
    // With send buffers, what leaves from its slots is one run.
    VALET_ASSERT(sizes_.messages.send_buffers == 0 ||
                 (!sender_.frees_soon(local, run.first) &&
                  !sender_.frees_soon(local, run.first + run.count - 1)));
    if (has_all_credits(next.flow)) return false;
    holes_.pass(run.count);
    local.backend().finish_all();  // the holes may be packed from still
    give(index, next, data + run.first * block_bytes_, Into::slots);
    return true;
  }
  /// Whether the next imports should be received in their slots, soon: holes are long runs.
  [[nodiscard]] bool waits_for_slots(const LocalSlots& local) const {
    return flows_.any.shift > 0 && local.backend().contiguous_data() != nullptr &&
           !transport_.node().is_written_by(flows_.incoming[imports_.front().flow].rank);
  }
  /// Credits the next of the first imports to where they wait for the last holes. What ranks of the
  /// node write goes through their memory first.
  bool credit_aside(std::size_t index) {
    const std::uint32_t flow = imports_.front().flow;
    if (credited_ >= flows_.any.shift || has_all_credits(flow) ||
        transport_.node().is_written_by(flows_.incoming[flow].rank))
      return false;
    schedule::FlowRun next = next_imports(false);
    next.count = std::min(next.count, flows_.any.shift - credited_);
    give(index, next, aside_.memory + credited_ * block_bytes_, Into::aside);
    return true;
  }
  bool credit_room(LocalSlots& local, std::size_t index, bool takes_less) {
    const std::uint32_t flow = imports_.front().flow;
    if (has_all_credits(flow) || detours_) return false;
    const bool on_node = transport_.node().is_written_by(flows_.incoming[flow].rank);
    const std::optional<Into> where =
        on_node ? messages_.choose_room(takes_less, node_room_.next(), renumber()) : Into::own;
    if (!where) return false;
    const Into into = *where;
    schedule::FlowRun next = next_imports(into == Into::node);
    if (on_node && into == Into::own)
      next.count = std::min(next.count, schedule::listed_blocks(state_.blocks.pieces_per_block));
    WaitingRoom& room = room_of(into);
    if (into == Into::own) next.count = std::min(next.count, sizes_.messages.receive_blocks);
    next.count = std::min(next.count, room.blocks());
    if (!takes_less && room.left() < next.count) return false;
    next.count = std::min(next.count, room.next());
    if (next.count == 0) return false;
    std::byte* const memory = room.enter(next.count);
    local.finish(memory, next.count * block_bytes_);
    give(index, next, memory, into);
    posted_[index].is_detour = detours_ = on_node && into == Into::own;
    blocks_in_rooms_ += next.count;
    return true;
  }
  /// Copies those of the first imports that are in a room to where they wait; true when there was
  /// one.
  bool set_aside(CreditedMessage& message) {
    const std::uint64_t count = std::min(flows_.any.shift - set_aside_, message.count);
    if (count == 0) return false;
    std::memcpy(aside_.memory + set_aside_ * block_bytes_, message.memory, count * block_bytes_);
    set_aside_ += count;
    leave_room(message, count);
    return true;
  }
  /// The first `count` blocks of a message are somewhere else now.
  void leave_room(CreditedMessage& message, std::uint64_t count) {
    message.memory += count * block_bytes_;
    message.count -= count;
    if (!is_in_room(message.into)) return;
    room_of(message.into).leave(count);
    blocks_in_rooms_ -= count;
  }
  [[nodiscard]] bool has_all_credits(std::uint32_t flow) const {
    return of_source_[flow] >= state_.asked_of(flows_.incoming[flow]).credits;
  }
  [[nodiscard]] std::size_t idle_receive() const {
    for (std::size_t k = 0; k < posted_.size(); ++k)
      if (!posted_[k].busy && transport_.can_receive(k)) return k;
    return posted_.size();
  }
  /// Whether there is room in the list for one more message.
  [[nodiscard]] bool lists_message() { return messages_.takes_one(renumber()); }
  /// The next imports that one message may bring.
  [[nodiscard]] schedule::FlowRun next_imports(bool on_node) const {
    schedule::FlowRun next = imports_.front();
    const plan::Incoming& flow = flows_.incoming[next.flow];
    if (on_node) return imports_.front(sizes_.messages.node_blocks);
    return imports_.front(std::min(flow.message_blocks - next.first % flow.message_blocks,
                                   state_.asked_of(flow).blocks));
  }
  void give(std::size_t index, const schedule::FlowRun& next, std::byte* memory, Into into) {
    const std::uint64_t number = messages_.add(memory, next.count, into);
    posted_[index] = {.message = number, .flow = next.flow, .busy = true};
    ++of_source_[next.flow];
    ++in_flight_;
    imports_.advance(next.count);
    credited_ += next.count;
    transport_.give(index, flows_.incoming[next.flow].rank, memory, next.count * block_bytes_,
                    {.count = static_cast<std::uint32_t>(next.count)});
  }

  const plan::State& state_;
  const plan::Flows& flows_;
  const schedule::OrderedSizes sizes_;
  CreditTransport& transport_;
  const SlotSender& sender_;
  Pulls& pulls_;
  std::size_t block_bytes_;
  schedule::GrainOrder imports_;  ///< not credited
  plan::HoleWalk holes_;          ///< not taken
  WaitingRoom own_room_, node_room_;
  MessageList messages_;
  Vector<Posted> posted_;              ///< by receive request
  Vector<std::uint8_t> of_source_;     ///< messages on their way, by index in Flows::incoming
  CreditedMessage aside_;              ///< all that wait for the last holes
  std::uint64_t credited_ = 0;         ///< blocks
  std::uint64_t set_aside_ = 0;        ///< blocks that are there
  std::uint64_t blocks_in_rooms_ = 0;  ///< credited, and not landed
  std::uint64_t blocks_left_ = 0;      ///< not landed
  std::uint64_t blocks_pulled_ = 0;    ///< of those credited
  std::size_t in_flight_ = 0;
  /// A detour is on its way. A source answers what it writes and what it sends apart from each
  /// other, so nothing else is asked meanwhile.
  bool detours_ = false;
};

}  // namespace valet::engine
