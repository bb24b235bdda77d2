// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "engine/credit_transport.hpp"
#include "engine/exchange.hpp"
#include "engine/pulls.hpp"
#include "engine/slots/ring_flows.hpp"
#include "mpi/message.hpp"
#include "plan/stream_limits.hpp"
#include "schedule/proportional_queue.hpp"

#include <array>
#include <cstdint>

namespace valet::engine {

/// What the sizes of an exchange follow from, memory shared on the node included.
[[nodiscard]] inline schedule::StreamLimits limits_of(const plan::State& state) {
  schedule::StreamLimits limits = plan::stream_limits(state.options, state.blocks, state.flows);
  limits.shares_memory = state.node().shares();
  limits.node_bytes = state.node().own().size();
  // Some of what goes to a rank of the node may be sent (OrderedReceiver): packed, where MPI cannot
  // read the blocks.
  for (const plan::Outgoing& flow : state.flows.outgoing)
    if (state.blocks.reachable_by_mpi && state.node().of(flow.rank) != nullptr)
      limits.blocks_sent_on_node += flow.count;
  limits.largest_message = 0;
  for (const plan::Incoming& flow : state.flows.incoming) {
    limits.largest_message = std::max(
        limits.largest_message, std::min<std::uint64_t>(flow.count, state.asked_of(flow).blocks));
    if (state.node().is_written_by(flow.rank)) limits.blocks_received_on_node += flow.count;
  }
  return limits;
}

/// The source of exchanges between slots, on one rank: answers credits. Those of ranks that share
/// memory with this one are answered at once, by writing; the rest is about messages.
///
/// Blocks that stand in one run of memory are sent from there: the receiver then reads them from
/// memory into its own cache. Others are packed, and ahead of their credits, which frees their
/// slots.
///
/// To a rank of this node only one message is on the way at a time, though several credits of it
/// may be at hand, so that the next one follows at once: there MPI copies a message in one piece on
/// the receiver's core; with more of them queued each rank works through its queue while its peer,
/// whose credits it does not see meanwhile, idles, and they take turns (measured with 2 to 16 on
/// the way: twice the time). On a network each message but the first would add its latency, so
/// there all credits are answered.
class SlotSender {
 public:
  /// @param is_limited  Credits are answered up to what allow() says; the others wait.
  /// @param most_ahead  Destinations at most whose credits wait so.
  /// @param pulls       What others take themselves; nullptr for nothing.
  SlotSender(const plan::State& state, const schedule::StreamSizes& sizes,
             CreditTransport& transport, bool is_limited, std::size_t most_ahead = 0,
             const Pulls* pulls = nullptr);
  /// Send requests that it needs of a transport.
  [[nodiscard]] static std::size_t sends(const schedule::StreamSizes& sizes) {
    return sizes.send_buffers + unstaged_messages;
  }
  static constexpr std::size_t signals = 8;  ///< likewise
  /// What it allocates where whole flows go to so many destinations, none of them on the node.
  [[nodiscard]] VALET_EXPORT static std::uint64_t state_bytes(const BlockTraits& blocks,
                                                              const schedule::StreamSizes& sizes,
                                                              std::size_t destinations);

  /// Starts an execution; `buffers` has the memory of all send buffers.
  void start(std::byte* buffers);
  /// Lets so many more blocks go to a destination; is_limited only.
  void allow(int rank, std::uint64_t blocks);
  /// Whether all has left that a destination was allowed.
  [[nodiscard]] bool has_sent(int rank) const;
  /// Waits for the next credit, while more are to come.
  void listen();
  /// Answers the credits that can be answered now; true when there was one.
  bool serve(LocalSlots& local);
  /// Stages the next message of one destination; false when there is none, or no buffer.
  bool stage_ahead(LocalSlots& local);
  /// A credit has come, or something that was sent has left.
  void handle(LocalSlots& local, const Event& event) {
    switch (event.kind) {
      case Event::Kind::credit: return credited(event.rank, event.credit);
      case Event::Kind::sent: return sent(local, event.index);
      case Event::Kind::signalled: --in_flight_; return;
      default: return;
    }
  }
  /// Whether a message on the way leaves `slot` free.
  [[nodiscard]] bool frees_soon(const LocalSlots& local, std::uint64_t slot) const;
  /// How many blocks of a flow have left their slots, from the first on.
  /// @param flow  Its index in Flows::outgoing.
  [[nodiscard]] std::uint64_t blocks_left_of(std::uint32_t flow) const {
    if (is_pulled(flow)) return pulls_->taken(flow);
    const Destination& destination = destinations_[outgoing_.index_of_flow(flow)];
    return destination.in_place ? destination.leaving : destination.staged;
  }
  /// Whether messages are on their way from here.
  [[nodiscard]] bool sends() const { return in_flight_ > 0; }
  /// Whether messages have something to do with what is left.
  [[nodiscard]] bool waits() const { return blocks_uncredited_ > 0 || sends(); }
  [[nodiscard]] bool done() const {
    return blocks_left_ == 0 && in_flight_ == 0 && (pulls_ == nullptr || !pulls_->are_left());
  }
  /// Bytes of scratch that hold blocks.
  [[nodiscard]] std::uint64_t bytes_in_use() const;

