// SPDX-License-Identifier: BSD-3-Clause
#include "plan/object_planner.hpp"

#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "base/sizes.hpp"
#include "mpi/agreement.hpp"
#include "plan/planner.hpp"
#include "storage/guarded_backend.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace valet::plan {
namespace {

/// Blocks that leave or arrive, but for this rank's own.
struct Totals {
  std::uint64_t objects = 0, families = 0;
  std::size_t peers = 0;
};

class ObjectPlanner {
  /// What a rank tells the others that has found something wrong.
  static constexpr std::uint64_t wrong_count = std::numeric_limits<std::uint64_t>::max();

 public:
  ObjectPlanner(State& state, const BlockStorage& storage, std::uint64_t count,
                const ObjectMove& move)
      : state_(state), storage_(storage), count_(count), move_(move) {}

  void run() {
    state_.objects = std::make_unique<ObjectMove>(ObjectMove{.from = move_.from, .to = move_.to});
    storage::asked([&] { storage_.backend().refresh(); });
    state_.blocks = storage_.backend().traits();
    state_.from_layout = true;
    std::optional<Diagnostic> diagnostic = check_call(storage_, count_, count_, state_);
    count_objects(diagnostic || !can_number(state_, storage_.slots()));
    if (!any_wrong_) diagnostic = check_objects();
    if (!diagnostic && !any_wrong_)
      diagnostic = detail::unless_out_of_memory([&] { compute(); },
                                                [&] { return no_memory_to_plan(slots_); });
    agree_on_flows(state_, diagnostic, form(), &storage_.backend());
  }

 private:
  /// Objects in a row arrive in the order of their ranks, this one among them, so that nothing has
  /// to be listed of what arrives or stays.
  [[nodiscard]] Form form() const { return move_.from ? Form::slots : Form::stable; }
  /// Of a message, here and, until the ranks have agreed, elsewhere. A message is cut to what
  /// leaves, which is the same to a receiver as one that is not.
  [[nodiscard]] std::uint64_t message_blocks() const {
    constexpr std::uint64_t many = std::numeric_limits<std::uint32_t>::max();
    return state_.blocks.block_bytes > 0 ? plan::message_blocks(state_, {.blocks = many}) : many;
  }
  [[nodiscard]] int ranks() const { return state_.channel.size(); }
  [[nodiscard]] int self() const { return state_.channel.rank(); }

  /// How many objects there are. Collective; where that is known, only without a layout before.
  void count_objects(bool is_wrong) {
    any_wrong_ = is_wrong;
    bool all_in_a_row = !move_.from;
    if (move_.objects) {
      objects_ = *move_.objects;
    } else {  // whoever may have been given a layout
      std::array<std::uint64_t, 3> sums{is_wrong ? 0 : count_, is_wrong ? 1U : 0U,
                                        all_in_a_row ? 1U : 0U};
      mpi::sum(state_.channel, sums);
      objects_ = sums[0];
      all_in_a_row = sums[2] == static_cast<std::uint64_t>(ranks());
      any_wrong_ = sums[1] > 0 || (sums[2] > 0 && !all_in_a_row);
    }
    if (all_in_a_row) gather_counts(is_wrong);
  }

  /// How many objects each rank has, which numbers them. Collective.
  void gather_counts(bool is_wrong) {
    const std::uint64_t own = is_wrong ? wrong_count : count_;
    counts_ = Array<std::uint64_t>(state_.ledger, static_cast<std::size_t>(ranks()));
    mpi::gather_everywhere(state_.channel, own, std::span(counts_));
    objects_ = 0;
    for (const std::uint64_t count : counts_) {
      any_wrong_ = any_wrong_ || count == wrong_count;
      objects_ += any_wrong_ ? 0 : count;
    }
  }

  /// What is wrong with the counts, the same on all ranks but for those that one rank has.
  [[nodiscard]] std::optional<Diagnostic> check_objects() const {
    if (objects_ > static_cast<std::uint64_t>(BlockCyclic::most_elements))
      return invalid("there are more than 2^60 objects on all ranks together");
    if (move_.from)
      if (auto wrong = check_layout(*move_.from, "the layout before", objects_, ranks()))
        return wrong;
    if (auto wrong = check_layout(move_.to, "the layout after", objects_, ranks())) return wrong;
    if (!move_.bounds.empty() && static_cast<std::uint64_t>(move_.bounds.back()) != objects_)
      return invalid("there are ", objects_, " objects on all ranks, but ", move_.bounds.back(),
                     " are to be distributed");
    if (!move_.from) return std::nullopt;
    const auto expected = side_of(*move_.from, objects_, ranks()).count(self());
    if (expected == static_cast<std::int64_t>(count_)) return std::nullopt;
    return invalid("it has ", count_, " objects, but of the ", objects_,
                   " on all ranks the layout before gives it ", expected,
                   "; give the layout that they lie in, or none where they are numbered by rank");
  }

