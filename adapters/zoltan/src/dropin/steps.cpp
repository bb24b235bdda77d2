// SPDX-License-Identifier: BSD-3-Clause
#include "objects/steps.hpp"

#include "arrivals.hpp"
#include "mpi/agreement.hpp"
#include "mpi/check.hpp"
#include "object_checks.hpp"

#include <algorithm>

namespace valet::zoltan {
namespace {

using objects::StepRange;

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

/// The objects behind the callbacks, step by step: packed, freed, mid, unpacked.
class CallbackSteps final : public objects::StepOwner {
 public:
  CallbackSteps(Context& context, const ObjectList& exports, Array<int>& sizes, Imports& imports,
                const objects::Scratch& scratch, std::optional<Diagnostic> mine)
      : context_(context),
        exports_(exports),
        imports_(imports),
        local_ids_(context, exports),
        gathered_(context.ledger) {
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
    if (!mine)
      mine = within_memory("the objects of a message", [&] {
        make_lists(objects::most_in_message(context.call, scratch, exports.count));
      });
    steps_.emplace(context.call, *this,
                   objects::Traffic{exports.peers, imports.sources, sizes_, imports.all_sizes()},
                   scratch, arrival_bytes(), std::move(mine));
    context_.report.budget_raised_bytes += steps_->prepare();
    show_progress(context_);
  }

  void run() {
    agree_on_callbacks(context_, steps_->run());
    steps_->verify();
    context_.report.verified = context_.parameters.options.verify ? 1 : 0;
  }

 private:
  struct Gathered {
    ObjectIds ids;
    int* destinations;
  };

  /// Bytes of lists for an object that arrives in a step.
  [[nodiscard]] std::uint64_t arrival_bytes() const {
    const std::uint64_t one = context_.callbacks.entries().bytes() + 2 * sizeof(int);
    return context_.agreed.mid ? 2 * one : one;  // of mid, and of the unpacking
  }

  /// For the objects of a message.
  void make_lists(std::uint64_t most) {
    again_ = Array<int>(context_.ledger, most);
    offsets_ = Array<int>(context_.ledger, most);
    if (!exports_.grouped) gathered_ = step_list(context_, most, false);
  }

  /// The objects of a message consecutive, as the callbacks want them.
  Gathered gather(std::uint64_t first, std::uint64_t count) {
    const EntryCounts& entries = context_.callbacks.entries();
    if (exports_.grouped)
      return {exports_.ids.from(entries, first), exports_.destinations() + first};
    for (std::uint64_t k = 0; k < count; ++k) {
      const std::uint64_t from = exports_.order[first + k];
      gathered_.set(entries, k, exports_.ids, from, exports_.destinations()[from], 0);
    }
    return {gathered_.ids, gathered_.destinations()};
  }

  std::optional<Diagnostic> pack(std::uint64_t first, std::uint64_t end,
                                 std::byte* memory) override {
    const std::uint64_t count = end - first;
    const Gathered objects = gather(first, count);
    std::uint64_t offset = 0;
    for (std::uint64_t k = 0; k < count; ++k) {
      offsets_[k] = static_cast<int>(offset);
      offset += static_cast<std::uint64_t>(sizes_[first + k]);
    }
    ++context_.report.batches;
    return context_.callbacks.pack(
        {objects.ids,
         objects.destinations,
         {again_.data(), count},
         {offsets_.data(), count},
         memory,
         context_.parameters.options.verify ? &context_.ledger : nullptr},
        sizes_.subspan(first, count), true, first, context_.report.objects_packed);
  }

  [[nodiscard]] bool limits_steps() const override { return context_.agreed.memory_fn; }
  [[nodiscard]] const char* asks() const override { return memory_function; }
  std::optional<Diagnostic> find_room(std::uint64_t& bytes) override {
    return context_.find_room(bytes);
  }
  void arrived(std::uint64_t bytes) override { context_.progress.advance(bytes); }

