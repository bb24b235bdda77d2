// SPDX-License-Identifier: BSD-3-Clause
#include "arrivals.hpp"
#include "migration.hpp"
#include "mpi/agreement.hpp"
#include "mpi/check.hpp"
#include "object_checks.hpp"
#include "step_loop.hpp"

#include <algorithm>
#include <memory>

namespace valet::zoltan {
namespace {

/// Numbers of the objects in the ranges, which count objects sorted by the other rank of the pair.
/// @throws std::bad_alloc, as all of them.
[[nodiscard]] Array<std::uint32_t> numbers_in(Ledger& ledger, std::span<const StepRange> ranges) {
  std::uint64_t count = 0;
  for (const StepRange& range : ranges) count += range.end - range.first;
  Array<std::uint32_t> numbers(ledger, count);
  std::uint64_t to = 0;
  for (const StepRange& range : ranges)
    for (std::uint64_t k = range.first; k < range.end; ++k)
      numbers[to++] = static_cast<std::uint32_t>(k);
  return numbers;
}

/// Places in the list of exports of those that leave in a step, ascending.
[[nodiscard]] Array<std::uint32_t> places_of_exports(Ledger& ledger,
                                                     std::span<const StepRange> ranges,
                                                     const ObjectList& exports) {
  Array<std::uint32_t> leaving = numbers_in(ledger, ranges);
  for (std::uint32_t& place : leaving) place = static_cast<std::uint32_t>(exports.sorted(place));
  std::ranges::sort(leaving);
  return leaving;
}

/// Room for one of the lists that mid gets.
[[nodiscard]] ObjectList step_list(Context& context, std::uint64_t count, bool with_parts) {
  ObjectList list(context.ledger);
  list.allocate(context.ledger, context.callbacks.entries(), count, with_parts);
  return list;
}

/// The exports at these places.
[[nodiscard]] ObjectList list_of_exports(Context& context, const ObjectList& exports,
                                         std::span<const std::uint32_t> places) {
  ObjectList list = step_list(context, places.size(), context.agreed.with_parts);
  for (std::size_t k = 0; k < places.size(); ++k)
    list.set(context.callbacks.entries(), k, exports.ids, places[k], exports.procs[places[k]],
             exports.destinations()[places[k]]);
  return list;
}

/// The imports of these ranges: in the order of the list that leads, or else by source.
[[nodiscard]] ObjectList list_of_imports(Context& context, const Imports& imports,
                                         std::span<const StepRange> ranges) {
  Array<std::uint32_t> numbers = numbers_in(context.ledger, ranges);
  if (imports.places.size() > 0)
    std::ranges::sort(numbers, {}, [&](std::uint32_t k) { return imports.places[k]; });
  const bool with_parts = imports.parts.size() > 0;
  ObjectList list = step_list(context, numbers.size(), with_parts);
  const ObjectIds ids{imports.gids, const_cast<ZOLTAN_ID_PTR>(imports.lids.data())};
  // Fast for numbers that ascend.
  auto source_of = [&, source = std::size_t{0},
                    first = std::uint64_t{0}](std::uint64_t number) mutable {
    if (number < first) source = first = 0;
    while (number >= first + imports.sources[source].count)
      first += imports.sources[source++].count;
    return imports.sources[source].rank;
  };
  std::uint64_t to = 0;
  for (const std::uint32_t k : numbers)
    list.set(context.callbacks.entries(), to++, ids, k, source_of(k),
             with_parts ? imports.parts[k] : 0);
  return list;
}

/// The objects at these places of the caller's leading list, which counts only objects that move,
/// and those that stay: for the first step, in the caller's order.
[[nodiscard]] ObjectList list_with_staying(Context& context,
                                           std::span<const std::uint32_t> places) {
  const MigrationList& user = context.user.leading();
  const int own = context.channel.rank();
  const bool exports = context.agreed.exports_given;
  ObjectList list =
      step_list(context, places.size() + context.user.staying, context.agreed.with_parts);
  std::uint64_t moving = 0;
  std::uint64_t to = 0;
  auto next = places.begin();
  for (int k = 0; k < user.count; ++k) {
    const int rank = user.procs[k];
    if (rank != own && (next == places.end() || *next != moving++)) continue;
    if (rank != own) ++next;
    // A rank that gives no parts where others do has them equal to the ranks.
    const int part = user.parts != nullptr ? user.parts[k] : exports ? rank : own;
    list.set(context.callbacks.entries(), to++, user.ids, static_cast<std::uint64_t>(k), rank,
             part);
  }
  return list;
}

/// STEPS: packs a message when it is its turn.
class PackingSender final : public StepSender {
 public:
  PackingSender(Context& context, const ObjectList& exports, std::span<const int> sizes,
                const Scratch& scratch)
      : StepSender(context, exports, sizes, scratch.chunk) {
    for (const int size : sizes) capacity_ = std::max(capacity_, static_cast<std::uint64_t>(size));
    const bool large = capacity_ + object_bytes_ > chunk_;
    if (large && 2 * capacity_ > scratch.budget / 2) buffers_ = 1;
    capacity_ = std::min(std::max(chunk_, capacity_), std::max(sum_of(sizes), std::uint64_t{1}));
    const std::uint64_t most =
        std::min<std::uint64_t>(std::max<std::uint64_t>(chunk_ / object_bytes_, 1), sizes.size());
    again_ = Array<int>(context.ledger, most);
    offsets_ = Array<int>(context.ledger, most);
    if (exports.grouped) return;
    const EntryCounts& entries = context.callbacks.entries();
    destinations_ = Array<int>(context.ledger, most);
    gids_ = Array<ZOLTAN_ID_TYPE>(context.ledger, most * static_cast<std::uint64_t>(entries.gid));
    lids_ = Array<ZOLTAN_ID_TYPE>(context.ledger, most * static_cast<std::uint64_t>(entries.lid));
  }

