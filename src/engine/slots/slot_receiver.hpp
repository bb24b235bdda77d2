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

/// The sink of exchanges between slots, on one rank: reserves places for what arrives, gives
/// credits in proportion, and brings arrivals to their slots.
class SlotReceiver {
 public:
  /// @param is_limited  Credits are given up to what allow() says, not for whole flows.
  SlotReceiver(const ExchangeContext& context, const plan::Flows& flows,
               const schedule::StreamSizes& sizes, CreditTransport& transport, bool is_limited);
  /// Receive slots that it needs of a transport.
  [[nodiscard]] static std::size_t receives(const Options& options) {
    return static_cast<std::size_t>(options.stream.window);
  }

  /// Starts an execution; `buffers` has the memory of all receive buffers.
  void start(std::byte* buffers);
  /// Lets so many more blocks of a source come, at most `increment` in a message; is_limited only.
  void allow(int rank, std::uint64_t blocks, std::uint64_t increment);
  /// Whether all has arrived that a source was allowed.
  [[nodiscard]] bool has_received(int rank) const;
  /// Gives one credit if there is room for what it asks; true when it did.
  bool give_credit(Transfer& transfer);
  /// Brings blocks that wait in buffers to final slots that became free; true when a buffer became
  /// idle.
  /// @param sending  This rank still sends, so final slots may yet become free. Else other slots
  ///                 will do.
  bool place_held(Transfer& transfer, bool sending);
  /// Whether blocks wait for their final slots in the last buffer of a kind, or with the last
  /// request, and could go to other slots. They have to when nothing completes: the exchange must
  /// go on.
  [[nodiscard]] bool is_full(const Transfer& transfer) const;
  /// Brings those blocks to other slots, which costs a local copy each.
  void misplace_held(Transfer& transfer);
  /// Whether a buffer holds a block whose final slot `frees_soon(slot)`. Credits then can wait: a
  /// rank whose arrivals run ahead of its departures would only fill buffers, which then are not in
  /// the cache any more.
  template <class FreesSoon>
  [[nodiscard]] bool better_waits(FreesSoon&& frees_soon) const {
    if (held_ == 0) return false;
    return std::ranges::any_of(posted_, [&](const PostedReceive& posted) {
      return posted.arrived && frees_soon(flows_.final_run(posted.cursor, 1).first);
    });
  }
  /// The message of a receive slot is there.
  void received(Transfer& transfer, std::size_t index);
  [[nodiscard]] bool done() const { return blocks_left_ == 0; }
  /// Bytes of scratch that hold blocks, or wait for them.
  [[nodiscard]] std::uint64_t bytes_in_use() const;

 private:
  struct Source {
    std::uint32_t credited = 0;
    SlotIndex cursor = 0;  ///< at the next block to credit
    std::uint8_t in_flight = 0;
    bool on_node = false;  ///< writes into the buffers of our segment
  };

  /// Where the blocks of a credit land.
  enum class Place : std::uint8_t {
    none,         ///< nowhere: no room
    final_run,    ///< free slots that are their final ones
    other_run,    ///< other free slots
    buffer,       ///< a receive buffer
    node_buffer,  ///< a buffer that the source writes to
  };
  struct PostedReceive {
    Place place = Place::none;
    std::uint32_t source = 0;
    std::uint32_t buffer = 0;
    SlotIndex cursor = 0;      ///< at the first block that is not in a slot
    std::uint32_t size = 0;    ///< blocks that are not in a slot
    std::uint32_t offset = 0;  ///< where they begin in the buffer
    storage::SlotRun run;
    bool arrived = false;
    [[nodiscard]] bool is_buffered() const {
      return place == Place::buffer || place == Place::node_buffer;
    }
  };

  void queue_for_credit(std::uint32_t source);
  [[nodiscard]] std::byte* memory_of(const PostedReceive& posted) const;
  [[nodiscard]] Vector<std::uint32_t>& idle_of(const PostedReceive& posted) {
    return posted.place == Place::buffer ? idle_buffers_ : idle_node_buffers_;
  }
  [[nodiscard]] std::size_t idle_receive() const;
  PostedReceive choose_receive(const Transfer& transfer, std::uint32_t source) const;
  PostedReceive choose_node_buffer(std::uint32_t source) const;
  [[nodiscard]] bool must_misplace(const PostedReceive& posted) const;
  void post(Transfer& transfer, std::size_t index);
  bool place_arrivals(Transfer& transfer, PostedReceive& posted, Transfer::Misplace misplace);

  const ExchangeContext context_;
  const plan::Flows& flows_;
  const schedule::StreamSizes sizes_;
  CreditTransport& transport_;
  std::size_t block_bytes_;
  RingFlows<plan::Incoming> incoming_;
  Vector<Source> sources_;              ///< by place in incoming_
  Vector<PostedReceive> posted_;        ///< by receive slot
  Vector<std::uint32_t> idle_buffers_;  ///< the most recently used last
  Vector<std::uint32_t> idle_node_buffers_;
  schedule::ProportionalQueue to_credit_;
  std::byte* buffers_ = nullptr;
  std::uint64_t blocks_left_ = 0;                  ///< not in a slot
  std::uint64_t most_blocks_ = ~std::uint64_t{0};  ///< in a message, where that is limited
  std::size_t held_ = 0;  ///< posted receives that arrived and wait for slots
};

}  // namespace valet::engine
