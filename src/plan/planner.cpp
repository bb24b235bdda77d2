// SPDX-License-Identifier: BSD-3-Clause
#include "plan/planner.hpp"

#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "base/sizes.hpp"
#include "geometry/numbered_array.hpp"
#include "mpi/agreement.hpp"
#include "mpi/neighbour_words.hpp"
#include "mpi/sparse_exchange.hpp"
#include "plan/any_order.hpp"
#include "plan/check_options.hpp"
#include "plan/final_slots.hpp"
#include "plan/map_counts.hpp"
#include "plan/map_layout.hpp"
#include "plan/same_fields.hpp"
#include "schedule/grains.hpp"
#include "schedule/methods.hpp"
#include "schedule/stream_sizes.hpp"
#include "storage/guarded_backend.hpp"

#include <bit>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

namespace valet::plan {
namespace {

/// The layouts of numbered objects must be the same everywhere.
void agree_on_layouts(mpi::Agreement& agreement, const ObjectMove& objects) {
  const ObjectLayout from = objects.from.value_or(ObjectLayout{});
  agreement.equal({"the layout before", mpi::is_given}, objects.from.has_value());
  agreement.equal({"the block size of the layout before"}, from.block_size);
  agreement.equal({"the number of ranks of the layout before"}, from.ranks);
  agreement.equal({"the block size of the layout after"}, objects.to.block_size);
  agreement.equal({"the number of ranks of the layout after"}, objects.to.ranks);
  agreement.equal({"the tiles of the layout before", nullptr}, layout::digest_of(from.tiling));
  agreement.equal({"the tiles of the layout after", nullptr}, layout::digest_of(objects.to.tiling));
}

bool holds_all_at_once(const Options& options) {
  const schedule::MethodTraits* const traits = schedule::find_traits(options.method);
  return traits != nullptr && traits->budget == schedule::BudgetRule::everything;
}

/// What blocks need of the budget at least: once planned, all that leave and arrive where the
/// method holds them at once.
std::uint64_t least_blocks(const State& state) {
  const std::uint64_t least = state.blocks.least_scratch_blocks();
  if (!holds_all_at_once(state.options)) return least;
  return std::max(least, state.flows.exports.size() + state.flows.blocks_arriving);
}

/// How many times as many slots a rank would have as can be numbered, rounded up.
std::uint64_t times_too_many(std::uint64_t slots) {
  return (slots + detail::most_slots - 1) / detail::most_slots;
}

/// The same for slots of the application.
void require_numbered_slots(std::uint64_t most) {
  if (most <= detail::most_slots) return;
  throw Error(ErrorCode::infeasible,
              "a rank has or would have " + std::to_string(most) + " slots, more than the " +
                  std::to_string(detail::most_slots) + " of 32 bits; on all ranks join " +
                  std::to_string(times_too_many(most)) +
                  " consecutive rows of every field into one block");
}

std::optional<Diagnostic> check_blocks(const State& state) {
  if (!holds_all_at_once(state.options)) return check_budget(state);
  const std::uint64_t blocks = least_blocks(state);
  if (blocks * state.blocks.block_bytes <= state.options.budget_bytes) return std::nullopt;
  return diagnose(ErrorCode::budget_too_small, "method ", to_string(state.options.method),
                  " needs ", blocks * state.blocks.block_bytes, " bytes for the ", blocks,
                  " blocks that leave and arrive, the budget is ", state.options.budget_bytes,
                  "; set budget_bytes to ", mpi::at_least_enough, ", or take method stream");
}

/// Agrees that the budgets hold these blocks, once all ranks know their size. Collective.
void agree_on_budget(const State& state) {
  mpi::Agreement agreement;
  agreement.enough(least_blocks(state) * state.blocks.block_bytes);
  agreement.run(state.channel, check_blocks(state));
}

/// How others cut their messages, where no counts were exchanged: mostly as this rank does, but for
/// one that knows no blocks. Else they tell those that they send to. Collective.
/// @param least, most  Blocks of a message, of all ranks. [global]
void learn_message_blocks(State& state, std::uint64_t least, std::uint64_t most) {
  Flows& flows = state.flows;
  for (Incoming& flow : flows.incoming) flow.message_blocks = static_cast<SlotIndex>(most);
  if (least >= most) return;
  mpi::exchange_words(
      state.channel, state.ledger, mpi::tag_slots, 1, std::span(flows.outgoing),
      std::span(flows.incoming),
      [&](const Outgoing&, std::span<std::uint64_t> word) { word[0] = flows.message_blocks; },
      [](Incoming& flow, std::span<const std::uint64_t> word) {
        flow.message_blocks = static_cast<SlotIndex>(word[0]);
      });
}

/// The bytes of a block and the choices that must be the same everywhere, checked in the same
/// reduction that agrees on this rank's finding.
/// @return Whether some rank lacks room for an exchange in order.
bool agree_on_plan(State& state, const std::optional<Diagnostic>& mine, Form form,
                   const StorageBackend* backend) {
  mpi::Agreement agreement;
  bool any_lacks_room = !mine && lacks_room(state);
  agreement.largest(any_lacks_room);
  bool any_has_much = mine || !is_little(state);
  agreement.largest(any_has_much);
  std::optional<storage::NodeWish> wish;
  if (!mine) wish.emplace(node_wish(state));
  state.memory.join(agreement, wish ? &*wish : nullptr);
  SameFields fields = backend != nullptr ? fields_of(*backend) : SameFields([&](const auto& visit) {
    visit(BlockField{{}, state.blocks.block_bytes, {}});
  });
  fields.join(agreement, state.channel);
  std::uint64_t block_bytes = state.blocks.block_bytes;
  bool some_do_not_know = backend != nullptr && backend->traits().block_bytes == 0;
  agreement.largest(block_bytes);
  agreement.largest(some_do_not_know);
  agree_on_layouts(agreement, state.objects ? *state.objects : ObjectMove{});
  agreement.equal(
      {"the form of the map",
       [](std::int64_t to_slots) -> std::string { return to_slots != 0 ? "slots" : "ranks"; }},
      form == Form::slots);
  agree_on_options(agreement, state.options);
  agreement.enough(state.blocks.least_scratch_blocks() * state.blocks.block_bytes);
  std::uint64_t most_slots = state.flows.slots;
  agreement.largest(most_slots);
  bool some_lack = !mine && check_blocks(state).has_value();
  agreement.largest(some_lack);
  std::uint64_t most_in_message = state.flows.message_blocks;
  std::uint64_t least_in_message = most_in_message > 0 ? most_in_message : detail::most_slots;
  agreement.largest(most_in_message);
  agreement.least(least_in_message);
  mpi::Borrowing own(state.channel);
  own.join(agreement);
  agreement.run(state.channel, mine);
  state.at_once = !any_has_much;
  backend == nullptr ? require_numbered_pages(most_slots) : require_numbered_slots(most_slots);
  if (some_do_not_know) state.blocks.block_bytes = std::max<std::uint64_t>(1, block_bytes);
  if (some_do_not_know || some_lack) agree_on_budget(state);
  if (state.objects) learn_message_blocks(state, least_in_message, most_in_message);
  // Where ranks gave their plans back in different orders, what is kept is not what was looked at.
  if (!own.complete()) state.memory.agree_again(node_wish(state));
  return any_lacks_room;
}

/// Whether a method asks in any order where blocks of Form::any end. False for one that is still to
/// be chosen.
bool lists_arrivals(Method method) {
  const schedule::MethodTraits* const traits = schedule::find_traits(method);
  return traits != nullptr && traits->landing == schedule::LandingRule::whenever;
}

std::optional<Diagnostic> list_where_memory_is(State& state) {
  return detail::unless_out_of_memory(
      [&] { list_arrivals(state.ledger, state.flows); },
      "no memory to list the slots of the blocks that arrive; raise budget_bytes, then there is no "
      "need for it");
}

/// How many blocks go to whom, and where they are listed.
void list_destinations(Ledger& ledger, Flows& flows, const MapCounts& map_counts) {
  flows.outgoing.reserve(map_counts.leaving.size());
  map_counts.leaving.for_each([&](int rank, std::uint64_t count) {
    flows.outgoing.push_back({rank, static_cast<SlotIndex>(count), 0});
  });
  std::ranges::sort(flows.outgoing, {}, &Outgoing::rank);
  SlotIndex first = 0;
  for (Outgoing& flow : flows.outgoing) {
    flow.first = first;
    first = static_cast<SlotIndex>(first + flow.count);
  }
  flows.exports = Array<SlotIndex>(ledger, map_counts.blocks_leaving);
}

/// The second pass: the exports, sorted by destination.
template <class DestinationOf>
void sort_exports(Ledger& ledger, Flows& flows, const MapCounts& map_counts,
                  DestinationOf&& destination_of) {
  DestinationCounts next(ledger);
  for (const Outgoing& flow : flows.outgoing) next[flow.rank].count = flow.first;
  WordOfRanks ranks{};
  for (std::uint64_t first_slot = 0; first_slot < map_counts.holes.slots(); first_slot += 64) {
    const std::uint64_t leaving =
        map_counts.holes.word(first_slot / 64) & ~map_counts.initially_free.word(first_slot / 64);
    read_ranks(ranks, first_slot, leaving, destination_of);
    for_each_rank(ranks, leaving, [&](int rank, std::uint64_t bits, std::uint64_t count) {
      std::uint64_t& position = next.known(rank)->count;
      SlotIndex* slot = flows.exports.begin() + position;
      position += count;
      for (; bits != 0; bits &= bits - 1)
        *slot++ =
            static_cast<SlotIndex>(first_slot + static_cast<std::uint64_t>(std::countr_zero(bits)));
      return true;
    });
  }
}

/// The same for a cyclic map, without another look at it.
void list_cyclic_exports(Flows& flows, const layout::CyclicDistribution& distribution, int ranks) {
  for (const Outgoing& flow : flows.outgoing) {
    SlotIndex* next = flows.exports.begin() + flow.first;
    distribution.for_each_run(flow.rank, ranks, [&](std::int64_t first, std::int64_t length) {
      for (std::int64_t slot = first; slot < first + length; ++slot)
        *next++ = static_cast<SlotIndex>(slot);
    });
  }
}

/// One planning: map_counts, counts exchanged or computed, exports sorted, final slots exchanged,
/// agreement. A map of ranks, or of addresses.
template <class Entry>
class Planner {
  static constexpr bool to_slots = std::is_same_v<Entry, Address>;

