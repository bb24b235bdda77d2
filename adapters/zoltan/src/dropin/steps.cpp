// SPDX-License-Identifier: BSD-3-Clause
#include "steps.hpp"

#include "arrivals.hpp"
#include "mpi/agreement.hpp"
#include "mpi/check.hpp"
#include "step_loop.hpp"

#include <algorithm>
#include <memory>
#include <string>

namespace valet::zoltan {
namespace {

/// Lists of the objects of one step, for mid.
class StepLists {
 public:
  /// @param from  All objects, sorted by rank; `order` where they do not stand so.
  StepLists(Ledger& ledger, const EntryCounts& entries, std::span<const StepRange> ranges,
            std::span<const Peer> peers, const ObjectIds& from, const int* parts,
            const std::uint32_t* order) {
    std::uint64_t count = 0;
    for (const StepRange& range : ranges) count += range.end - range.first;
    gids_ = Array<ZOLTAN_ID_TYPE>(ledger, count * static_cast<std::size_t>(entries.gid));
    lids_ = Array<ZOLTAN_ID_TYPE>(ledger, count * static_cast<std::size_t>(entries.lid));
    procs_ = Array<int>(ledger, count);
    if (parts != nullptr) parts_ = Array<int>(ledger, count);
    list_ = {static_cast<int>(count), {gids_.data(), lids_.data()}, procs_.data(), parts_.data()};
    std::uint64_t to = 0;
    for (const StepRange& range : ranges) {
      for (std::uint64_t k = range.first; k < range.end; ++k, ++to) {
        const std::uint64_t at = order == nullptr ? k : order[k];
        from.copy(entries, at, list_.ids, to);
        procs_[to] = peers[range.pair].rank;
        if (parts != nullptr) parts_[to] = parts[at];
      }
    }
  }
  [[nodiscard]] const MigrationList& list() const { return list_; }

 private:
  Array<ZOLTAN_ID_TYPE> gids_, lids_;
  Array<int> procs_, parts_;
  MigrationList list_;
};

class Steps {
 public:
  Steps(Context& context, const ObjectList& exports, Array<int>& sizes, Imports& imports,
        const Scratch& scratch, std::optional<Diagnostic> mine)
      : context_(context), exports_(exports), imports_(imports), scratch_(scratch) {
    if (!mine)
      mine = within_memory("the sizes", [&] {
        // In the order of the destinations; the list's own order is not needed any more.
        if (!exports.grouped) sizes = exports.sorted(context.ledger, {sizes.data(), sizes.size()});
      });
    sizes_ = {sizes.data(), sizes.size()};
    if (mine) std::fill(sizes.begin(), sizes.end(), 0);  // until all ranks know
    receive_lists(context, exports, sizes_, true, imports);
    context.report.bytes_imported = sum_of(imports.all_sizes());
    set_up(std::move(mine));
    show_progress(context);
  }

  void run() {
    // At least one step, so that mid runs where nothing moves, as it does in HOLD. PHASED finds out
    // as it goes, and so do all where the memory callbacks decide.
    const bool open = is_phased() || context_.agreed.memory_fn;
    const std::uint64_t all = open ? 0 : std::max<std::uint64_t>(1, most_steps_);
    {
      StepLoop loop(context_, {*planner_, *division_, *sender_, *receiver_, memory_, step_limit(),
                               arrival_bytes(), false});
      loop.run(own_steps_, all, [&] { finish_step(); });
    }
    if (!context_.parameters.verify) return;
    mpi::agree(context_.channel,
               sender_->checksums().compare(context_.channel, context_.ledger, *received_));
    context_.report.verified = 1;
  }

 private:
  [[nodiscard]] const EntryCounts& entries() const { return context_.callbacks.entries(); }

  /// Bytes of lists for an object that arrives in a step.
  [[nodiscard]] std::uint64_t arrival_bytes() const {
    const std::uint64_t unpacking = entries().bytes() + 2 * sizeof(int);
    return context_.agreed.mid ? unpacking + entries().bytes() + 2 * sizeof(int) : unpacking;
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
    own_steps_ = is_phased() ? 0 : planner_->count_steps(*division_, step_limit());
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

  void set_up(std::optional<Diagnostic> mine) {
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
    const std::uint64_t needed = pages_for(room) + pages_for(besides);
    context_.report.budget_raised_bytes += needed - std::min(needed, scratch_.budget);
  }

  [[nodiscard]] bool is_phased() const { return context_.parameters.has_phases(); }

  [[nodiscard]] std::uint64_t step_limit() const { return std::min(scratch_.step, largest_batch); }

  /// Everything has arrived everywhere: the application frees, runs mid, and unpacks.
  void finish_step() {
    for (const StepRange& range : sender_->ranges())
      context_.report.objects_sent += range.end - range.first;
    std::optional<Diagnostic>& diagnostic = sender_->diagnostic;
    diagnostic = free_objects();
    // Also after a failure of this rank: mid may communicate, and the others are on their way.
    if (context_.agreed.mid) {
      auto failed = call_mid();
      if (!failed) failed = context_.callbacks.missing();
      if (!diagnostic) diagnostic = std::move(failed);
    }
    if (!diagnostic) diagnostic = unpack_step();
  }

  std::optional<Diagnostic> free_objects() {
    for (const StepRange& range : sender_->ranges())
      for (std::uint64_t k = range.first; k < range.end; ++k)
        if (auto diagnostic = context_.callbacks.free_one(exports_.ids, exports_.sorted(k)))
          return diagnostic;
    return std::nullopt;
  }

  std::optional<Diagnostic> call_mid() {
    std::optional<StepLists> in, out;
    std::optional<Diagnostic> no_memory = within_memory("the lists of a step", [&] {
      in.emplace(context_.ledger, entries(), planner_->ranges(), imports_.sources,
                 ObjectIds{imports_.gids, imports_.lids.data()}, imports_.parts.data(), nullptr);
      out.emplace(context_.ledger, entries(), sender_->ranges(), exports_.peers, exports_.ids,
                  context_.agreed.with_parts ? exports_.destinations() : nullptr,
                  exports_.grouped ? nullptr : exports_.order.data());
    });
    if (!no_memory) return context_.callbacks.mid(in->list(), out->list());
    context_.callbacks.mid({0, {}, nullptr, nullptr}, {0, {}, nullptr, nullptr});
    return no_memory;
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
    if (context_.parameters.verify) add_checksums(*received_, imports_, ranges);
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