 private:
  /// Whether the destination of a flow takes its blocks itself.
  [[nodiscard]] bool is_pulled(std::size_t flow) const {
    return pulls_ != nullptr && pulls_->is_taken(flow);
  }

  static constexpr std::uint8_t none = 255;  ///< no message; there are at most 64 and 16
  static constexpr std::uint8_t most_on_the_way = schedule::most_credits_of_a_pair;
  static constexpr std::size_t unstaged_messages = most_on_the_way;
  /// Credits of ranks of the node that are kept and can be answered.
  static constexpr std::size_t most_node_credits = 16;

  struct Destination {
    std::uint32_t staged = 0;  ///< blocks gathered or handed to MPI, from the front of the flow
    std::uint32_t sent = 0;    ///< blocks handed to MPI
    std::array<std::uint16_t, schedule::most_credits_of_a_pair>
        credits{};                      ///< unanswered, oldest first, 0 for none
    std::uint8_t first_message = none;  ///< staged and not sent, oldest first
    std::uint8_t last_message = none;
    std::uint8_t on_the_way = 0;  ///< messages
    bool is_on_node = false;
    bool queued = false;        ///< for staging
    bool in_place = false;      ///< a message on the way is sent from the slots of its blocks
    std::uint32_t leaving = 0;  ///< the first of those blocks

    /// Whether its oldest credit can be answered.
    [[nodiscard]] bool has_turn() const {
      return credits[0] != 0 && on_the_way < (is_on_node ? 1 : most_on_the_way);
    }
  };

  /// Blocks staged in a buffer, or sent from where they are.
  struct SentMessage {
    std::uint32_t destination = 0;
    SlotIndex first = 0;  ///< in the flow
    std::uint32_t size = 0;
    std::uint32_t sent = 0;    ///< how many have been handed to MPI
    std::uint8_t next = none;  ///< staged later for the same destination
    bool in_place = false;     ///< sent from its slots, which are free once it has left
  };

  [[nodiscard]] bool stages() const { return sizes_.send_buffers > 0; }
  [[nodiscard]] bool goes_in_place(const LocalSlots& local, std::uint32_t destination,
                                   std::uint32_t size) const;
  [[nodiscard]] Vector<std::uint8_t>& idle_of(std::uint8_t message) {
    return message < sizes_.send_buffers ? idle_ : idle_unstaged_;
  }
  void queue_for_staging(std::uint32_t destination);
  [[nodiscard]] std::byte* buffer(std::uint8_t message) const;
  /// If anything may be sent, all that was credited for it may: the receiver was allowed the same
  /// blocks.
  [[nodiscard]] bool may_answer(std::uint32_t destination) const {
    return destinations_[destination].sent < outgoing_.limit(destination);
  }
  /// Credits of ranks of the node that are kept. Those that must wait come first, perhaps, and all
  /// of them: there is room for all, or this rank would never take the one that it can answer.
  [[nodiscard]] std::size_t node_credits_kept() const {
    return most_node_credits + most_ahead_ * schedule::most_credits_of_a_pair;
  }
  void credited(int rank, const Credit& credit);
  void sent(LocalSlots& local, std::size_t index);
  bool write_to_node(LocalSlots& local);
  [[nodiscard]] std::size_t next_to_serve() const;
  bool answer(LocalSlots& local, std::uint32_t destination, std::uint32_t size);
  void send_staged(LocalSlots& local, Destination& destination, std::uint32_t size);
  std::uint8_t take_message(Vector<std::uint8_t>& idle, std::uint32_t destination,
                            std::uint32_t size);
  void post(LocalSlots& local, std::uint8_t message, const std::byte* memory, std::uint32_t size);
  void post_in_place(LocalSlots& local, std::uint8_t message);
  void note_leaving(std::uint32_t destination);

  /// A credit of a rank of this node, to be answered by writing.
  struct NodeCredit {
    std::uint32_t destination = 0;
    Credit credit;
  };

  const plan::State& state_;
  const schedule::StreamSizes sizes_;
  CreditTransport& transport_;
  std::size_t block_bytes_;
  RingFlows<plan::Outgoing> outgoing_;
  Vector<Destination> destinations_;  ///< by index in outgoing_
  Vector<SentMessage> messages_;
  Vector<std::uint8_t> idle_;           ///< messages with a buffer, the most recently used last
  Vector<std::uint8_t> idle_unstaged_;  ///< the others, which are sent from the slots
  Vector<std::uint32_t> credited_;      ///< destinations whose oldest credit can be answered
  mpi::PieceList pieces_;
  schedule::ProportionalQueue to_stage_;
  std::byte* buffers_ = nullptr;
  std::size_t most_ahead_;
  const Pulls* pulls_;
  Vector<NodeCredit> node_credits_;
  std::uint64_t blocks_uncredited_ = 0;
  std::uint64_t blocks_left_ = 0;  ///< not handed to MPI
  std::size_t waiting_ = 0;        ///< messages with blocks that wait for a credit
  std::size_t in_flight_ = 0;      ///< requests
};

}  // namespace valet::engine