 public:
  Planner(State& state, const BlockStorage& storage, const Occupied& occupied, Form form,
          std::span<const Entry> map)
      : state_(state), storage_(storage), occupied_(occupied), form_(form), map_(map) {}

  void run() {
    storage::asked([&] { storage_.backend().refresh(); });
    state_.blocks = storage_.backend().traits();
    std::optional<Diagnostic> diagnostic = check_call(storage_, occupied_, map_.size(), state_);
    // A rank with a finding takes part with an empty map, so that all ranks meet in the agreement.
    bool is_wrong = diagnostic || !can_number(state_, storage_.slots());
    MapCounts map_counts = is_wrong ? MapCounts(state_.ledger, 0) : counted_map(diagnostic);
    Vector<mpi::SparseCount> arriving(state_.ledger);
    // A map to slots takes part with no pattern, so that ranks with different forms of map meet.
    if constexpr (!to_slots)
      if (!is_wrong && !diagnostic) pattern_ = pattern_of(map_counts, map_, state_.channel.size());
    try {
      find_arriving(arriving);
    } catch (const std::bad_alloc&) {  // when the exchange is over
      diagnostic = no_memory_to_plan(storage_.slots());
    }
    Vector<mpi::SparseCount>(state_.ledger).swap(leaving_);
    std::uint64_t arrivals = 0;
    for (const mpi::SparseCount& count : arriving) arrivals += count.count;
    const std::uint64_t slots =
        std::max(map_counts.holes.slots(),
                 to_slots ? 0 : map_counts.blocks_before - map_counts.blocks_leaving + arrivals);
    is_wrong = is_wrong || diagnostic || !can_number(state_, slots);
    if (!is_wrong)
      diagnostic = detail::unless_out_of_memory(
          [&] {
            fill_flows(state_.flows, map_counts, slots, arriving);
            if constexpr (to_slots) slot_buffers_ = SlotWords::buffers(state_.ledger);
          },
          [&] { return no_memory_to_plan(slots); });
    agree_on_flows(state_, diagnostic, form_, &storage_.backend());
    if constexpr (to_slots) find_final_slots();
  }

