// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "engine/credit_transport.hpp"
#include "engine/exchange.hpp"
#include "engine/slots/ring_flows.hpp"
#include "schedule/proportional_queue.hpp"
#include "schedule/stream_sizes.hpp"

#include <algorithm>
#include <cstdint>

namespace valet::engine {

/// The sink of exchanges between slots, on one rank: reserves slots or buffers for what arrives,
/// gives credits in proportion, and brings arrivals to their slots.
class SlotReceiver {
 public:
  /// @param is_limited  Credits are given up to what allow() says, not for whole flows.
  SlotReceiver(const plan::State& state, const schedule::StreamSizes& sizes,
               CreditTransport& transport, bool is_limited)
      : state_(state),
        sizes_(sizes),
        transport_(transport),
        block_bytes_(state.blocks.block_bytes),
        incoming_(state.ledger, state.flows.incoming, state.channel.rank(), is_limited),
        sources_(state.flows.incoming.size(), Source{}, state.ledger),
        posted_(receives(state.options), PostedReceive{}, state.ledger),
        idle_buffers_(state.ledger),
        idle_node_buffers_(state.ledger),
        to_credit_(state.ledger, state.flows.incoming.size()) {
    idle_buffers_.reserve(sizes.receive_buffers);
    idle_node_buffers_.reserve(sizes.node_buffers);
  }
  /// Receive requests that it needs of a transport.
  [[nodiscard]] static std::size_t receives(const Options& options) {
    return static_cast<std::size_t>(options.stream.window);
  }

  /// Starts an execution; `buffers` has the memory of all receive buffers.
  void start(std::byte* buffers) {
    buffers_ = buffers;
    blocks_left_ = state_.flows.blocks_arriving;
    const auto list_all = [](Vector<std::uint32_t>& idle, std::size_t count) {
      idle.clear();
      while (count > 0) idle.push_back(static_cast<std::uint32_t>(--count));
    };
    list_all(idle_buffers_, sizes_.receive_buffers);
    list_all(idle_node_buffers_, sizes_.node_buffers);
    to_credit_.clear();
    incoming_.allow_nothing();
    for (std::uint32_t s = 0; s < incoming_.size(); ++s) {
      const plan::Incoming& flow = incoming_[s];
      sources_[s] = Source{0, flow.cursor, 0, transport_.node().is_written_by(flow.rank),
                           state_.asked_of(flow)};
      queue_for_credit(s);
    }
  }
  /// Lets so many more blocks of a source come, at most `message_blocks` in a message; is_limited
  /// only.
  void allow(int rank, std::uint64_t blocks, std::uint64_t message_blocks) {
    most_blocks_ = message_blocks;
    const std::uint32_t s = incoming_.index_of(rank);
    const bool is_queued = sources_[s].credited < incoming_.limit(s) &&
                           sources_[s].in_flight < sources_[s].asked.credits;
    incoming_.allow(s, blocks);
    if (!is_queued) queue_for_credit(s);
  }
  /// Whether all has arrived that a source was allowed.
  [[nodiscard]] bool has_received(int rank) const {
    const std::uint32_t s = incoming_.index_of(rank);
    return sources_[s].in_flight == 0 && sources_[s].credited == incoming_.limit(s);
  }
  /// Gives one credit if there is room for what it asks; true when it did.
  bool give_credit(LocalSlots& local) {
    if (to_credit_.empty()) return false;
    const std::size_t index = idle_receive();
    if (index == posted_.size()) return false;
    const std::uint32_t s = to_credit_.top();
    const PostedReceive posted = choose_receive(local, s);
    if (posted.into == Into::none) return false;
    to_credit_.pop();
    posted_[index] = posted;
    post(local, index);
    Source& source = sources_[s];
    source.credited = static_cast<std::uint32_t>(source.credited + posted.size);
    source.cursor = state_.flows.advance(source.cursor, posted.size);
    ++source.in_flight;
    queue_for_credit(s);
    return true;
  }
  /// Brings blocks that wait in buffers to final slots that became free; true when a buffer became
  /// idle.
  /// @param sending  This rank still sends, so final slots may yet become free. Else other slots
  ///                 will do.
  bool store_held(LocalSlots& local, bool sending) {
    using Misplace = LocalSlots::Misplace;
    bool any = false;
    for (const Misplace misplace : {Misplace::never, Misplace::if_needed}) {
      if (misplace == Misplace::if_needed && sending) break;
      for (PostedReceive& posted : posted_) {
        if (held_ == 0 || local.free().count() == 0) return any;
        if (!posted.arrived || !store_arrivals(local, posted, misplace)) continue;
        --held_;
        any = true;
      }
    }
    return any;
  }
  /// Whether blocks wait for their final slots in the last buffer of a kind, or with the last
  /// request, and could go to other slots. They have to when nothing completes: the exchange must
  /// go on.
  [[nodiscard]] bool is_full(const LocalSlots& local) const {
    return held_ > 0 && local.free().count() > 0 &&
           std::ranges::any_of(posted_,
                               [&](const PostedReceive& posted) { return must_misplace(posted); });
  }
  /// Brings those blocks to other slots, which costs a local copy each.
  void misplace_held(LocalSlots& local) {
    for (PostedReceive& posted : posted_)
      if (local.free().count() > 0 && must_misplace(posted) &&
          store_arrivals(local, posted, LocalSlots::Misplace::if_needed))
        --held_;
  }
  /// Whether a buffer holds a block whose final slot `frees_soon(slot)`. Credits then can wait: a
  /// rank whose arrivals run ahead of its departures would only fill buffers, which then are not in
  /// the cache any more.
  template <class FreesSoon>
  [[nodiscard]] bool better_waits(FreesSoon&& frees_soon) const {
    if (held_ == 0) return false;
    return std::ranges::any_of(posted_, [&](const PostedReceive& posted) {
      return posted.arrived && frees_soon(state_.flows.final_run(posted.cursor, 1).first);
    });
  }
  /// The message of a receive request is there.
  void received(LocalSlots& local, std::size_t index) {
    PostedReceive& posted = posted_[index];
    state_.observer.moved(posted.size);
    Source& source = sources_[posted.source];
    const bool was_queued = source.in_flight < source.asked.credits;
    --source.in_flight;
    if (!was_queued) queue_for_credit(posted.source);
    if (posted.is_buffered()) {
      posted.arrived = true;
      if (!store_arrivals(local, posted, LocalSlots::Misplace::never)) ++held_;
      return;
    }
    if (posted.into == Into::other_run) local.landed(posted.cursor, posted.run);
    blocks_left_ -= posted.size;
    posted.into = Into::none;
  }
  [[nodiscard]] bool done() const { return blocks_left_ == 0; }
  /// Bytes of scratch that hold blocks, or wait for them.
  [[nodiscard]] std::uint64_t bytes_in_use() const {
    std::uint64_t blocks = 0;
    for (const PostedReceive& posted : posted_)
      if (posted.is_buffered()) blocks += posted.size;
    return blocks * block_bytes_;
  }

