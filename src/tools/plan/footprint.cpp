// SPDX-License-Identifier: BSD-3-Clause
#include "tools/plan/footprint.hpp"

#include "base/sizes.hpp"
#include "engine/ordered/ordered_receiver.hpp"
#include "engine/slots/slot_sender.hpp"
#include "mpi/sparse_exchange.hpp"
#include "plan/map_counts.hpp"
#include "plan/stream_limits.hpp"
#include "schedule/grains.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace valet::engine {
namespace {

/// Bytes of a list of `size` entries that was appended to one by one.
constexpr std::uint64_t grown_bytes(std::size_t size, std::size_t entry) {
  return size == 0 ? 0 : std::bit_ceil(size) * entry;
}

/// Slots and ranks of the flows.
std::uint64_t list_bytes(const plan::Flows& flows) {
  return flows.outgoing.size() * sizeof(plan::Outgoing) +
         flows.incoming.size() * sizeof(plan::Incoming);
}

std::uint64_t index_bytes(const plan::Flows& flows) {
  return (flows.exports.size() + flows.resident_from.size() + flows.resident_to.size()) *
         sizeof(SlotIndex);
}

/// The moments of planning at which something was just added (plan/planner.cpp). One that is never
/// the largest is left out.
std::vector<FootprintParts> moments_of_planning(const plan::Flows& flows) {
  using plan::DestinationCounts;
  using schedule::GrainOrder;
  const std::size_t to = flows.outgoing.size(), from = flows.incoming.size();
  const std::uint64_t bitmap = storage::SlotSet::bytes_for(flows.slots);
  const std::uint64_t counts = DestinationCounts::bytes_for(to);
  const std::uint64_t sources = grown_bytes(from, sizeof(mpi::SparseCount));
  const std::uint64_t moved = flows.resident_from.size() * sizeof(SlotIndex);
  const std::uint64_t order_of_holes = moved > 0 ? GrainOrder::bytes_for(to) : 0;
  return {
      // What is sent is counted.
      {{"slots that are free, now and later", 2 * bitmap},
       {"blocks of each destination", DestinationCounts::bytes_to_grow(to)}},
      // The counts are exchanged; the list of sources has just grown.
      {{"slots that are free, now and later", 2 * bitmap},
       {"blocks of each destination", counts + to * sizeof(mpi::SparseCount)},
       {"blocks of each source", sources + (from > 1 ? sources / 2 : 0)},
       {"requests", mpi::sparse_exchange_bytes()}},
      // The exports have just been sorted.
      {{"slots that are free, now and later", 2 * bitmap},
       {"blocks of each destination", counts + DestinationCounts::bytes_to_grow(to)},
       {"blocks of each source", sources},
       {"flows", to * sizeof(plan::Outgoing)},
       {"slots of blocks that leave", flows.exports.size() * sizeof(SlotIndex)}},
      // The order of the grains is worked out.
      {{"slots that are free, now and later", 2 * bitmap},
       {"blocks of each destination", counts},
       {"blocks of each source", sources},
       {"flows", list_bytes(flows)},
       {"slots of blocks that leave or change their slot", index_bytes(flows)},
       {"order of the grains",
        std::max(order_of_holes, GrainOrder::bytes_for(to) + GrainOrder::bytes_for(from))}},
  };
}

FootprintParts moving_parts(const Options& options, const BlockTraits& blocks,
                            const plan::Flows& flows) {
  const schedule::OrderedSizes sizes = schedule::ordered_sizes(
      plan::stream_limits(options, blocks, flows), flows.any.in_wait, flows.any.shift);
  const CreditTransport::Slots requests{.receives = OrderedReceiver::receives(options, flows),
                                        .sends = SlotSender::sends(sizes.messages),
                                        .signals = SlotSender::signals};
  const std::uint64_t scratch_blocks =
      OrderedReceiver::scratch_blocks_of(flows, sizes) + sizes.send_blocks();
  return {
      {"slots that are free", storage::SlotSet::bytes_for(flows.slots)},
      {"slots of blocks that leave or change their slot", index_bytes(flows)},
      {"flows", list_bytes(flows)},
      {"requests and credits", CreditTransport::state_bytes(requests)},
      {"receiver", OrderedReceiver::state_bytes(options, blocks, flows, sizes, 0)},
      {"sender", SlotSender::state_bytes(blocks, sizes.messages, flows.outgoing.size())},
      {"scratch", scratch_bytes_of(options, blocks, scratch_blocks) + detail::cache_line_bytes}};
}

}  // namespace

std::uint64_t sum_of(const FootprintParts& parts) {
  return std::accumulate(
      parts.begin(), parts.end(), std::uint64_t{0},
      [](std::uint64_t sum, const FootprintPart& part) { return sum + part.bytes; });
}

Footprint footprint_of(const Options& options, const BlockTraits& blocks,
                       const plan::Flows& flows) {
  const schedule::StreamLimits limits = plan::stream_limits(options, blocks, flows);
  return {limits.waiting < schedule::room_to_wait(limits),
          std::ranges::max(moments_of_planning(flows), {}, sum_of),
          moving_parts(options, blocks, flows)};
}

}  // namespace valet::engine
