// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/repair.hpp"

#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "mpi/agreement.hpp"
#include "mpi/neighbour_words.hpp"
#include "mpi/sparse_exchange.hpp"
#include "plan/map_counts.hpp"
#include <valet/repair.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <new>
#include <optional>
#include <string>

namespace valet {
namespace {

using mpi::SparseCount;
using schedule::FlowChange;
using schedule::RankLoad;

Diagnostic no_memory_to_repair(std::uint64_t blocks) {
  return diagnose(ErrorCode::out_of_memory, "no memory to repair a map of ", blocks,
                  " entries; nothing has changed");
}

/// One repair: blocks counted and counts exchanged; where some rank has too few slots, the loads of
/// all ranks, what every rank gives up of its sources' blocks, and new destinations.
class Repair {
 public:
  Repair(const mpi::Channel& channel, const Occupied& occupied, std::span<int> ranks,
         std::uint64_t slots)
      : channel_(channel), occupied_(occupied), ranks_(ranks), slots_(slots) {}

  RepairResult run() {
    count_blocks();
    if (!exchange_counts()) return {};
    gather_loads();
    const schedule::LoadSum sum = schedule::sum_of(loads_);
    if (sum.blocks > sum.slots) throw infeasible(sum);
    schedule::fill_room(loads_, sum.excess, ends_);
    exchange_changes();
    RepairResult result{.changed_in_all = sum.excess};
    for (const FlowChange& change : changes_) result.changed += change.count;
    schedule::change_destinations(ranks_, occupied_.mask(), changes_, ends_);
    return result;
  }

 private:
  /// Finds what is wrong with the map; all ranks meet here.
  void count_blocks() {
    mpi::agree(channel_, ranks_.size() == occupied_.map_size()
                             ? detail::unless_out_of_memory(
                                   [&] { return list_destinations(); },
                                   [&] { return no_memory_to_repair(ranks_.size()); })
                             : plan::bad_map_size(ranks_.size(), occupied_.map_size()));
  }

  std::optional<Diagnostic> list_destinations() {
    plan::DestinationCounts counts(ledger_);
    std::optional<Diagnostic> finding;
    plan::WordOfRanks word{};
    for (std::uint64_t first = 0; first < ranks_.size() && !finding; first += word.size()) {
      const std::uint64_t here = plan::occupied_bits(occupied_, first, ranks_.size());
      plan::read_ranks(word, first, here, [&](std::uint64_t slot) { return ranks_[slot]; });
      plan::for_each_rank(word, here, [&](int rank, std::uint64_t bits, std::uint64_t count) {
        if (rank >= 0 && rank < channel_.size())
          counts[rank].count += count;
        else
          finding =
              plan::bad_destination(first + static_cast<std::uint64_t>(std::countr_zero(bits)),
                                    rank, channel_.size(), "the block in slot ", false);
        return !finding;
      });
    }
    destinations_.reserve(counts.size());
    counts.for_each([&](int rank, std::uint64_t count) {
      if (rank == channel_.rank())
        staying_ = count;
      else
        destinations_.push_back({rank, count});
    });
    std::ranges::sort(destinations_, {}, &SparseCount::rank);
    return finding;
  }

  /// @return Whether some rank has too few slots.
  bool exchange_counts() {
    std::optional<Diagnostic> finding;
    try {
      mpi::exchange_sparse_counts(channel_, ledger_, destinations_, sources_);
    } catch (const std::bad_alloc&) {  // when the exchange is over
      finding = no_memory_to_repair(ranks_.size());
    }
    load_ = {staying_, slots_};
    for (const SparseCount& source : sources_) load_.blocks += source.count;
    mpi::Agreement agreement;
    bool any_excess = load_.excess() > 0;
    agreement.largest(any_excess);
    agreement.run(channel_, finding);
    return any_excess;
  }

  void gather_loads() {
    const auto ranks = static_cast<std::size_t>(channel_.size());
    mpi::agree(channel_, detail::unless_out_of_memory(
                             [&] {
                               loads_ = Array<RankLoad>(ledger_, ranks);
                               ends_ = Array<std::uint64_t>(ledger_, ranks);
                               changes_.reserve(destinations_.size() + 1);
                               given_.reserve(sources_.size());
                             },
                             [&] { return no_memory_to_repair(ranks_.size()); }));
    mpi::gather_everywhere(channel_, load_, std::span(loads_));
  }

  /// A rank with too many blocks tells every source how many of its blocks it gives up, and where
  /// they stand in the line of all.
  void exchange_changes() {
    for (const SparseCount& to : destinations_)
      if (loads_[static_cast<std::size_t>(to.rank)].excess() > 0) changes_.push_back({to.rank});
    FlowChange own{channel_.rank()};
    if (load_.excess() > 0) own = give_up();
    mpi::exchange_words(
        channel_, ledger_, mpi::tag_repair, 2, std::span(given_), std::span(changes_),
        [](const FlowChange& flow, std::span<std::uint64_t> to) {
          to[0] = flow.first;
          to[1] = flow.count;
        },
        [](FlowChange& flow, std::span<const std::uint64_t> from) {
          flow.first = from[0];
          flow.count = from[1];
        });
    const auto behind = std::ranges::lower_bound(changes_, own.rank, {}, &FlowChange::rank);
    if (own.count > 0) changes_.insert(behind, own);
  }

  /// What this rank gives up of each source. @return Of its own blocks.
  FlowChange give_up() {
    std::uint64_t position = 0;
    for (int rank = 0; rank < channel_.rank(); ++rank)
      position += loads_[static_cast<std::size_t>(rank)].excess();
    schedule::ProportionalShares shares(load_.excess(), load_.blocks);
    const auto next = [&](int rank, std::uint64_t blocks) {
      const FlowChange change{rank, position, shares.next(blocks)};
      position += change.count;
      return change;
    };
    std::optional<FlowChange> own;
    for (const SparseCount& source : sources_) {
      if (!own && source.rank > channel_.rank()) own = next(channel_.rank(), staying_);
      given_.push_back(next(source.rank, source.count));
    }
    return own ? *own : next(channel_.rank(), staying_);
  }

  static Error infeasible(const schedule::LoadSum& sum) {
    return {ErrorCode::infeasible,
            "the map has " + std::to_string(sum.blocks) + " blocks, but all ranks together have " +
                std::to_string(sum.slots) + " slots, " + std::to_string(sum.blocks - sum.slots) +
                " too few; give more slots on any rank, nothing has changed"};
  }

  const mpi::Channel& channel_;
  const Occupied& occupied_;
  std::span<int> ranks_;
  std::uint64_t slots_;
  Ledger ledger_;
  std::uint64_t staying_ = 0;
  RankLoad load_;
  Vector<SparseCount> destinations_{ledger_};  ///< but for this rank, as the others
  Vector<SparseCount> sources_{ledger_};
  Array<RankLoad> loads_;      ///< of all ranks
  Array<std::uint64_t> ends_;  ///< of the room that all ranks take
  Vector<FlowChange> given_{ledger_};
  Vector<FlowChange> changes_{ledger_};
};

}  // namespace

RepairResult repair(MPI_Comm communicator, const Occupied& occupied, std::span<int> ranks,
                    std::uint64_t slots) {
  const detail::MemoryReserve reserve;
  const mpi::Channel channel = mpi::Channel::open_for_call(communicator);
  return Repair(channel, occupied, ranks, slots).run();
}

}  // namespace valet
