// SPDX-License-Identifier: BSD-3-Clause
#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "geometry/shared_objects.hpp"
#include "junction/file/file_transfers.hpp"
#include "junction/link.hpp"
#include "junction/numbered_blocks.hpp"
#include "junction/numbered_ragged.hpp"
#include "junction/ragged_room.hpp"
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

/// What is wrong with what was chosen for another group, if anything.
std::optional<Diagnostic> check_map(const BlockChoice& choice, Direction direction,
                                    std::uint64_t count, const mpi::RankRange& other) {
  if (choice.range) return invalid("a range of blocks is got from a file only; get all of them");
  if (direction == Direction::get) return std::nullopt;
  if (!choice.ranks && count > 0)
    return invalid(
        "it puts blocks to other ranks, but gives none; give a rank for each block, or "
        "for blocks of one size a layout");
  const std::span<const int> ranks = choice.ranks.value_or(std::span<const int>());
  if (ranks.size() != count)
    return invalid("it puts ", count, " blocks, but gives ", ranks.size(),
                   " ranks; give one for each block");
  const auto wrong =
      std::ranges::find_if(ranks, [&](int rank) { return rank < 0 || rank >= other.count; });
  if (wrong == ranks.end()) return std::nullopt;
  return diagnose(ErrorCode::rank_out_of_range, "block ", wrong - ranks.begin(), " is put to rank ",
                  *wrong, ", but the other side of the junction has ranks 0 to ", other.count - 1,
                  "; ranks count from 0: fix them, nothing has moved");
}

/// The same for a file.
void agree_on_file(const FileEnd& file, const BlockChoice& choice) {
  mpi::agree(file.channel(),
             choice.ranks ? std::optional(invalid("a file has no ranks to put blocks to; put them "
                                                  "without, any ranks get them later"))
                          : std::nullopt);
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
  BlockTransfer(Description description, StorageFor storage_for, std::uint64_t count,
                const BlockChoice& choice)
      : Transfer(std::move(description)),
        storage_for_(std::move(storage_for)),
        count_(count),
        choice_(choice) {}

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
  Report store(FileEnd& file) override {
    agree_on_file(file, choice_);
    return store_blocks(file, mine(), storage_for_(0), count_);
  }
  Report load(FileEnd& file) override {
    return load_blocks(file, mine(), storage_for_, choice_.range);
  }

 protected:
  /// Makes the map, in what the ledger counts, and the plan. Collective over both sides.
  virtual Plan make_plan(const Link& link, const Description& theirs, const BlockStorage& storage,
                         Ledger& ledger) = 0;

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] const BlockChoice& choice() const { return choice_; }
  /// What the application's function throws, if anything.
  std::optional<Diagnostic> make_storage(std::uint64_t blocks) {
    detail::FirstFailure failure;
    const detail::LeaveReserve leave;
    failure.attempt("the function that makes storage for what a junction gets",
                    [&] { storage_ = storage_for_(blocks); });
    return failure.diagnostic("nothing has moved");
  }

 private:
  StorageFor storage_for_;
  std::optional<BlockStorage> storage_;
  std::uint64_t count_;
  BlockChoice choice_;
};

/// To ranks that the side which puts gives.
class MappedBlocks final : public BlockTransfer {
 public:
  MappedBlocks(Direction direction, StorageFor storage_for, std::uint64_t count,
               const BlockChoice& choice)
      : BlockTransfer({.direction = direction, .content = Content::blocks, .label = choice.label},
                      std::move(storage_for), count, choice) {}

  [[nodiscard]] std::optional<Diagnostic> check(const Link& link) const override {
    return check_map(choice(), mine().direction, count(), link.other());
  }

 private:
  Plan make_plan(const Link& link, const Description&, const BlockStorage& storage,
                 Ledger& ledger) override {
    const Array<int> both = on_both(link, ledger, choice().ranks.value_or(std::span<const int>()));
    return plan_to_ranks(link.communicator(), storage, count(), {both.data(), both.size()},
                         options_of(link));
  }
};