 private:
  struct Source {
    std::uint32_t credited = 0;
    SlotIndex cursor = 0;  ///< at the next block to credit
    std::uint8_t in_flight = 0;
    bool on_node = false;  ///< writes into the buffers of our shared memory
    schedule::Asked asked;
  };

  /// Where the blocks of a credit land.
  enum class Into : std::uint8_t {
    none,         ///< nowhere: no room
    final_run,    ///< free slots that are their final ones
    other_run,    ///< other free slots
    buffer,       ///< a receive buffer
    node_buffer,  ///< a buffer that the source writes to
  };
  struct PostedReceive {
    Into into = Into::none;
    std::uint32_t source = 0;
    std::uint32_t buffer = 0;
    SlotIndex cursor = 0;      ///< at the first block that is not in a slot
    std::uint32_t size = 0;    ///< blocks that are not in a slot
    std::uint32_t offset = 0;  ///< where they begin in the buffer
    storage::SlotRun run;
    bool arrived = false;
    [[nodiscard]] bool is_buffered() const {
      return into == Into::buffer || into == Into::node_buffer;
    }
  };

  void queue_for_credit(std::uint32_t s) {
    if (sources_[s].credited < incoming_.limit(s) &&
        sources_[s].in_flight < sources_[s].asked.credits)
      to_credit_.push(s, sources_[s].credited, incoming_[s].count);
  }
  [[nodiscard]] std::byte* memory_of(const PostedReceive& posted) const {
    return posted.into == Into::node_buffer
               ? transport_.node().own().data() + posted.buffer * sizes_.node_buffer_bytes
               : buffers_ + posted.buffer * sizes_.receive_blocks * block_bytes_;
  }
  [[nodiscard]] Vector<std::uint32_t>& idle_of(const PostedReceive& posted) {
    return posted.into == Into::buffer ? idle_buffers_ : idle_node_buffers_;
  }
  /// A receive request that is not in use and whose last credit has left; posted_.size() if there
  /// is none.
  [[nodiscard]] std::size_t idle_receive() const {
    for (std::size_t k = 0; k < posted_.size(); ++k)
      if (posted_[k].into == Into::none && transport_.can_receive(k)) return k;
    return posted_.size();
  }
  PostedReceive choose_receive(const LocalSlots& local, std::uint32_t s) const {
    const Source& source = sources_[s];
    const std::uint64_t allowed = std::min(incoming_.limit(s) - source.credited, most_blocks_);
    PostedReceive posted;
    posted.source = s;
    posted.cursor = source.cursor;
    const auto land = [&](Into into, storage::SlotRun run) {
      posted.into = into;
      posted.run = run;
      posted.size = static_cast<std::uint32_t>(run.count);
      return posted;
    };
    if (source.on_node) {
      if (idle_node_buffers_.empty()) return posted;
      posted.buffer = idle_node_buffers_.back();
      return land(Into::node_buffer, storage::SlotRun{0, std::min(allowed, sizes_.node_blocks)});
    }
    const std::uint64_t of_message = incoming_[s].message_blocks;
    const std::uint64_t most =
        std::min({allowed, of_message - source.credited % of_message, source.asked.blocks});
    const bool contiguous = local.backend().contiguous_data() != nullptr;
    const storage::SlotSet& free = local.free();
    storage::SlotRun final_run;
    if (contiguous) {
      final_run = state_.flows.final_run(source.cursor, most);
      final_run.count = free.contains(final_run.first)
                            ? free.next_run(final_run.first, final_run.count).count
                            : 0;
      if (final_run.count == most || final_run.count * block_bytes_ >= schedule::worthwhile_bytes)
        return land(Into::final_run, final_run);
    }
    const std::uint64_t buffered =
        idle_buffers_.empty() ? 0 : std::min<std::uint64_t>(most, sizes_.receive_blocks);
    if (contiguous && final_run.count > 0 && final_run.count >= buffered)
      return land(Into::final_run, final_run);
    if (contiguous && free.count() > 0 && 4 * buffered <= most) {
      // The buffers are tiny or busy: a run of other slots saves messages and costs local copies.
      const std::uint64_t highest = free.previous(free.slots());
      const storage::SlotRun other = free.next_run(highest - std::min(highest, most - 1), most);
      if (other.count > buffered) return land(Into::other_run, other);
    }
    if (buffered == 0) return posted;
    posted.buffer = idle_buffers_.back();
    return land(Into::buffer, storage::SlotRun{0, buffered});
  }
  [[nodiscard]] bool must_misplace(const PostedReceive& posted) const {
    if (!posted.arrived) return false;
    if (held_ == posted_.size()) return true;
    return posted.into == Into::buffer ? idle_buffers_.empty() : idle_node_buffers_.empty();
  }
  void post(LocalSlots& local, std::size_t index) {
    const PostedReceive& posted = posted_[index];
    std::byte* memory = nullptr;
    if (posted.is_buffered()) {
      idle_of(posted).pop_back();
      memory = memory_of(posted);
      local.finish(memory, posted.size * block_bytes_);
    } else {
      local.backend().finish_all();  // the slots may be packed from still
      local.reserve(posted.run);
      memory = local.backend().contiguous_data() + posted.run.first * block_bytes_;
    }
    transport_.give(index, incoming_[posted.source].rank, memory, posted.size * block_bytes_,
                    {.count = static_cast<std::uint32_t>(posted.size)});
  }
  /// Moves blocks of a buffer to slots; true when none is left.
  bool store_arrivals(LocalSlots& local, PostedReceive& posted, LocalSlots::Misplace misplace) {
    const std::uint64_t stored = local.store(memory_of(posted) + posted.offset * block_bytes_,
                                             posted.cursor, posted.size, misplace);
    blocks_left_ -= stored;
    posted.cursor = state_.flows.advance(posted.cursor, stored);
    posted.offset = static_cast<std::uint32_t>(posted.offset + stored);
    posted.size = static_cast<std::uint32_t>(posted.size - stored);
    if (posted.size > 0) return false;
    Vector<std::uint32_t>& idle = idle_of(posted);
    // The host takes the one used last, which is in its cache. Kernels may read that one still, so
    // there it is taken last.
    idle.insert(state_.blocks.reachable_by_host ? idle.end() : idle.begin(), posted.buffer);
    posted = PostedReceive{};
    return true;
  }

  const plan::State& state_;
  const schedule::StreamSizes sizes_;
  CreditTransport& transport_;
  std::size_t block_bytes_;
  RingFlows<plan::Incoming> incoming_;
  Vector<Source> sources_;              ///< by index in incoming_
  Vector<PostedReceive> posted_;        ///< by receive request
  Vector<std::uint32_t> idle_buffers_;  ///< the most recently used last
  Vector<std::uint32_t> idle_node_buffers_;
  schedule::ProportionalQueue to_credit_;
  std::byte* buffers_ = nullptr;
  std::uint64_t blocks_left_ = 0;                  ///< not in a slot
  std::uint64_t most_blocks_ = ~std::uint64_t{0};  ///< in a message, where that is limited
  std::size_t held_ = 0;  ///< posted receives that arrived and wait for slots
};

}  // namespace valet::engine
