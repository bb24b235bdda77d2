// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/exchange/exchange.hpp>
#include <valet/exchange/grant.hpp>
#include <valet/mpi/requests.hpp>
#include <valet/schedule/proportional_queue.hpp>
#include <valet/schedule/stream_sizes.hpp>

#include <algorithm>
#include <cstdint>

namespace valet {

/// The receiving half of STREAM on one rank: reserves places, posts receives, grants, and brings
/// arrivals to their slots.
template <class Index>
class StreamReceiver {
 public:
  /// Uses places_needed() places of `requests`, from `first_place` on.
  StreamReceiver(const ExchangeContext& context, const Flows<Index>& flows,
                 const schedule::StreamSizes& sizes, mpi::Requests& requests,
                 std::size_t first_place);
  [[nodiscard]] static std::size_t places_needed(const Options& options);

  /// Starts an execution; `buffers` has the memory of all receive buffers.
  void start(std::byte* buffers);
  /// Sends one grant if there is room for what it asks; true when it did.
  bool grant(Transfer<Index>& transfer, Report& report);
  /// Brings blocks that wait in buffers to final slots that became free; true when a buffer became
  /// idle.
  /// @param sending  This rank still sends, so final slots may yet become free. Else other slots
  ///                 will do.
  bool place_held(Transfer<Index>& transfer, bool sending);
  /// Whether blocks wait for their final slots in the last buffer of a kind, or with the last
  /// request, and could go to other slots. They have to when nothing completes: the exchange must
  /// go on.
  [[nodiscard]] bool is_full(const Transfer<Index>& transfer) const;
  /// Brings those blocks to other slots, which costs a local copy each.
  void misplace_held(Transfer<Index>& transfer);
  /// Whether a buffer holds a block whose final slot `frees_soon(slot)`. Grants then can wait: a
  /// rank whose arrivals run ahead of its departures would only fill buffers, which then are not in
  /// the cache any more.
  template <class FreesSoon>
  [[nodiscard]] bool better_waits(FreesSoon&& frees_soon) const {
    if (held_ == 0) return false;
    return std::any_of(landings_.begin(), landings_.end(), [&](const Landing& landing) {
      return landing.arrived && frees_soon(flows_.final_run(landing.cursor, 1).first);
    });
  }
  /// Takes note that the request at `place` completed.
  void completed(Transfer<Index>& transfer, std::size_t place);
  [[nodiscard]] bool done() const { return blocks_left_ == 0; }
  /// Bytes of scratch that hold blocks, or wait for them.
  [[nodiscard]] std::uint64_t bytes_in_use() const;

 private:
  struct Source {
    Index granted = 0;
    Index cursor = 0;  ///< of the next block to grant
    std::uint8_t in_flight = 0;
    bool on_node = false;  ///< writes into the buffers of our segment
  };

  /// Where the blocks of a grant land.
  enum class Place : std::uint8_t {
    none,         ///< nowhere: no room
    final_run,    ///< free slots that are their final ones
    other_run,    ///< other free slots
    buffer,       ///< a receive buffer
    node_buffer,  ///< a buffer that the source writes to
  };
  struct Landing {
    Place place = Place::none;
    std::uint32_t source = 0;
    std::uint32_t buffer = 0;
    Index cursor = 0;  ///< of the first block that is not in a slot
    Index size = 0;    ///< blocks that are not in a slot
    Index offset = 0;  ///< of them in the buffer
    SlotRun run;
    bool arrived = false;
  };

  [[nodiscard]] const Incoming<Index>& flow(std::uint32_t source) const;
  [[nodiscard]] std::byte* memory_of(const Landing& landing) const;
  [[nodiscard]] std::size_t idle_landing() const;
  Landing choose_landing(const Transfer<Index>& transfer, std::uint32_t source) const;
  Landing choose_node_buffer(std::uint32_t source) const;
  [[nodiscard]] bool must_misplace(const Landing& landing) const;
  void post(Transfer<Index>& transfer, std::size_t index);
  bool place_arrivals(Transfer<Index>& transfer, Landing& landing,
                      typename Transfer<Index>::Misplace misplace);

  const ExchangeContext context_;
  const Flows<Index>& flows_;
  const schedule::StreamSizes sizes_;
  mpi::Requests& requests_;
  std::size_t first_place_;
  std::size_t block_bytes_;
  std::size_t first_flow_;              ///< of the lowest rank above the own one
  Vector<Source> sources_;              ///< in ring order from the own rank
  Vector<Landing> landings_;            ///< one per place for data
  Vector<std::uint64_t> grants_;        ///< the messages, one per landing
  Vector<std::uint32_t> idle_buffers_;  ///< the most recently used last
  Vector<std::uint32_t> idle_node_buffers_;
  schedule::ProportionalQueue to_grant_;
  std::byte* buffers_ = nullptr;
  std::uint64_t blocks_left_ = 0;  ///< not in a slot
  std::size_t held_ = 0;           ///< landings that arrived and wait for slots
};

}  // namespace valet
