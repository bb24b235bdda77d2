// SPDX-License-Identifier: BSD-3-Clause
#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "geometry/shared_objects.hpp"
#include "junction/transfers.hpp"
#include "mpi/agreement.hpp"
#include "mpi/channel.hpp"
#include "plan/object_planner.hpp"
#include <valet/detail/first_failure.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace valet::junction {
namespace {

Options options_of(const Link& link) {
  auto options = link.options_as<Options>();
  options.order = Order::stable;
  return options;
}

const char* const no_memory = "no memory for the destinations of its blocks; nothing has moved";

/// What is wrong with a map to ranks of the other side, if anything.
std::optional<Diagnostic> check_map(std::span<const int> ranks, std::uint64_t count,
                                    const mpi::RankRange& other) {
  if (ranks.size() != count)
    return invalid("it puts ", count, " blocks, but gives ", ranks.size(),
                   " ranks; give one for each block");
  const auto wrong =
      std::ranges::find_if(ranks, [&](int rank) { return rank < 0 || rank >= other.count; });
  if (wrong == ranks.end()) return std::nullopt;
  return diagnose(ErrorCode::rank_out_of_range, "block ", wrong - ranks.begin(), " is put to rank ",
                  *wrong, ", but the other side of the junction has ranks 0 to ", other.count - 1);
}

/// Ranks of the other side, numbered as on the communicator of both. Collective over both sides.
Array<int> on_both(const Link& link, Ledger& ledger, std::span<const int> ranks) {
  Array<int> both;
  mpi::agree(
      mpi::Channel::open_for_call(link.communicator()),
      detail::unless_out_of_memory([&] { both = Array<int>(ledger, ranks.size()); }, no_memory));
  std::ranges::transform(ranks, both.begin(), [&](int rank) { return link.other().first + rank; });
  return both;
}

/// Blocks of one size. Their plan and its execution are those of the whole library, over the ranks
/// of both sides.
class BlockTransfer : public Transfer {
 public:
  BlockTransfer(Description description, StorageFor storage_for, std::uint64_t count)
      : Transfer(std::move(description)), storage_for_(std::move(storage_for)), count_(count) {}

  Report run(const Link& link, const Description& theirs) override {
    const mpi::Channel channel = mpi::Channel::open_for_call(link.communicator());
    Ledger ledger;
    mpi::agree(channel, make_storage(0));
    Plan plan = make_plan(link, theirs, *storage_, ledger);
    mpi::agree(channel, make_storage(plan.required_slots()));
    Report report = execute(plan, *storage_);
    report.peak_extra_bytes += ledger.peak_bytes();
    report.extra_bytes_bound += ledger.peak_bytes();
    return report;
  }

 protected:
  /// Makes the map, in what the ledger counts, and the plan. Collective over both sides.
  virtual Plan make_plan(const Link& link, const Description& theirs, const BlockStorage& storage,
                         Ledger& ledger) = 0;

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] bool puts() const { return mine().direction == Direction::put; }

 private:
  /// What the application's function throws, if anything.
  std::optional<Diagnostic> make_storage(std::uint64_t blocks) {
    detail::FirstFailure failure;
    const detail::LeaveReserve leave;
    failure.attempt("the function that makes storage for what a junction gets",
                    [&] { storage_ = storage_for_(blocks); });
    return failure.diagnostic("nothing has moved");
  }

  StorageFor storage_for_;
  std::optional<BlockStorage> storage_;
  std::uint64_t count_;
};

/// To ranks that the side which puts gives.
class MappedBlocks final : public BlockTransfer {
 public:
  MappedBlocks(Direction direction, StorageFor storage_for, std::uint64_t count,
               std::span<const int> ranks)
      : BlockTransfer({direction, Content::blocks}, std::move(storage_for), count), ranks_(ranks) {}

  [[nodiscard]] std::optional<Diagnostic> check(const Link& link) const override {
    return check_map(ranks_, count(), link.other());
  }

 private:
  Plan make_plan(const Link& link, const Description&, const BlockStorage& storage,
                 Ledger& ledger) override {
    const Array<int> both = on_both(link, ledger, ranks_);
    return plan_to_ranks(link.communicator(), storage, count(), {both.data(), both.size()},
                         options_of(link));
  }

  std::span<const int> ranks_;
};

/// From a layout on one side to one on the other.
class NumberedBlocks final : public BlockTransfer {
 public:
  NumberedBlocks(Direction direction, const BlockStorage& storage, std::uint64_t count,
                 const ObjectLayout& layout)
      : BlockTransfer(
            {.direction = direction, .content = Content::numbered_blocks, .objects = layout},
            [storage](std::uint64_t) { return storage; }, count),
        slots_(storage.slots()) {}

  [[nodiscard]] std::optional<Diagnostic> check(const Link&) const override { return std::nullopt; }

 private:
  static std::optional<Diagnostic> check_layouts(const ObjectLayout& from, int sources,
                                                 const ObjectLayout& to, int targets,
                                                 std::uint64_t objects) {
    if (auto wrong = plan::check_layout(from, "the layout that is put", objects, sources))
      return wrong;
    return plan::check_layout(to, "the layout that is got", objects, targets);
  }
  [[nodiscard]] std::optional<Diagnostic> check_counts() const {
    const auto due = static_cast<std::uint64_t>((puts() ? *from_ : *to_).count(own_rank_));
    if (puts() && due != count())
      return invalid("it puts ", count(), " of ", from_->objects(), " objects, but has ", due,
                     " in its layout; give those");
    if (!puts() && due > slots_)
      return diagnose(ErrorCode::infeasible, "it gets ", due, " of ", from_->objects(),
                      " objects, but has ", slots_, " slots; grow its storage to that many");
    return std::nullopt;
  }