/// Blocks that a layout numbers on either side, seen from one rank.
class Numbers {
 public:
  /// Collective over both sides. @param count  Blocks that this rank puts.
  Numbers(const Link& link, const Description& mine, const Description& theirs, std::uint64_t count)
      : first_target_(link.other().first), puts_(mine.direction == Direction::put) {
    const mpi::Channel channel = mpi::Channel::open_for_call(link.communicator());
    own_rank_ = channel.rank() - link.own().first;
    std::array<std::uint64_t, 1> objects{count};
    mpi::sum(channel, objects);
    const ObjectLayout &from = *(puts_ ? mine : theirs).objects,
                       &to = *(puts_ ? theirs : mine).objects;
    const int sources = (puts_ ? link.own() : link.other()).count,
              targets = (puts_ ? link.other() : link.own()).count;
    auto wrong = plan::check_layout(from, "the layout that is put", objects[0], sources);
    if (!wrong) wrong = plan::check_layout(to, "the layout that is got", objects[0], targets);
    mpi::agree(channel, wrong);
    from_.emplace(plan::side_of(from, objects[0], sources));
    to_.emplace(plan::side_of(to, objects[0], targets));
    if (puts_) wrong = check_put(*from_, own_rank_, count);
    mpi::agree(channel, wrong);
  }

  /// Blocks that this rank gets.
  [[nodiscard]] std::uint64_t due() const {
    return puts_ ? 0 : static_cast<std::uint64_t>(to_->count(own_rank_));
  }
  [[nodiscard]] std::optional<Diagnostic> check_slots(std::uint64_t slots) const {
    return puts_ ? std::nullopt : check_got(*to_, own_rank_, slots);
  }
  /// Where those go that it puts, in the order of their slots.
  void find(Array<Address>& addresses) const {
    layout::ArrayRow row;
    const auto take = [&](int rank, const layout::ObjectRun& run) {
      place(addresses, *to_, first_target_, rank, run);
    };
    if (puts_ && own_rank_ < from_->ranks())
      from_->for_each_run(own_rank_,
                          [&](const layout::ObjectRun& run) { to_->cut(row, run, take); });
  }

 private:
  int first_target_, own_rank_ = 0;
  bool puts_;
  std::optional<layout::ObjectSide> from_, to_;
};

/// From a layout on one side to one on the other.
class NumberedBlocks final : public BlockTransfer {
 public:
  NumberedBlocks(Direction direction, StorageFor storage_for, std::uint64_t count,
                 const BlockChoice& choice)
      : BlockTransfer({.direction = direction,
                       .content = Content::numbered_blocks,
                       .label = choice.label,
                       .objects = choice.layout},
                      std::move(storage_for), count, choice) {}

  [[nodiscard]] std::optional<Diagnostic> check(const Link&) const override { return std::nullopt; }

 private:
  Plan make_plan(const Link& link, const Description& theirs, const BlockStorage& storage,
                 Ledger& ledger) override {
    const Numbers numbers(link, mine(), theirs, count());
    const bool puts = mine().direction == Direction::put;
    Array<Address> addresses;
    std::optional<Diagnostic> wrong = puts ? std::nullopt : make_storage(numbers.due());
    if (!wrong) wrong = numbers.check_slots(storage.slots());
    if (!wrong)
      wrong = detail::unless_out_of_memory(
          [&] {
            addresses = Array<Address>(ledger, static_cast<std::size_t>(count()));
            numbers.find(addresses);
          },
          no_memory);
    mpi::agree(mpi::Channel::open_for_call(link.communicator()), wrong);
    return plan_to_slots(link.communicator(), storage, count(),
                         {addresses.data(), addresses.size()}, options_of(link));
  }
};

class RaggedTransfer final : public Transfer {
 public:
  RaggedTransfer(Direction direction, const RaggedStorage& storage, std::uint64_t count,
                 const BlockChoice& choice)
      : Transfer({.direction = direction,
                  .content = Content::ragged_blocks,
                  .label = choice.label,
                  .objects = choice.layout}),
        storage_(storage),
        count_(count),
        choice_(choice) {}

