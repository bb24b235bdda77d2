// SPDX-License-Identifier: BSD-3-Clause
#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "base/promise.hpp"
#include "base/sizes.hpp"
#include "geometry/shared_objects.hpp"
#include "mpi/agreement.hpp"
#include "operations/plan.hpp"
#include "schedule/shares.hpp"
#include "storage/guarded_backend.hpp"
#include <valet/resize.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace valet {
namespace {

/// What this rank brings along.
struct OwnPart {
  std::uint64_t count = 0;
  std::uint64_t slots = 0;
  std::uint64_t room = 0;           ///< slots that it may have
  std::optional<Diagnostic> wrong;  ///< with the storage
};

OwnPart part_of(const BlockStorage& storage, std::uint64_t count) {
  StorageBackend& backend = storage.backend();
  storage::asked([&] { backend.refresh(); });
  const std::uint64_t slots =
      std::min(storage::asked([&] { return backend.slots(); }), detail::most_bytes);
  return {count, slots,
          storage.grows() ? std::max<std::uint64_t>(slots, detail::most_slots) : slots,
          storage::asked([&] { return backend.diagnostic(); })};
}

OwnPart part_of(const RaggedStorage& storage, std::uint64_t count) {
  storage.refresh();
  OwnPart part{count, detail::most_bytes, detail::most_slots, {}};
  for (const RaggedField& field : storage.fields())
    part.slots = std::min(part.slots, field.block_capacity);
  for (const Field& column : storage.columns()) part.slots = std::min(part.slots, column.slots);
  if (!storage.grows()) part.room = part.slots;
  return part;
}

/// Which ranks all blocks go to. Every rank knows the counts and slots of all: 48 bytes per rank.
class Resizing {
 public:
  /// Collective. @throws Error on all ranks alike.
  Resizing(MPI_Comm communicator, const OwnPart& part, int before, int after,
           const ResizeOptions& options)
      : channel_(mpi::Channel::open_for_call(communicator)),
        count_(part.count),
        slots_(part.slots),
        after_(after) {
    const bool by_weight = agree(part, before, options);
    const schedule::RankLoad own{part.count, part.room};
    mpi::gather_everywhere(channel_, own, std::span(loads_));
    for (std::size_t r = 0; r < holders_.size(); ++r) holders_[r] = {0, loads_[r].slots};
    total_ = schedule::sum_of(loads_).blocks;
    require_room();
    schedule::share_equally(holders_, total_, shares_);
    const auto loads_of_holders = std::span(loads_.data(), holders_.size());
    schedule::keep_leftovers(loads_of_holders, shares_);
    keeps_order_ = by_weight || options.balance == ResizeBalance::numbering;
    if (!keeps_order_) return;
    bounds_[0] = 0;
    std::partial_sum(shares_.begin(), shares_.end(), bounds_.begin() + 1);
    if (by_weight) share_by_weight(options.weights);
  }

  /// Whether blocks keep their global order; then rank r gets those from bounds()[r] on.
  [[nodiscard]] bool keeps_order() const { return keeps_order_; }
  [[nodiscard]] std::span<const std::int64_t> bounds() const { return bounds_; }
  /// The rank of each block of this one, which it takes 4 bytes for. Collective.
  std::span<const int> ranks() {
    mpi::agree(channel_,
               detail::unless_out_of_memory(
                   [&] { ranks_ = Array<int>(ledger_, static_cast<std::size_t>(count_)); },
                   "no memory for 4 bytes per block; nothing has moved"));
    const std::span<int> ranks(ranks_.data(), ranks_.size());
    if (!keeps_order_) {
      schedule::move_fewest(loads_, shares_, channel_.rank(), ranks);
      return ranks;
    }
    if (count_ == 0) return ranks;
    layout::ArrayRow row;
    const layout::ObjectRun own{static_cast<std::int64_t>(first_number()), 0,
                                static_cast<std::int64_t>(count_)};
    layout::ObjectSide(bounds()).cut(row, own, [&](int rank, const layout::ObjectRun& part) {
      std::ranges::fill(
          ranks.subspan(static_cast<std::size_t>(part.slot), static_cast<std::size_t>(part.length)),
          rank);
    });
    return ranks;
  }
  /// Adds what this has taken to the report of the move.
  [[nodiscard]] ResizeResult result(Report report) const {
    report.peak_extra_bytes += ledger_.peak_bytes();
    report.extra_bytes_bound += detail::promised_of_rank * loads_.size() +
                                sizeof(int) * ranks_.size() + (leaves() ? slots_ / 4 + 4 : 0);
    return {report.blocks_after, channel_.rank() < after_, std::move(report)};
  }
  [[nodiscard]] bool leaves() const { return channel_.rank() >= after_; }