 private:
  /// Brings final slots to where they are needed, and agrees on what is wrong with them.
  void find_final_slots() {
    Flows& flows = state_.flows;
    exchange_final_slots(state_.channel, state_.ledger, flows, map_, std::move(slot_buffers_));
    const auto found = detail::unless_out_of_memory(
        [&] { return check_final_slots(state_.channel, state_.ledger, flows, map_); },
        [&] { return no_memory_to_plan(flows.slots); });
    mpi::agree(state_.channel, found);
  }

  /// The rank that the block in a slot is sent to.
  [[nodiscard]] auto destinations() const {
    return [map = map_](std::uint64_t slot) {
      if constexpr (to_slots)
        return map[slot].rank;
      else
        return map[slot];
    };
  }

  MapCounts counted_map(std::optional<Diagnostic>& diagnostic) {
    std::optional<MapCounts> map_counts;
    diagnostic = detail::unless_out_of_memory(
        [&] {
          map_counts.emplace(state_.ledger, storage_.slots());
          count_map(*map_counts, occupied_, state_.channel.rank(), state_.channel.size(),
                    state_.options.negative_rank, destinations());
          if (!map_counts->diagnostic) announce(*map_counts);
          return map_counts->diagnostic;
        },
        [&] { return no_memory_to_plan(storage_.slots()); });
    if (!diagnostic) return std::move(*map_counts);
    map_counts.reset();
    return {state_.ledger, 0};
  }