  [[nodiscard]] std::size_t buffers() const override { return buffers_; }
  /// Memory for packed objects.
  [[nodiscard]] std::uint64_t memory_bytes() const { return buffers_ * capacity_; }
  /// Takes it. @throws std::bad_alloc.
  void allocate() { context_.workspace.sent.reserve(memory_bytes(), 2 * chunk_); }

 private:
  struct Gathered {
    ObjectIds ids;
    int* destinations;
  };

  std::byte* own_objects(std::size_t pair, std::uint64_t first, std::uint64_t end, std::uint64_t,
                         std::byte* shared, std::size_t buffer) override {
    std::byte* const own = context_.workspace.sent.data() + buffer * capacity_;
    std::byte* const memory = shared != nullptr ? shared : own;
    // After a failure the others still get what they wait for; they learn of it before they use it.
    if (!diagnostic) pack(pair, first, end, memory);
    return memory;
  }

  /// The objects of a message consecutive, as the callbacks want them.
  Gathered gather(std::uint64_t first, std::uint64_t count) {
    const EntryCounts& entries = context_.callbacks.entries();
    if (exports_.grouped)
      return {exports_.ids.from(entries, first), exports_.destinations() + first};
    const ObjectIds gathered{gids_.data(), lids_.data()};
    for (std::uint64_t k = 0; k < count; ++k) {
      const std::uint64_t from = exports_.order[first + k];
      exports_.ids.copy(entries, from, gathered, k);
      destinations_[k] = exports_.destinations()[from];
    }
    return {gathered, destinations_.data()};
  }

  void pack(std::size_t pair, std::uint64_t first, std::uint64_t end, std::byte* memory) {
    const std::uint64_t count = end - first;
    const Gathered objects = gather(first, count);
    std::uint64_t offset = 0;
    for (std::uint64_t k = 0; k < count; ++k) {
      offsets_[k] = static_cast<int>(offset);
      offset += static_cast<std::uint64_t>(sizes_[first + k]);
    }
    ++context_.report.batches;
    const observe::TraceSpan span(context_.trace, observe::TraceKind::gather, "pack");
    diagnostic = context_.callbacks.pack(
        {objects.ids,
         objects.destinations,
         {again_.data(), count},
         {offsets_.data(), count},
         memory,
         context_.parameters.options.verify ? &context_.ledger : nullptr},
        sizes_.subspan(first, count), true, first, context_.report.objects_packed);
    if (diagnostic || !context_.parameters.options.verify) return;
    for (std::uint64_t k = 0; k < count; ++k)
      checksums_.add(pair, memory + offsets_[k], sizes_[first + k]);
  }