  /// Objects that lie as they are, numbered by rank and slot.
  [[nodiscard]] layout::ObjectSide side_in_a_row(Array<std::int64_t>& bounds) const {
    bounds = Array<std::int64_t>(state_.ledger, counts_.size() + 1);
    bounds[0] = 0;
    for (std::size_t r = 0; r < counts_.size(); ++r)
      bounds[r + 1] = bounds[r] + static_cast<std::int64_t>(counts_[r]);
    return layout::ObjectSide(std::span<const std::int64_t>(bounds));
  }

  void compute() {
    Array<std::int64_t> bounds;
    const layout::ObjectSide before =
        move_.from ? side_of(*move_.from, objects_, ranks()) : side_in_a_row(bounds);
    const layout::ObjectSide after = move_.bounds.empty() ? side_of(move_.to, objects_, ranks())
                                                          : layout::ObjectSide(move_.bounds);
    state_.periods = static_cast<std::uint64_t>(layout::shared_periods(before, after));
    slots_ = std::max(storage_.slots(), static_cast<std::uint64_t>(after.count(self())));
    if (!can_number(state_, slots_)) return;
    Flows& flows = state_.flows;
    flows.form = form();
    flows.slots = slots_;
    flows.slots_before = flows.blocks_before = count_;
    if (count_ > 0) flows.message_blocks = message_blocks();
    flows.initially_free = storage::SlotSet(state_.ledger, slots_);
    flows.initially_free.insert(storage::SlotRun{count_, slots_ - count_});
    Array<SlotIndex> kept;
    list_arriving(flows, layout::SharedObjects(state_.ledger, after, self(), before), kept);
    list_leaving(flows, layout::SharedObjects(state_.ledger, before, self(), after), kept);
  }

  [[nodiscard]] Totals totals(const layout::SharedObjects& shared) const {
    Totals totals;
    for (int peer = 0; peer < ranks(); ++peer) {
      if (peer == self() || shared.count(peer) == 0) continue;
      ++totals.peers;
      totals.objects += static_cast<std::uint64_t>(shared.count(peer));
      totals.families += shared.families(peer);
    }
    return totals;
  }

  /// The slots here of what is shared with others, by (rank, slot), and of what is shared with
  /// itself, unless nobody wants them.
  void list_slots(const layout::SharedObjects& shared, SlotIndex* others, SlotIndex* own) const {
    if (!shared.is_walked()) {
      for (int peer = 0; peer < ranks(); ++peer)
        if (peer != self())
          others = shared.list_slots(peer, others);
        else if (own != nullptr)
          shared.list_slots(peer, own);
      return;
    }
    Array<SlotIndex*> next(state_.ledger, static_cast<std::size_t>(ranks()));
    for (int peer = 0; peer < ranks(); ++peer) {
      next[static_cast<std::size_t>(peer)] = peer == self() ? own : others;
      if (peer != self()) others += shared.count(peer);
    }
    shared.for_each_run([&](int peer, const layout::ObjectRun& run) {
      SlotIndex*& at = next[static_cast<std::size_t>(peer)];
      for (std::int64_t k = 0; at != nullptr && k < run.length; ++k)
        *at++ = static_cast<SlotIndex>(run.slot + k);
    });
  }

  /// What this rank sends to whom, and what changes its slot here.
  /// @param kept  The final slots of what stays on this rank, ascending.
  void list_leaving(Flows& flows, const layout::SharedObjects& shared,
                    const Array<SlotIndex>& kept) {
    const Totals leaving = totals(shared);
    state_.segments += leaving.families;
    flows.outgoing.reserve(leaving.peers);
    flows.exports = Array<SlotIndex>(state_.ledger, leaving.objects);
    SlotIndex first = 0;
    for (int peer = 0; peer < ranks(); ++peer) {
      const auto count = static_cast<SlotIndex>(peer == self() ? 0 : shared.count(peer));
      if (count == 0) continue;
      flows.outgoing.push_back({peer, count, first});
      first += count;
    }
    if (form() == Form::stable) {
      list_slots(shared, flows.exports.begin(), nullptr);
      return find_holes(flows);
    }
    Array<SlotIndex> from(state_.ledger, kept.size());
    list_slots(shared, flows.exports.begin(), from.begin());
    // Both sides have what they share in the same order.
    if (std::ranges::mismatch(from, kept).in1 == from.end()) return;
    flows.list_local_moves(state_.ledger, [&](auto&& move) {
      for (std::size_t k = 0; k < from.size(); ++k)
        if (from[k] != kept[k]) move(from[k], kept[k]);
    });
  }