  /// Everything has arrived everywhere: the application frees, runs mid, and unpacks.
  std::optional<Diagnostic> finish_step() override {
    for (const StepRange& range : steps_->sender().ranges())
      context_.report.objects_sent += range.end - range.first;
    Array<std::uint32_t> leaving;
    std::optional<Diagnostic> diagnostic = within_memory("the lists of a step", [&] {
      if (context_.agreed.mid || context_.callbacks.has_free())
        leaving = places_of_exports(context_.ledger, steps_->sender().ranges(), exports_);
    });
    for (const std::uint32_t place : leaving)
      if (!diagnostic) diagnostic = context_.callbacks.free_one(exports_.ids, place);
    // Also after a failure of this rank: mid may communicate, and the others are on their way.
    if (context_.agreed.mid) {
      auto failed = call_mid(leaving);
      if (!failed) failed = context_.callbacks.missing();
      if (!diagnostic) diagnostic = std::move(failed);
    }
    if (!diagnostic)
      diagnostic = within_memory("the list of what has arrived", [&] { return unpack_step(); });
    if (!diagnostic) diagnostic = local_ids_.after_step(steps_->sender());
    return diagnostic;
  }

  /// With the objects of the step; the only one gets the lists that the caller gave, as in HOLD.
  std::optional<Diagnostic> call_mid(std::span<const std::uint32_t> leaving) {
    const UserLists& user = context_.user;
    const bool is_single = steps_->is_single();
    std::optional<ObjectList> in, out;
    std::optional<Diagnostic> no_memory = within_memory("the lists of a step", [&] {
      if (!is_single || !user.imports_given()) in.emplace(imports_of_step());
      if (!is_single || !user.exports_given()) out.emplace(exports_of_step(leaving));
    });
    if (!no_memory)
      return context_.callbacks.mid(in ? in->as_list() : user.imports,
                                    out ? out->as_list() : user.exports);
    context_.callbacks.mid({0, {}, nullptr, nullptr}, {0, {}, nullptr, nullptr});
    return no_memory;
  }

  /// Objects that are listed and stay come with the first step.
  [[nodiscard]] bool brings_staying(bool exports) const {
    return context_.user.staying > 0 && context_.call.steps == 1 &&
           context_.agreed.exports_given == exports;
  }
  [[nodiscard]] ObjectList exports_of_step(std::span<const std::uint32_t> leaving) {
    return brings_staying(true) ? list_with_staying(context_, leaving)
                                : list_of_exports(context_, exports_, leaving);
  }
  [[nodiscard]] ObjectList imports_of_step() {
    const std::span<const StepRange> ranges = steps_->arrived_ranges();
    if (!brings_staying(false)) return list_of_imports(context_, imports_, ranges);
    Array<std::uint32_t> places = numbers_in(context_.ledger, ranges);
    for (std::uint32_t& place : places)
      if (imports_.places.size() > 0) place = imports_.places[place];
    std::ranges::sort(places);
    return list_with_staying(context_, places);
  }

  std::optional<Diagnostic> unpack_step() {
    Vector<ArrivedRange> ranges(context_.ledger);
    ranges.reserve(steps_->arrived_ranges().size());
    steps_->for_each_arrived([&](const objects::ArrivedObjects& arrived) {
      ranges.push_back({arrived, arrived.first});
    });
    // As in HOLD: where the objects of each source stand together in the list that leads.
    if (imports_.blocked)
      std::ranges::sort(ranges, {},
                        [&](const ArrivedRange& range) { return imports_.places[range.id]; });
    return unpack(context_, imports_, ranges);
  }

  Context& context_;
  const ObjectList& exports_;
  Imports& imports_;
  std::span<const int> sizes_;
  LocalIdCheck local_ids_;
  Array<int> again_, offsets_;
  ObjectList gathered_;  ///< where the exports do not stand by destination
  std::optional<objects::Steps> steps_;
};

}  // namespace

void migrate_in_steps(Context& context, const ObjectList& exports, Array<int>& sizes,
                      Imports& imports, const objects::Scratch& scratch,
                      std::optional<Diagnostic> mine) {
  const double start = mpi::now();
  CallbackSteps steps(context, exports, sizes, imports, scratch, std::move(mine));
  const double listed = mpi::now();
  context.report.list_seconds += listed - start;
  steps.run();
  context.report.move_seconds += mpi::now() - listed;
}

}  // namespace valet::zoltan