  std::uint64_t capacity_ = 0;
  std::size_t buffers_ = 2;
  Array<int> again_, offsets_, destinations_;
  Array<ZOLTAN_ID_TYPE> gids_, lids_;
};

class Steps {
 public:
  Steps(Context& context, const ObjectList& exports, Array<int>& sizes, Imports& imports,
        const Scratch& scratch, std::optional<Diagnostic> mine)
      : context_(context),
        exports_(exports),
        imports_(imports),
        scratch_(scratch),
        local_ids_(context, exports) {
    if (!mine)
      mine = within_memory("the sizes", [&] {
        // In the order of the destinations; the list's own order is not needed any more.
        if (!exports.grouped) sizes = exports.sorted(context.ledger, {sizes.data(), sizes.size()});
      });
    sizes_ = {sizes.data(), sizes.size()};
    if (mine) std::fill(sizes.begin(), sizes.end(), 0);  // until all ranks know
    receive_lists(context, exports, sizes_, true, imports);
    if (!mine) mine = local_ids_.begin();
    if (!mine)
      mine = check_everything(context_, "sends and receives",
                              context_.report.bytes_exported + context_.report.bytes_imported);
    if (!mine) mine = within_memory("the steps", [&] { make_parts(); });
    const std::uint64_t room = arrivals();
    const std::uint64_t besides = mine ? 0 : sender_->memory_bytes();
    most_steps_ = own_steps_;
    mpi::Agreement agreement;
    agreement.largest(most_steps_);
    memory_ = make_room(context_, exports_, imports_, scratch_, {room, besides, true}, agreement,
                        std::move(mine), [&] { sender_->allocate(); });
    sender_->parked().use(memory_ + room);
  }

  void run() {
    // At least one step, so that mid runs where nothing moves, as it does in HOLD. PHASED finds out
    // as it goes, and so do all where the memory callbacks decide.
    const bool open = context_.parameters.has_phases() || context_.agreed.memory_fn;
    const std::uint64_t all = open ? 0 : std::max<std::uint64_t>(1, most_steps_);
    is_single_ = all == 1;
    run_steps(context_,
              {*planner_, *division_, *sender_, *receiver_, memory_, step_limit(), arrival_bytes(),
               false},
              own_steps_, all, [&] { finish_step(); });
    if (!context_.parameters.options.verify) return;
    mpi::agree(context_.channel,
               sender_->checksums().compare(context_.channel, context_.ledger, *received_));
    context_.report.verified = 1;
  }

 private:
  /// Bytes of lists for an object that arrives in a step.
  [[nodiscard]] std::uint64_t arrival_bytes() const {
    const std::uint64_t one = context_.callbacks.entries().bytes() + 2 * sizeof(int);
    return context_.agreed.mid ? 2 * one : one;  // of mid, and of the unpacking
  }

  void make_parts() {
    Ledger& ledger = context_.ledger;
    sender_ = std::make_unique<PackingSender>(context_, exports_, sizes_, scratch_);
    receiver_ = std::make_unique<StepReceiver>(context_, imports_.all_sizes(), scratch_.chunk,
                                               Placement::packed);
    planner_ = std::make_unique<StepPlanner>(ledger, imports_.sources, imports_.all_sizes(),
                                             arrival_bytes(), context_.channel.rank());
    division_ = make_division(context_, imports_.sources);
    received_ = std::make_unique<Checksums>(ledger, imports_.sources);
    own_steps_ =
        context_.parameters.has_phases() ? 0 : planner_->count_steps(*division_, step_limit());
  }

  /// What arrives in a step at most.
  [[nodiscard]] std::uint64_t arrivals() const {
    std::uint64_t largest = 0;
    for (const int size : imports_.all_sizes())
      largest = std::max(largest, static_cast<std::uint64_t>(size));
    // Where objects of others may wait, all of it.
    const std::uint64_t used = context_.parameters.parks()
                                   ? step_limit()
                                   : std::min(step_limit(), context_.report.bytes_imported);
    return std::max(largest, used);
  }

  [[nodiscard]] std::uint64_t step_limit() const { return std::min(scratch_.step, largest_batch); }