  void find_holes(Flows& flows) {
    flows.holes = flows.initially_free.grown(state_.ledger, flows.slots);
    for (const Outgoing& flow : flows.outgoing)
      flows.holes.insert_ascending(SlotList(flows.exports.data() + flow.first, flow.count));
  }

  /// What it gets from whom, and where that ends, and what it keeps.
  void list_arriving(Flows& flows, const layout::SharedObjects& shared, Array<SlotIndex>& kept) {
    const Totals arriving = totals(shared);
    state_.segments += arriving.families;
    for (int peer = 0; peer < self(); ++peer)
      flows.residents_at += static_cast<std::uint64_t>(shared.count(peer));
    flows.incoming.reserve(arriving.peers);
    const std::uint64_t message_blocks = this->message_blocks();
    flows.blocks_resident = static_cast<std::uint64_t>(shared.count(self()));
    flows.blocks_after = flows.blocks_resident;
    for (int peer = 0; peer < ranks(); ++peer) {
      const std::int64_t count = peer == self() ? 0 : shared.count(peer);
      if (count == 0) continue;
      flows.add_incoming(peer, static_cast<std::uint64_t>(count), message_blocks);
    }
    if (form() != Form::slots) return;
    flows.arrivals = Array<SlotIndex>(state_.ledger, arriving.objects);
    kept = Array<SlotIndex>(state_.ledger, flows.blocks_resident);
    list_slots(shared, flows.arrivals.begin(), kept.begin());
  }

  State& state_;
  const BlockStorage& storage_;
  std::uint64_t count_;
  ObjectMove move_;
  Array<std::uint64_t> counts_;  ///< of every rank
  bool any_wrong_ = false;       ///< this rank or, where that is known, another one
  std::uint64_t objects_ = 0;    ///< of all ranks
  std::uint64_t slots_ = 0;
};

}  // namespace

std::optional<Diagnostic> check_layout(const ObjectLayout& layout, const char* name,
                                       std::uint64_t objects, int ranks) {
  if (layout.tiling && layout.tiling->is_cut())
    return invalid(name, " is a general grid; give tiles of equal size, or a map to ranks");
  const int over = layout.tiling ? layout.tiling->ranks() : layout.ranks;
  if (over < 0 || over > ranks)
    return invalid(name, " is over ", over, " ranks, but there are ", ranks,
                   "; give at most that many, or 0 for all of them");
  if (layout.tiling && static_cast<std::uint64_t>(layout.tiling->elements()) != objects)
    return invalid(name, " is of an array of ", layout::shape_text(layout.tiling->extents()), " = ",
                   layout.tiling->elements(), " objects, but there are ", objects,
                   " on all ranks; give the extents of the array of all objects");
  if (detail::bounded_product(std::min(layout.block_size, objects),
                              static_cast<std::uint64_t>(over == 0 ? ranks : over)) >
      static_cast<std::uint64_t>(BlockCyclic::most_elements))
    return invalid("blocks of ", layout.block_size, " objects on ", over == 0 ? ranks : over,
                   " ranks span more than 2^60; give smaller blocks");
  return std::nullopt;
}

layout::ObjectSide side_of(const ObjectLayout& layout, std::uint64_t objects, int ranks) {
  if (layout.tiling) return layout::ObjectSide(*layout.tiling);
  const int over = layout.ranks == 0 ? ranks : layout.ranks;
  const auto all = static_cast<std::int64_t>(objects);
  if (layout.block_size == 0) return {all, over};
  // A block beyond all objects is as good as one of all of them.
  const auto most = std::max<std::uint64_t>(1, objects);
  const auto block = static_cast<std::int64_t>(std::min(layout.block_size, most));
  return layout::ObjectSide(layout::Dimension(all, block, over));
}

void plan_objects(State& state, const BlockStorage& storage, std::uint64_t count,
                  const ObjectMove& move) {
  ObjectPlanner(state, storage, count, move).run();
}

}  // namespace valet::plan