  /// What this rank announces to those that it sends to.
  void announce(const MapCounts& map_counts) {
    Departures departures;
    map_counts.leaving.for_each([&](int, std::uint64_t count) { departures.add(count); });
    leaving_.reserve(map_counts.leaving.size());
    if (departures.blocks > 0) message_blocks_ = message_blocks(state_, departures);
    map_counts.leaving.for_each([&](int rank, std::uint64_t count) {
      leaving_.push_back({rank, count, message_blocks_});
    });
  }
  void find_arriving(Vector<mpi::SparseCount>& arriving) {
    const mpi::Channel& channel = state_.channel;
    if (channel.size() <= few_ranks) {
      const ToldMaps told(channel, pattern_, state_.blocks.block_bytes, leaving_);
      know(told.joint());
      told.list_arriving(arriving);
      return;
    }
    know(agree_on_map(channel, pattern_, leaving_.size(), state_.blocks.block_bytes));
    if (state_.from_layout)
      compute_counts(channel, state_.ledger, joint_.layout, pattern_, leaving_, message_blocks_,
                     arriving);
    else
      mpi::exchange_sparse_counts(channel, state_.ledger, leaving_, arriving);
  }
  void know(const JointMap& joint) {
    joint_ = joint;
    if (storage_.slots() == 0 && state_.blocks.block_bytes == 0)
      state_.blocks.block_bytes = std::max<std::size_t>(1, joint.block_bytes);
    state_.from_layout = joint.layout != MapLayout::none;
  }