  Plan make_plan(const Link& link, const Description& theirs, const BlockStorage& storage,
                 Ledger& ledger) override {
    const mpi::Channel channel = mpi::Channel::open_for_call(link.communicator());
    std::array<std::uint64_t, 1> objects{count()};
    mpi::sum(channel, objects);
    own_rank_ = channel.rank() - link.own().first;
    const bool is_from = puts();
    const ObjectLayout &from = *(is_from ? mine() : theirs).objects,
                       &to = *(is_from ? theirs : mine()).objects;
    const int sources = (is_from ? link.own() : link.other()).count;
    const int targets = (is_from ? link.other() : link.own()).count;
    mpi::agree(channel, check_layouts(from, sources, to, targets, objects[0]));
    from_.emplace(plan::side_of(from, objects[0], sources));
    to_.emplace(plan::side_of(to, objects[0], targets));
    Array<Address> addresses;
    std::optional<Diagnostic> wrong = check_counts();
    if (!wrong)
      wrong = detail::unless_out_of_memory([&] { addresses = map(ledger, link); }, no_memory);
    mpi::agree(channel, wrong);
    return plan_to_slots(link.communicator(), storage, count(),
                         {addresses.data(), addresses.size()}, options_of(link));
  }

  /// Where the objects go, in the order of their slots.
  [[nodiscard]] Array<Address> map(Ledger& ledger, const Link& link) const {
    if (!puts()) return {};
    Array<Address> addresses(ledger, static_cast<std::size_t>(count()));
    layout::ArrayRow row;
    const auto place = [&](int rank, const layout::ObjectRun& run) {
      std::uint64_t slot = slot_of(rank, run.number);
      for (std::int64_t k = 0; k < run.length; ++k)
        addresses[static_cast<std::size_t>(run.slot + k)] = {link.other().first + rank, slot++};
    };
    if (own_rank_ < from_->ranks())
      from_->for_each_run(own_rank_,
                          [&](const layout::ObjectRun& run) { to_->cut(row, run, place); });
    return addresses;
  }
  /// Where a rank of the other side has an object.
  [[nodiscard]] std::uint64_t slot_of(int rank, std::int64_t number) const {
    if (!to_->is_cyclic()) return static_cast<std::uint64_t>(number - to_->interval(rank).first);
    const BlockCyclic& array = to_->array();
    const BlockCyclic::Extents extents = array.local_extents(rank);
    const BlockCyclic::Extents indices = array.local_indices(layout::indices_of(array, number));
    std::int64_t slot = 0;
    for (std::size_t d = 0; d < extents.size(); ++d) slot = slot * extents[d] + indices[d];
    return static_cast<std::uint64_t>(slot);
  }

  std::uint64_t slots_;
  int own_rank_ = 0;
  std::optional<layout::ObjectSide> from_, to_;
};

class RaggedTransfer final : public Transfer {
 public:
  RaggedTransfer(Direction direction, const RaggedStorage& storage, std::uint64_t count,
                 std::span<const int> ranks)
      : Transfer({direction, Content::ragged_blocks}),
        storage_(storage),
        count_(count),
        ranks_(ranks) {}

  [[nodiscard]] std::optional<Diagnostic> check(const Link& link) const override {
    return check_map(ranks_, count_, link.other());
  }
  Report run(const Link& link, const Description&) override {
    Ledger ledger;
    const Array<int> both = on_both(link, ledger, ranks_);
    return migrate(link.communicator(), storage_, count_, {both.data(), both.size()},
                   options_of(link));
  }

 private:
  RaggedStorage storage_;
  std::uint64_t count_;
  std::span<const int> ranks_;
};

}  // namespace

std::shared_ptr<Transfer> put_blocks(const BlockStorage& storage, std::uint64_t count,
                                     std::span<const int> ranks) {
  return std::make_shared<MappedBlocks>(
      Direction::put, [storage](std::uint64_t) { return storage; }, count, ranks);
}

std::shared_ptr<Transfer> get_blocks(StorageFor storage_for) {
  return std::make_shared<MappedBlocks>(Direction::get, std::move(storage_for), 0,
                                        std::span<const int>());
}

std::shared_ptr<Transfer> put_numbered(const BlockStorage& storage, std::uint64_t count,
                                       const ObjectLayout& layout) {
  return std::make_shared<NumberedBlocks>(Direction::put, storage, count, layout);
}

std::shared_ptr<Transfer> get_numbered(const BlockStorage& storage, const ObjectLayout& layout) {
  return std::make_shared<NumberedBlocks>(Direction::get, storage, 0, layout);
}

std::shared_ptr<Transfer> put_ragged(const RaggedStorage& storage, std::uint64_t count,
                                     std::span<const int> ranks) {
  return std::make_shared<RaggedTransfer>(Direction::put, storage, count, ranks);
}

std::shared_ptr<Transfer> get_ragged(const RaggedStorage& storage) {
  return std::make_shared<RaggedTransfer>(Direction::get, storage, 0, std::span<const int>());
}

}  // namespace valet::junction
