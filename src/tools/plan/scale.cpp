// SPDX-License-Identifier: BSD-3-Clause
#include "scale.hpp"

#include "base/promise.hpp"
#include "base/sizes.hpp"
#include "engine/ordered/ordered_receiver.hpp"
#include "engine/slots/slot_sender.hpp"
#include "mpi/sparse_exchange.hpp"
#include "plan/any_order.hpp"
#include "plan/flows.hpp"
#include "plan/map_counts.hpp"
#include "plan/stream_limits.hpp"
#include "schedule/grains.hpp"
#include "schedule/stream_sizes.hpp"
#include "tools/errors.hpp"
#include <valet/ledger.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

namespace valet::plan {
namespace {

using tools::refuse;
using Index = std::uint32_t;

/// One structure, or a few that belong together.
struct Part {
  const char* name;
  std::uint64_t bytes;
};
/// What is there at one moment.
using Parts = std::vector<Part>;

std::uint64_t sum_of(const Parts& parts) {
  std::uint64_t sum = 0;
  for (const Part& part : parts) sum += part.bytes;
  return sum;
}

constexpr std::uint32_t most_ranks = 1'000'000'000;  // distances are sums of two ranks, as int

/// What a reduction of planning carries at most (mpi::Agreement).
constexpr double bytes_of_reduction = 64 * sizeof(std::int64_t);

Options options_of(const ScaleOptions& options) {
  Options chosen;
  chosen.method = Method::stream;
  chosen.budget_bytes = options.budget_bytes;
  chosen.share_memory = chosen.keep_memory = false;
  return chosen;
}

BlockTraits blocks_of(const ScaleOptions& options) {
  return {.block_bytes = options.block_bytes, .pieces_per_block = 1, .reachable_by_mpi = true};
}

/// Neighbours are numbered by distance: one ahead, one behind, two ahead and so on.
std::uint32_t distance_to(const ScaleOptions& options, std::uint32_t neighbour) {
  const std::uint32_t distance = neighbour / 2 + 1;
  return neighbour % 2 == 0 ? distance : options.ranks - distance;
}

std::uint64_t blocks_for(const ScaleOptions& options, std::uint32_t neighbour) {
  return options.blocks / options.neighbours +
         (neighbour < options.blocks % options.neighbours ? 1 : 0);
}

/// Ranks and the numbers of the neighbours that they are, ascending by rank.
std::vector<std::pair<std::uint32_t, std::uint32_t>> peers(const ScaleOptions& options,
                                                           bool that_send) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> found;
  for (std::uint32_t n = 0; n < options.neighbours; ++n) {
    const std::uint32_t ahead = distance_to(options, n);
    found.emplace_back(that_send ? options.ranks - ahead : ahead, n);
  }
  std::ranges::sort(found);
  return found;
}

/// Bytes of a list of `size` entries that was appended to one by one.
constexpr std::uint64_t grown_bytes(std::size_t size, std::size_t entry) {
  return size == 0 ? 0 : std::bit_ceil(size) * entry;
}

/// Slots and ranks of the flows.
std::uint64_t list_bytes(const Flows& flows) {
  return flows.outgoing.size() * sizeof(Outgoing) + flows.incoming.size() * sizeof(Incoming);
}

std::uint64_t index_bytes(const Flows& flows) {
  return (flows.exports.size() + flows.resident_from.size() + flows.resident_to.size()) *
         sizeof(SlotIndex);
}

/// The moments of planning at which something was just added (plan/planner.cpp). One that is never
/// the largest is left out.
std::vector<Parts> moments_of_planning(const Flows& flows) {
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
       {"flows", to * sizeof(Outgoing)},
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

/// What is there while data moves; scratch is the last of it.
Parts moving_parts(const Options& options, const BlockTraits& blocks, const Flows& flows) {
  const schedule::OrderedSizes sizes = schedule::ordered_sizes(
      stream_limits(options, blocks, flows), flows.any.in_wait, flows.any.shift);
  const engine::CreditTransport::RequestCounts requests{
      .receives = engine::OrderedReceiver::receives(options, flows),
      .sends = engine::SlotSender::sends(sizes.messages),
      .signals = engine::SlotSender::signals};
  const std::uint64_t scratch_blocks =
      engine::OrderedReceiver::scratch_blocks_of(flows, sizes) + sizes.send_blocks();
  return {
      {"slots that are free", storage::SlotSet::bytes_for(flows.slots)},
      {"slots of blocks that leave or change their slot", index_bytes(flows)},
      {"flows", list_bytes(flows)},
      {"requests and credits", engine::CreditTransport::state_bytes(requests)},
      {"receiver", engine::OrderedReceiver::state_bytes(options, blocks, flows, sizes, 0)},
      {"sender", engine::SlotSender::state_bytes(blocks, sizes.messages, flows.outgoing.size())},
      {"scratch",
       engine::scratch_bytes_of(options, blocks, scratch_blocks) + detail::cache_line_bytes}};
}

tools::Case parts_of(const Parts& parts) {
  tools::Case rows = tools::Case::array();
  for (const Part& part : parts) rows.push_back({{"bytes", part.bytes}, {"part", part.name}});
  return rows;
}

void check(const ScaleOptions& options) {
  if (options.ranks < 2 || options.ranks > most_ranks)
    refuse("--ranks is ", options.ranks, ": with --neighbours give a number of ranks from 2 to ",
           most_ranks);
  if (options.neighbours >= options.ranks)
    refuse("--neighbours is ", options.neighbours, ", but of ", options.ranks,
           " ranks one has at most ", options.ranks - 1, " others: give fewer, or more --ranks");
  if (options.neighbours % 2 != 0 && options.neighbours + 1 != options.ranks)
    refuse("--neighbours is ", options.neighbours,
           ": half of them are ahead of a rank and half behind it; give an even number, or ",
           options.ranks - 1, " for all others");
  if (options.blocks < options.neighbours || options.blocks > (std::uint64_t{1} << 31))
    refuse("--blocks is ", options.blocks,
           ": with --neighbours it is the number of blocks of a rank, at least one for each "
           "neighbour and at most 2^31");
  if (options.block_bytes == 0 || options.block_bytes > (std::uint64_t{1} << 40))
    refuse("--block-bytes is ", options.block_bytes, ": give 1 byte to 2^40 bytes");
  if (options.budget_bytes < options.block_bytes)
    refuse("--budget is ", options.budget_bytes,
           " bytes, less than a block: give at least --block-bytes, ", options.block_bytes);
  if (!(options.latency_seconds > 0) || !std::isfinite(options.latency_seconds))
    refuse("--latency must be seconds above 0, for example 2e-6");
  if (!(options.bandwidth > 0) || !std::isfinite(options.bandwidth))
    refuse("--bandwidth must be bytes a second above 0, for example 1e10");
}

/// The flows of a rank, as planning makes them. The rank is 0; all are alike. Takes the memory that
/// planning takes.
Flows flows_of(Ledger& ledger, const ScaleOptions& options) {
  Flows flows(ledger);
  flows.form = Form::any;
  flows.slots = flows.blocks_before = options.blocks;
  flows.initially_free = storage::SlotSet(ledger, options.blocks);
  flows.any.grain = schedule::grain_blocks(options.block_bytes, options.neighbours);
  flows.any.ranks = static_cast<int>(options.ranks);
  flows.outgoing.reserve(options.neighbours);
  flows.exports = Array<Index>(ledger, options.blocks);
  Index first = 0;
  for (const auto& [rank, n] : peers(options, false)) {
    const auto count = static_cast<Index>(blocks_for(options, n));
    flows.outgoing.push_back({static_cast<int>(rank), count, first});
    for (Index k = 0; k < count; ++k) flows.exports[first + k] = n + k * options.neighbours;
    first += count;
  }
  schedule::StreamLimits limits =
      schedule::limits_of(options_of(options), blocks_of(options), options.blocks, 0);
  limits.destinations = options.neighbours;
  limits.largest_sent = blocks_for(options, 0);
  const std::uint64_t message = schedule::stream_sizes(limits).send_blocks;
  flows.message_blocks = message;
  flows.incoming.reserve(options.neighbours);
  for (const auto& [rank, n] : peers(options, true))
    flows.add_incoming(static_cast<int>(rank), blocks_for(options, n), message);
  storage::SlotSet holes(ledger, options.blocks);
  holes.insert(storage::SlotRun{0, options.blocks});
  complete_any_order(ledger, flows, holes, options.block_bytes);
  return flows;
}

/// How long planning takes by the alpha-beta model: reductions and barriers by recursive doubling,
/// one latency a level; a round trip for as many counts as are received at a time; the map read
/// twice. Nothing for the processor's time for a message. At least two reductions and a barrier.
tools::Case time_of(const ScaleOptions& options) {
  const auto levels = static_cast<std::uint32_t>(std::bit_width(options.ranks - 1));
  constexpr std::uint32_t rounds = reductions_of_plan + barriers_of_plan;
  const double level = options.latency_seconds + bytes_of_reduction / options.bandwidth;
  const double collective = rounds * levels * level;
  // Counts are acknowledged, so many at a time.
  constexpr auto at_once = static_cast<std::uint32_t>(mpi::sparse_counts_at_once);
  const std::uint32_t round_trips = (options.neighbours + at_once - 1) / at_once;
  const double neighbours = 2 * options.latency_seconds * round_trips;
  const double local =
      static_cast<double>(options.blocks) * (2 * sizeof(int) + sizeof(Index)) / options.bandwidth;
  return {{"levels", levels},
          {"rounds", rounds},
          {"collective", collective},
          {"neighbours", neighbours},
          {"local", local},
          {"planning", collective + neighbours + local},
          {"least", 3 * levels * level}};
}

}  // namespace

tools::Case analyse(const ScaleOptions& scale) {
  check(scale);
  Ledger ledger;
  const Options options = options_of(scale);
  const BlockTraits blocks = blocks_of(scale);
  const Flows flows = flows_of(ledger, scale);
  // Else arrivals are listed, and what follows does not hold.
  const schedule::StreamLimits limits = stream_limits(options, blocks, flows);
  if (limits.waiting >= schedule::room_to_wait(limits))
    refuse("--budget is ", scale.budget_bytes,
           " bytes, too little for the blocks that wait for their slots: give more, or smaller "
           "--block-bytes");
  const Parts planning = std::ranges::max(moments_of_planning(flows), {}, sum_of);
  const Parts moving = moving_parts(options, blocks, flows);
  const std::uint64_t slots = 2 * sizeof(Index) * scale.blocks;  // in order, of any
  return {{"scale",
           {{"ranks", scale.ranks},
            {"neighbours", scale.neighbours},
            {"blocks", scale.blocks},
            {"block_bytes", scale.block_bytes},
            {"budget", scale.budget_bytes},
            {"latency", scale.latency_seconds},
            {"bandwidth", scale.bandwidth}}},
          {"planning", parts_of(planning)},
          {"moving", parts_of(moving)},
          {"memory",
           {{"planning", sum_of(planning)},
            {"moving", sum_of(moving)},
            // Not for blocks: no budget pays for it.
            {"state", sum_of(moving) - moving.back().bytes},
            {"peak", std::max(sum_of(planning), sum_of(moving))},
            {"promised",
             slots + detail::promised_bytes(scale.budget_bytes, scale.neighbours, 0, false)},
            {"root", detail::promised_of_rank * scale.ranks}}},
          {"time", time_of(scale)}};
}

void print_scale(const tools::Case& analysis) {
  tools::print_filled(
      "{scale/ranks} ranks with {scale/neighbours} neighbours each; {scale/blocks} blocks of "
      "{scale/block_bytes} bytes leave every rank\n"
      "\nplanning: at most {memory/planning} bytes on a rank at any time\n",
      analysis);
  tools::print_table(analysis["planning"]);
  tools::print_filled(
      "\nmoving data: {memory/moving} bytes on a rank, {memory/state} of them not scratch\n",
      analysis);
  tools::print_table(analysis["moving"]);
  tools::print_filled(
      "\npeak: {memory/peak} bytes on a rank, bound: {memory/promised}; ranks that are not "
      "neighbours add nothing\n"
      "cyclic, bitonic, pairwise, parking and a centralized scheduler add 64*P = {memory/root} "
      "bytes\n"
      "planning takes {time/planning:u} us: {time/rounds} reductions and barriers ({time/levels} "
      "levels) {time/collective:u} us, counts of neighbours {time/neighbours:u} us, map "
      "{time/local:u} us\n"
      "two reductions and a barrier alone take {time/least:u} us\n",
      analysis);
}

}  // namespace valet::plan