  [[nodiscard]] std::optional<Diagnostic> check(const Link& link) const override {
    if (choice_.layout) return std::nullopt;
    return check_map(choice_, mine().direction, count_, link.other());
  }
  Report run(const Link& link, const Description& theirs) override {
    if (choice_.layout) return pass(link, theirs);
    Ledger ledger;
    const Array<int> both = on_both(link, ledger, choice_.ranks.value_or(std::span<const int>()));
    return migrate(link.communicator(), storage_, count_, {both.data(), both.size()},
                   options_of(link));
  }
  Report store(FileEnd& file) override {
    agree_on_file(file, choice_);
    return store_ragged(file, mine(), storage_, count_);
  }
  Report load(FileEnd& file) override { return load_ragged(file, mine(), storage_, choice_.range); }

 private:
  /// Numbered ones, which stay where they are put.
  Report pass(const Link& link, const Description& theirs) {
    storage_.refresh();
    agree_on_arenas(mpi::Channel::open_for_call(link.communicator()), storage_,
                    check_blocks(storage_, count_));
    const Numbers numbers(link, mine(), theirs, count_);
    const bool puts = mine().direction == Direction::put;
    const std::size_t arenas = storage_.fields().size();
    Ledger ledger;
    NumberedRagged blocks(link.communicator(), link, storage_, ledger);
    blocks.allocate(count_, puts ? std::nullopt : std::optional(numbers.due()), {});
    numbers.find(blocks.addresses);
    for (std::size_t a = 0; a < arenas; ++a) {
      const ragged::Arena arena = ragged::arena_of(storage_.fields()[a]);
      for (std::size_t k = 0; k < count_; ++k) blocks.lengths.length(k, a) = arena.length_of(k);
    }
    blocks.pass_lengths({}, theirs.name());
    for (std::size_t a = 0; a < arenas + storage_.columns().size(); ++a) blocks.pass(a);
    if (link.options.verify) blocks.verify();
    return blocks.finish();
  }

  RaggedStorage storage_;
  std::uint64_t count_;
  BlockChoice choice_;
};

/// A storage of which some call knows how many blocks it gets, and enlarges it if it can.
StorageFor always(const BlockStorage& storage) {
  return [storage](std::uint64_t blocks) {
    if (storage.grows() && storage.slots() < blocks) storage.grow(blocks);
    return storage;
  };
}

std::shared_ptr<Transfer> blocks(Direction direction, StorageFor storage_for, std::uint64_t count,
                                 const BlockChoice& choice) {
  if (choice.layout)
    return std::make_shared<NumberedBlocks>(direction, std::move(storage_for), count, choice);
  return std::make_shared<MappedBlocks>(direction, std::move(storage_for), count, choice);
}

}  // namespace

std::shared_ptr<Transfer> put_blocks(const BlockStorage& storage, std::uint64_t count,
                                     const BlockChoice& choice) {
  return blocks(Direction::put, always(storage), count, choice);
}

std::shared_ptr<Transfer> get_blocks(StorageFor storage_for, const BlockChoice& choice) {
  return blocks(Direction::get, std::move(storage_for), 0, choice);
}

std::shared_ptr<Transfer> get_blocks(const BlockStorage& storage, const BlockChoice& choice) {
  return get_blocks(always(storage), choice);
}

std::shared_ptr<Transfer> put_ragged(const RaggedStorage& storage, std::uint64_t count,
                                     const BlockChoice& choice) {
  return std::make_shared<RaggedTransfer>(Direction::put, storage, count, choice);
}

std::shared_ptr<Transfer> get_ragged(const RaggedStorage& storage, const BlockChoice& choice) {
  return std::make_shared<RaggedTransfer>(Direction::get, storage, 0, choice);
}

}  // namespace valet::junction