  /// Everything has arrived everywhere: the application frees, runs mid, and unpacks.
  void finish_step() {
    for (const StepRange& range : sender_->ranges())
      context_.report.objects_sent += range.end - range.first;
    std::optional<Diagnostic>& diagnostic = sender_->diagnostic;
    Array<std::uint32_t> leaving;
    diagnostic = within_memory("the lists of a step", [&] {
      if (context_.agreed.mid || context_.callbacks.has_free())
        leaving = places_of_exports(context_.ledger, sender_->ranges(), exports_);
    });
    for (const std::uint32_t place : leaving)
      if (!diagnostic) diagnostic = context_.callbacks.free_one(exports_.ids, place);
    // Also after a failure of this rank: mid may communicate, and the others are on their way.
    if (context_.agreed.mid) {
      auto failed = call_mid(leaving);
      if (!failed) failed = context_.callbacks.missing();
      if (!diagnostic) diagnostic = std::move(failed);
    }
    if (!diagnostic) diagnostic = unpack_step();
    if (!diagnostic) diagnostic = local_ids_.after_step(*sender_);
  }

  /// With the objects of the step; the only one gets the lists that the caller gave, as in HOLD.
  std::optional<Diagnostic> call_mid(std::span<const std::uint32_t> leaving) {
    const UserLists& user = context_.user;
    std::optional<ObjectList> in, out;
    std::optional<Diagnostic> no_memory = within_memory("the lists of a step", [&] {
      if (!is_single_ || !user.imports_given()) in.emplace(imports_of_step());
      if (!is_single_ || !user.exports_given()) out.emplace(exports_of_step(leaving));
    });
    if (!no_memory)
      return context_.callbacks.mid(in ? in->as_list() : user.imports,
                                    out ? out->as_list() : user.exports);
    context_.callbacks.mid({0, {}, nullptr, nullptr}, {0, {}, nullptr, nullptr});
    return no_memory;
  }

  /// Objects that are listed and stay come with the first step.
  [[nodiscard]] bool brings_staying(bool exports) const {
    return context_.user.staying > 0 && context_.report.steps == 1 &&
           context_.agreed.exports_given == exports;
  }
  [[nodiscard]] ObjectList exports_of_step(std::span<const std::uint32_t> leaving) {
    return brings_staying(true) ? list_with_staying(context_, leaving)
                                : list_of_exports(context_, exports_, leaving);
  }
  [[nodiscard]] ObjectList imports_of_step() {
    if (!brings_staying(false)) return list_of_imports(context_, imports_, planner_->ranges());
    Array<std::uint32_t> places = numbers_in(context_.ledger, planner_->ranges());
    for (std::uint32_t& place : places)
      if (imports_.places.size() > 0) place = imports_.places[place];
    std::ranges::sort(places);
    return list_with_staying(context_, places);
  }

  std::optional<Diagnostic> unpack_step() {
    Vector<ArrivedRange> ranges(context_.ledger);
    ranges.reserve(planner_->ranges().size());
    std::byte* next = memory_;
    for (const StepRange& range : planner_->ranges()) {
      ranges.push_back({range.pair, range.first - planner_->first_of(range.pair), range.first,
                        range.first, range.end - range.first, next});
      next += sum_of(imports_.sizes_of(ranges.back()));
    }
    // As in HOLD: where the objects of each source stand together in the list that leads.
    if (imports_.blocked)
      std::ranges::sort(ranges, {},
                        [&](const ArrivedRange& range) { return imports_.places[range.id]; });
    if (context_.parameters.options.verify) add_checksums(*received_, imports_, ranges);
    return unpack(context_, imports_, ranges);
  }

  Context& context_;
  const ObjectList& exports_;
  Imports& imports_;
  const Scratch& scratch_;
  std::span<const int> sizes_;
  std::byte* memory_ = nullptr;  ///< of what arrives in a step
  std::uint64_t own_steps_ = 0;
  std::uint64_t most_steps_ = 0;  ///< of any rank
  bool is_single_ = false;        ///< there is one step, as is known beforehand
  LocalIdCheck local_ids_;
  std::unique_ptr<PackingSender> sender_;
  std::unique_ptr<StepReceiver> receiver_;
  std::unique_ptr<StepPlanner> planner_;
  std::unique_ptr<Division> division_;
  std::unique_ptr<Checksums> received_;
};

}  // namespace

void migrate_in_steps(Context& context, const ObjectList& exports, Array<int>& sizes,
                      Imports& imports, const Scratch& scratch, std::optional<Diagnostic> mine) {
  const double start = mpi::now();
  Steps steps(context, exports, sizes, imports, scratch, std::move(mine));
  const double listed = mpi::now();
  context.report.list_seconds += listed - start;
  steps.run();
  context.report.move_seconds += mpi::now() - listed;
}

}  // namespace valet::zoltan