  void fill_flows(Flows& flows, MapCounts& map_counts, std::uint64_t slots,
                  const Vector<mpi::SparseCount>& arriving) {
    Ledger& ledger = state_.ledger;
    flows.form = form_;
    flows.slots = slots;
    flows.message_blocks = message_blocks_;
    flows.slots_before = map_counts.holes.slots();
    flows.blocks_before = map_counts.blocks_before;
    flows.blocks_dropped = map_counts.blocks_dropped;
    flows.blocks_resident = map_counts.blocks_before - map_counts.blocks_leaving;
    flows.blocks_after = flows.blocks_resident;
    list_destinations(ledger, flows, map_counts);
    // Whatever the others have: where counts are exchanged the slots are computed all the same.
    if (pattern_.is_one_part() && map_counts.initially_free.next(0) >= flows.blocks_before)
      list_cyclic_exports(flows, pattern_.parts[0], state_.channel.size());
    else
      sort_exports(ledger, flows, map_counts, destinations());
    const bool grows = slots > map_counts.holes.slots();
    flows.initially_free = grows ? map_counts.initially_free.grown(ledger, slots)
                                 : std::move(map_counts.initially_free);
    flows.any.grain = schedule::grain_blocks(state_.blocks.block_bytes, joint_.degree);
    flows.any.rank = state_.channel.rank();
    flows.any.ranks = state_.channel.size();
    if constexpr (!to_slots)
      flows.holes = grows ? map_counts.holes.grown(ledger, slots) : std::move(map_counts.holes);
    flows.incoming.reserve(arriving.size());
    for (const mpi::SparseCount& count : arriving)
      flows.add_incoming(count.rank, count.count, count.detail);
    if (state_.from_layout) {
      state_.segments = flows.outgoing.size() + flows.incoming.size();
      state_.periods = joint_.layout == MapLayout::patterns
                           ? static_cast<std::uint64_t>(pattern_.periods(state_.channel.size()))
                           : 1;
    }
    if (form_ == Form::any) {
      complete_any_order(ledger, flows, flows.holes, state_.blocks.block_bytes);
      flows.holes = {};
    }
    if constexpr (to_slots) list_moves_to_slots(flows);
  }

  void list_moves_to_slots(Flows& flows) {
    flows.arrivals = Array<SlotIndex>(state_.ledger, flows.blocks_arriving);
    const int rank = state_.channel.rank();
    flows.list_local_moves(state_.ledger, [&](auto&& move) {
      // Where something was found wrong there are no slots, so a bad map is not looked at here.
      for (std::uint64_t slot = 0; flows.slots > 0 && slot < map_.size(); ++slot)
        if (const Address& to = map_[slot]; to.rank == rank && to.slot != slot &&
                                            to.slot < flows.slots &&
                                            !flows.initially_free.contains(slot))
          move(slot, to.slot);
    });
  }