 private:
  /// @return Whether there are weights.
  bool agree(const OwnPart& part, int before, const ResizeOptions& options) {
    std::optional<bool> has_weights;
    if (part.count > 0) has_weights = !options.weights.empty();
    mpi::Agreement agreement;
    agreement.equal({"active_before"}, before);
    agreement.equal({"active_after"}, after_);
    agreement.equal(
        {"balance",
         [](std::int64_t value) { return std::string(value == 0 ? "count" : "numbering"); }},
        options.balance);
    agreement.equal({"whether there are weights", mpi::yes_or_no,
                     "give weights on all ranks that have blocks, or on none"},
                    has_weights);
    agreement.run(channel_, check(part, before, options.weights));
    return has_weights.value_or(false);
  }

  std::optional<Diagnostic> check(const OwnPart& part, int before,
                                  std::span<const double> weights) {
    for (const auto& [name, active] :
         {std::pair("active_before", before), {"active_after", after_}})
      if (active < 1 || active > channel_.size())
        return invalid(name, " is ", active, "; give 1 to ", channel_.size(),
                       ", the ranks of the communicator");
    if (part.wrong) return part.wrong;
    if (part.count > part.slots)
      return invalid("count is ", part.count, ", but the storage has ", part.slots,
                     " slots; give the number of blocks that it holds");
    if (part.count > 0 && channel_.rank() >= before)
      return invalid("it has ", part.count, " blocks, but only the first ", before,
                     " ranks are active; give a larger active_before");
    if (!weights.empty() && weights.size() != part.count)
      return invalid("there are ", weights.size(), " weights for ", part.count,
                     " blocks; give one for each");
    const auto is_none = [](double weight) { return !(weight >= 0) || std::isinf(weight); };
    const auto bad = std::ranges::find_if(weights, is_none);
    if (bad != weights.end())
      return invalid("the weight of block ", bad - weights.begin(), " is ", std::to_string(*bad),
                     "; give finite weights that are not negative");
    return detail::unless_out_of_memory(
        [&] {
          const auto ranks = static_cast<std::size_t>(channel_.size());
          loads_ = Array<schedule::RankLoad>(ledger_, ranks);
          shares_ = Array<std::uint64_t>(ledger_, ranks);
          holders_ = Array<schedule::RankLoad>(ledger_, static_cast<std::size_t>(after_));
          bounds_ = Array<std::int64_t>(ledger_, ranks + 1);
        },
        "no memory for 48 bytes per rank; nothing has moved");
  }

  /// All ranks know the same.
  void require_room() const {
    const schedule::LoadSum room = schedule::sum_of(holders_);
    if (total_ <= room.slots) return;
    std::uint64_t slots = 0;
    std::size_t enough = 0;
    while (enough < loads_.size() && slots < total_) slots += loads_[enough++].slots;
    const auto ranks = static_cast<std::uint64_t>(after_);
    std::string text =
        joined("the ", total_, " blocks do not fit into the ", room.slots, " slots of ");
    text += after_ == 1 ? "rank 0; " : joined("ranks 0 to ", after_ - 1, "; ");
    if (slots >= total_) text += joined("make ", enough, " ranks active, or ");
    throw Error(ErrorCode::infeasible,
                text + joined("give each of these ranks ", (total_ + ranks - 1) / ranks,
                              " slots; nothing has moved"));
  }

  /// The number of this rank's first block among all.
  [[nodiscard]] std::uint64_t first_number() const {
    return schedule::sum_of({loads_.data(), static_cast<std::size_t>(channel_.rank())}).blocks;
  }

  /// Collective.
  void share_by_weight(std::span<const double> weights) {
    const std::array<double, 1> own{std::accumulate(weights.begin(), weights.end(), 0.0)};
    std::array<double, 1> all = own, below{};
    mpi::sum(channel_, std::span<double>(all));
    mpi::sum_of_lower(channel_, own, below);
    if (std::isinf(all[0])) refuse("the sum of all weights is infinite; give smaller ones");
    if (all[0] == 0) return;
    // Blocks of this rank in each share, then in all shares below.
    std::ranges::fill(shares_, std::uint64_t{0});
    for (const double weight : weights) {
      ++shares_[schedule::share_of(below[0], weight, all[0], holders_.size())];
      below[0] += weight;
    }
    mpi::sum(channel_, std::span(shares_));
    std::partial_sum(shares_.begin(), shares_.end(), bounds_.begin() + 1);
    schedule::fit_bounds(holders_, std::span(bounds_));
  }

  const mpi::Channel channel_;
  Ledger ledger_;
  std::uint64_t count_, slots_;
  int after_;
  std::uint64_t total_ = 0;
  bool keeps_order_ = false;
  Array<schedule::RankLoad> loads_;    ///< of all ranks
  Array<std::uint64_t> shares_;        ///< likewise
  Array<schedule::RankLoad> holders_;  ///< slots of the ranks that are active afterwards
  Array<std::int64_t> bounds_;
  Array<int> ranks_;
};

}  // namespace

ResizeResult resize(MPI_Comm communicator, const BlockStorage& storage, std::uint64_t count,
                    int active_before, int active_after, const ResizeOptions& options) {
  const detail::MemoryReserve reserve;
  const OwnPart part = part_of(storage, count);
  Resizing resizing(communicator, part, active_before, active_after, options);
  Plan plan =
      resizing.keeps_order()
          ? operations::plan_objects(communicator, storage, count, {.bounds = resizing.bounds()},
                                     options.migration)
          : plan_to_ranks(communicator, storage, count, resizing.ranks(), options.migration);
  // Nothing is copied: ranks have agreed already, so this may not fail on one of them.
  std::optional<plan::ReleasedSlots> released;
  if (resizing.leaves() && options.released) {
    plan::State& state = plan::Access::state_of(plan);
    released.emplace(
        plan::ReleasedSlots{options.released, state.frame->callbacks.watch(), "callback released"});
    state.released = &*released;
  }
  return resizing.result(execute(plan, storage));
}

ResizeResult resize(MPI_Comm communicator, const RaggedStorage& storage, std::uint64_t count,
                    int active_before, int active_after, const ResizeOptions& options) {
  const detail::MemoryReserve reserve;
  OwnPart part = part_of(storage, count);
  if (options.released)
    part.wrong = invalid(
        "callback released is not called for blocks of different sizes; leave it out, and "
        "free the arena when the call has returned");
  Resizing resizing(communicator, part, active_before, active_after, options);
  return resizing.result(
      migrate(communicator, storage, count, resizing.ranks(), options.migration));
}

void give_back(void* rows, std::size_t row_bytes, std::uint64_t first,
               std::uint64_t count) noexcept {
  static const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  std::byte* const start = static_cast<std::byte*>(rows) + first * row_bytes;
  const std::uint64_t bytes = count * row_bytes;
  const std::uint64_t behind_page = reinterpret_cast<std::uintptr_t>(start) % page;
  const std::uint64_t skipped = behind_page == 0 ? 0 : page - behind_page;
  // The answer changes nothing: what the system does not take stays.
  if (bytes >= skipped + page)
    static_cast<void>(madvise(start + skipped, (bytes - skipped) / page * page, MADV_DONTNEED));
}

}  // namespace valet