  State& state_;
  const BlockStorage& storage_;
  const Occupied& occupied_;
  Form form_;
  std::span<const Entry> map_;
  layout::MapPattern pattern_;  ///< of the map of this rank
  JointMap joint_;
  std::uint64_t message_blocks_ = 0;                 ///< as announced; 0 where nothing leaves
  Vector<mpi::SparseCount> leaving_{state_.ledger};  ///< until that is over
  Array<std::uint64_t> slot_buffers_;  ///< while the ranks can agree that there is no memory
};

}  // namespace

std::optional<Diagnostic> check_call(const BlockStorage& storage, const Occupied& occupied,
                                     std::size_t map_entries, const State& state) {
  if (auto diagnostic = storage::asked([&] { return storage.backend().diagnostic(); }))
    return diagnostic;
  const std::uint64_t slots = storage.slots();
  if (detail::bounded_product(slots, storage.block_bytes()) > detail::most_bytes)
    return invalid("the storage says it has ", slots, " slots for blocks of ",
                   storage.block_bytes(), " bytes, more than ", detail::most_bytes_text,
                   "; give the numbers that it has");
  if (slots > 0 && storage.block_bytes() == 0)
    return invalid("the storage says it has blocks of zero bytes; give their size");
  if (occupied.map_size() > slots)
    return invalid(occupied.map_size(), " blocks do not fit the ", slots,
                   " slots of the storage; give the number of blocks that it holds");
  if (occupied.is_masked() && occupied.map_size() != slots)
    return invalid("the mask has ", occupied.map_size(), " entries for a storage of ", slots,
                   " slots; it needs one entry per slot");
  if (map_entries != occupied.map_size()) return bad_map_size(map_entries, occupied.map_size());
  if (auto diagnostic = check_options(state.options)) return diagnostic;
  return check_budget(state);
}

void require_numbered_pages(std::uint64_t most) {
  if (most <= detail::most_slots) return;
  throw Error(ErrorCode::budget_too_small,
              "a rank would have " + std::to_string(most) + " pages, more than the " +
                  std::to_string(detail::most_slots) + " of 32 bits; give all ranks " +
                  std::to_string(2 * times_too_many(most)) +
                  " times the smallest budget_bytes of all, so that pages are larger");
}

bool can_number(State& state, std::uint64_t slots) {
  if (slots <= detail::most_slots) return true;
  state.flows.slots = slots;
  return false;
}

Diagnostic no_memory_to_plan(std::uint64_t slots) {
  return diagnose(ErrorCode::out_of_memory, "no memory to plan for ", slots,
                  " slots; use fewer or larger blocks");
}

std::optional<Diagnostic> check_budget(const State& state) {
  const std::size_t least = state.blocks.least_scratch_blocks() * state.blocks.block_bytes;
  if (state.options.budget_bytes >= least || state.options.method == Method::phased ||
      holds_all_at_once(state.options))
    return std::nullopt;
  return budget_below_blocks(state);
}

Diagnostic budget_below_blocks(const State& state) {
  const std::size_t blocks = state.blocks.least_scratch_blocks();
  return diagnose(ErrorCode::budget_too_small, "the budget of ", state.options.budget_bytes,
                  " bytes is below the ", blocks * state.blocks.block_bytes, " bytes that ",
                  blocks == 1 ? "one block takes" : "two staged blocks take",
                  "; set budget_bytes to ", mpi::at_least_enough);
}

storage::NodeWish node_wish(State& state) {
  const schedule::MethodTraits* const traits = schedule::find_traits(state.options.method);
  const bool takes_part =
      state.options.share_memory && state.blocks.reachable_by_host &&
      (traits == nullptr || state.options.budget_bytes >= traits->least_shared_budget);
  const schedule::StreamLimits limits = stream_limits(state.options, state.blocks, state.flows);
  storage::NodeWish wish(state.channel, state.ledger, state.flows.outgoing, state.flows.incoming);
  if (takes_part) wish.allowance = schedule::node_memory_bytes(limits, wish.destinations.size());
  wish.wish = schedule::useful_node_bytes(limits, state.keeps_memory());
  return wish;
}

void agree_on_flows(State& state, std::optional<Diagnostic> mine, Form form,
                    const StorageBackend* backend) {
  const bool is_listed = form == Form::any && lists_arrivals(state.options.method);
  if (!mine && is_listed) mine = list_where_memory_is(state);
  const bool any_lacks_room = agree_on_plan(state, mine, form, backend);
  if (state.options.method == Method::automatic) {
    state.options.method = Method::stream;
    state.reason = "stream brings each block straight to its rank, within any budget";
  }
  if (form != Form::any || is_listed) return;
  const schedule::LandingRule landing = schedule::traits_of(state.options.method).landing;
  if (state.at_once || landing == schedule::LandingRule::at_once ||
      (landing == schedule::LandingRule::in_order && !any_lacks_room))
    return;
  mpi::agree(state.channel, list_where_memory_is(state));
}

void plan_ranks(State& state, const BlockStorage& storage, const Occupied& occupied,
                std::span<const int> ranks) {
  const Form form = state.options.order == Order::any    ? Form::any
                    : state.options.order == Order::fill ? Form::fill
                                                         : Form::stable;
  Planner(state, storage, occupied, form, ranks).run();
}

void plan_slots(State& state, const BlockStorage& storage, const Occupied& occupied,
                std::span<const Address> addresses) {
  Planner(state, storage, occupied, Form::slots, addresses).run();
}

}  // namespace valet::plan
