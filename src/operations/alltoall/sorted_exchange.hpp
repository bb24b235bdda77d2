// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The all-to-all by sorting: elements change sides in swaps, without any memory per element.

#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "base/promise.hpp"
#include "mpi/agreement.hpp"
#include "operations/alltoall/checks.hpp"
#include "operations/alltoall/swap_methods.hpp"
#include "operations/alltoall/swap_sequence.hpp"
#include "plan/plan_state.hpp"
#include "storage/block_merge.hpp"
#include <valet/alltoall.hpp>
#include <valet/error.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace valet::operations {

/// What swaps must be the same on all ranks for.
struct SwapSizes {
  std::uint64_t most_anywhere = 0;     ///< elements on a rank before or after
  std::uint64_t message_elements = 1;  ///< in a message

  /// @param most  Elements of this rank before or after.
  SwapSizes(std::uint64_t most, std::size_t element_bytes, std::size_t budget_bytes)
      : most_anywhere(most),
        message_elements(std::max<std::uint64_t>(
            1, std::min<std::uint64_t>(budget_bytes / 4, most_message_bytes) / element_bytes)) {}
  /// Takes part in the reduction that the ranks agree with anyway.
  void join(mpi::Agreement& agreement) {
    agreement.largest(most_anywhere);
    agreement.least(message_elements);
  }

 private:
  /// Messages of half that size are a third slower, of twice that size no faster.
  static constexpr std::uint64_t most_message_bytes = std::uint64_t{256} << 10;
};

/// One all-to-all on one rank, counts known and agreed upon.
class SortedExchange {
 public:
  /// @param state      The state of a plan to be: channel and ledger are used; must outlive this.
  /// @param sent       Elements for each rank, P entries.
  /// @param elements_after  On this rank.
  /// @param sizes           Agreed upon.
  SortedExchange(plan::State& state, const AlltoallBuffer& buffer,
                 std::span<const std::uint64_t> sent, std::uint64_t elements_after,
                 std::size_t budget_bytes, const SwapSizes& sizes)
      : state_(state),
        channel_(state.channel),
        buffer_(buffer),
        sent_(sent),
        before_(sum(sent)),
        after_(elements_after),
        sizes_(sizes),
        budget_bytes_(budget_bytes) {
    sizes_.message_elements = std::clamp<std::uint64_t>(sizes_.most_anywhere, 1,  // the same on all
                                                        sizes_.message_elements);
  }

  /// Which of BITONIC and PAIRWISE run() uses where `wish` is asked for, found by trying both on
  /// the counts: PAIRWISE while no rank's table passes 4*P runs; with AlltoallMethod::swaps also
  /// only if it swaps less than BITONIC on the ranks that swap most, one after the other.
  /// Collective.
  /// @param enough_for_pages  A budget that is enough for pages on all ranks, in case that neither
  ///                          will do. Collective.
  /// @throws Error infeasible, budget_too_small with a budget that is enough for all ranks: on all
  ///         ranks alike.
  [[nodiscard]] AlltoallMethod choose(AlltoallMethod wish,
                                      const std::function<std::uint64_t()>& enough_for_pages) {
    chosen_ = try_all(wish);
    if (!chosen_.merits.suits) refuse(wish, enough_for_pages());
    return chosen_.method;
  }

  /// Moves everything by the method chosen. Collective.
  Report run() {
    const AlltoallMethod method = chosen_.method;
    std::unique_ptr<SwapSequence> sequence = make_sequence(method);
    Report report;
    const auto work = [&] {
      try {
        sequence->attach({{static_cast<std::byte*>(buffer_.data), buffer_.bytes},
                          buffer_.element_bytes,
                          {scratch_.begin(), scratch_.size()},
                          sizes_.message_elements});
        exchange(*sequence, method);
        if (sequence->gave_up() || elements_of(sequence->runs()) != after_)
          throw Error(ErrorCode::internal, std::string(to_string(method)) + " ended elsewhere");
      } catch (...) {
        scratch_.leak();  // MPI may still read and write both
        static_cast<void>(sequence.release());
        throw;
      }
      report = sequence->report();
    };
    state_.frame->exchange(std::string("all-to-all by ") + to_string(method), chosen_.moves,
                           buffer_.element_bytes, report, work);
    report.method = to_string(method);
    report.block_bytes = buffer_.element_bytes;
    report.bytes_sent = report.blocks_sent * report.block_bytes;
    return report;
  }

 private:
  /// How a method suits this rank; once agreed upon, how it suits all.
  struct Merits {
    std::uint64_t volume = 0;        ///< elements swapped
    bool suits = false;              ///< it can be used
    std::uint64_t enough_bytes = 0;  ///< budget for merging and tables
    bool is_possible = false;        ///< with that budget

    void join(mpi::Agreement& agreement) {
      agreement.largest(volume);
      agreement.least(suits);
      agreement.largest(enough_bytes);
      agreement.least(is_possible);
    }
  };
  /// What a method would come to on this rank, tried on the counts.
  struct Trial {
    AlltoallMethod method = AlltoallMethod::bitonic;
    std::uint64_t moves = 0;               ///< elements sent and received
    std::uint64_t most_elements = 0;       ///< held at once
    Merits merits;                         ///< of this rank; returned by try_all(): on all
    std::optional<Diagnostic> diagnostic;  ///< if it is not possible
  };

  /// What a swap costs besides its elements, as bytes: a few messages' latency.
  static constexpr std::uint64_t swap_cost_bytes = std::uint64_t{16} << 10;

  /// Half of the budget, for messages and for merging.
  [[nodiscard]] std::size_t most_scratch_bytes() const { return budget_bytes_ / 2; }
  /// The bytes of that which this rank can fill when it holds so many elements at once.
  [[nodiscard]] std::size_t scratch_bytes(std::uint64_t most_elements) const {
    const std::uint64_t messages = 2 * sizes_.message_elements * buffer_.element_bytes;
    const std::uint64_t merging = storage::BlockMerge::useful_scratch_bytes(
        most_elements, buffer_.element_bytes, most_scratch_bytes());
    return static_cast<std::size_t>(std::max(messages, merging));
  }
  /// Allocates it for the methods that may be chosen, while the ranks can agree that they cannot.
  [[nodiscard]] std::optional<Diagnostic> provide_scratch(std::uint64_t most_elements) {
    scratch_ = {};
    return detail::unless_out_of_memory(
        [&] {
          scratch_ = {state_.ledger, scratch_bytes(most_elements)};
        },
        "the system has no memory to swap elements within the budget; set a smaller one");
  }
  /// A network that sorts needs equally many slots on all ranks; swaps in pairs do not.
  [[nodiscard]] std::uint64_t slots(AlltoallMethod method) const {
    return method == AlltoallMethod::bitonic ? sizes_.most_anywhere : std::max(before_, after_);
  }
  [[nodiscard]] TableLimits limits(AlltoallMethod method) const {
    const auto ranks = static_cast<std::uint64_t>(channel_.size());
    return {.bytes = budget_bytes_ / 2 + table_bytes_beside_budget(),
            .most_runs = method == AlltoallMethod::pairwise
                             ? 4 * ranks
                             : std::numeric_limits<std::uint64_t>::max() / 64};
  }
  [[nodiscard]] std::unique_ptr<SwapSequence> make_sequence(AlltoallMethod method) {
    auto sequence = std::make_unique<SwapSequence>(channel_, state_.ledger, limits(method),
                                                   swap_cost_bytes / buffer_.element_bytes);
    // The free slots of all ranks, in order, become those of rank 0, 1, and so on.
    const std::uint64_t free_before = slots(method) - before_, free_after = slots(method) - after_;
    Array<std::uint64_t> all(state_.ledger, static_cast<std::size_t>(channel_.size()));
    mpi::gather_everywhere(channel_, free_after, std::span(all));
    const std::uint64_t begin = mpi::sum_of_lower(channel_, free_before);
    const auto for_each = [&](auto&& each) {
      std::uint64_t at = 0;
      for (std::size_t destination = 0; destination < all.size(); ++destination) {
        const std::uint64_t low = std::max(at, begin);
        at += all[destination];
        const std::uint64_t high = std::min(at, begin + free_before);
        const auto to = static_cast<std::int32_t>(destination);
        each(ElementRun{to, channel_.rank(), 0, sent_[destination]});
        each(ElementRun{to, free_slot, 0, high > low ? high - low : 0});
      }
    };
    std::uint64_t size = 0;
    for_each([&](const ElementRun& run) { size += run.count > 0 ? 1 : 0; });
    sequence->start(size, for_each);
    return sequence;
  }
  void exchange(SwapSequence& sequence, AlltoallMethod method) const {
    if (method == AlltoallMethod::bitonic)
      sort_bitonic(sequence, slots(method));
    else
      exchange_pairwise(sequence);
  }
  /// Before the ranks agree on it.
  [[nodiscard]] Trial try_on_counts(AlltoallMethod method) {
    std::unique_ptr<SwapSequence> sequence = make_sequence(method);
    try {
      exchange(*sequence, method);
    } catch (...) {
      static_cast<void>(sequence.release());  // MPI may still write to it
      throw;
    }
    const Report& report = sequence->report();
    const bool gave_up = sequence->gave_up();
    // A sequence that was given up has not shown how many there would be; no rank has more slots.
    const std::uint64_t most = gave_up ? sizes_.most_anywhere : sequence->most_elements();
    // A rank whose tables fit what it has now may get less.
    const std::uint64_t enough =
        std::max(2 * storage::BlockMerge::least_scratch_bytes(most, buffer_.element_bytes),
                 enough_for_tables(method));
    std::optional<Diagnostic> diagnostic = why_impossible(method, gave_up, most);
    const bool is_possible = !diagnostic;
    const bool merges =
        storage::BlockMerge::block_elements(most, buffer_.element_bytes, most_scratch_bytes()) > 0;
    return {.method = method,
            .moves = report.blocks_sent + report.blocks_received,
            .most_elements = most,
            .merits = {.volume = sequence->volume(),
                       .suits = is_possible && merges && !gave_up,
                       .enough_bytes = enough,
                       .is_possible = is_possible},
            .diagnostic = std::move(diagnostic)};
  }
  /// The better of both; one that does not suit where neither does. The budget that is enough is
  /// then the least for which one of them would.
  [[nodiscard]] Trial try_all(AlltoallMethod wish) {
    struct Both {
      Merits pairwise, bitonic;
      void join(mpi::Agreement& agreement) {
        pairwise.join(agreement);
        bitonic.join(agreement);
      }
    };
    Trial pairwise;
    if (wish != AlltoallMethod::bitonic) pairwise = try_on_counts(AlltoallMethod::pairwise);
    const auto most_of = [](const Trial& trial) {
      return trial.merits.suits ? trial.most_elements : 0;
    };
    if (wish == AlltoallMethod::pairwise) {
      mpi::Agreement agreement;
      pairwise.merits =
          *agree_on(channel_, agreement, pairwise.merits, provide_scratch(most_of(pairwise)));
      if (pairwise.merits.suits) return pairwise;
      scratch_ = {};
    }
    Trial bitonic = try_on_counts(AlltoallMethod::bitonic);
    mpi::Agreement agreement;
    const mpi::Agreed<Both> all =
        agree_on(channel_, agreement, Both{pairwise.merits, bitonic.merits},
                 provide_scratch(std::max(most_of(pairwise), most_of(bitonic))));
    const Merits& swaps = pairwise.merits = all->pairwise;
    const Merits& sorts = bitonic.merits = all->bitonic;
    if (swaps.suits && (!sorts.suits || swaps.volume <= sorts.volume)) return pairwise;
    if (sorts.suits || !swaps.is_possible) return bitonic;
    return sorts.is_possible && sorts.enough_bytes < swaps.enough_bytes ? bitonic : pairwise;
  }
  /// Memory for tables beside half of the budget, of what is promised beyond it: 32 of the 64*P are
  /// counts; requests and what is agreed on take some, too.
  [[nodiscard]] std::uint64_t table_bytes_beside_budget() const {
    constexpr std::uint64_t others = std::uint64_t{12} << 10;
    return detail::promised_fixed - detail::promised_reserve - others +
           24 * static_cast<std::uint64_t>(channel_.size());
  }
  /// A budget that holds all tables that the method does not give up.
  [[nodiscard]] std::uint64_t enough_for_tables(AlltoallMethod method) const {
    const std::uint64_t runs = method == AlltoallMethod::bitonic
                                   ? most_bitonic_runs(channel_.size())
                                   : 2 * limits(method).most_runs + 4;
    const std::uint64_t bytes = 2 * sizeof(ElementRun) * runs;
    return 2 * (bytes - std::min(bytes, table_bytes_beside_budget()));
  }
  /// Why a larger budget does not help, as far as is known.
  /// @param gave_up  Because of long tables.
  /// @param most     Elements held at once, at most.
  [[nodiscard]] std::optional<Diagnostic> why_impossible(AlltoallMethod method, bool gave_up,
                                                         std::uint64_t most) const {
    const std::string name = to_string(method);
    const std::uint64_t room = buffer_.bytes / buffer_.element_bytes;
    if (gave_up && (method == AlltoallMethod::pairwise || most > room))
      return diagnose(ErrorCode::budget_too_small, name,
                      " takes more memory for its tables than half of the budget of ",
                      budget_bytes_, " bytes");
    if (most > room)
      return diagnose(ErrorCode::infeasible, name, " has ", most,
                      " elements here for a time, but the buffer has room for ", room,
                      "; enlarge it to that many, or take stream or pairwise");
    return std::nullopt;
  }
  /// Where no method suits.
  [[noreturn]] void refuse(AlltoallMethod wish, std::uint64_t enough_for_pages) const {
    std::uint64_t enough = enough_for_pages;
    // Automatic takes pages, too, whose need does not depend on what is swapped.
    const bool takes_pages = wish == AlltoallMethod::automatic;
    if (chosen_.merits.is_possible && !takes_pages) enough = chosen_.merits.enough_bytes;
    std::optional<Diagnostic> mine = chosen_.diagnostic;
    if (chosen_.merits.is_possible || takes_pages) {
      mine.reset();
      if (budget_bytes_ < enough) mine = mpi::budget_too_small_for(to_string(wish), budget_bytes_);
    } else if (mine && mine->code == ErrorCode::budget_too_small) {
      mine->text += "; take stream, for which a budget of " + std::to_string(enough) +
                    " bytes is enough on all ranks";
    }
    mpi::agree(channel_, mine, enough);
    throw Error(ErrorCode::internal, std::string("no rank says why ") + to_string(wish) + " fails");
  }

  plan::State& state_;
  const mpi::Channel& channel_;
  AlltoallBuffer buffer_;
  std::span<const std::uint64_t> sent_;
  std::uint64_t before_, after_;
  SwapSizes sizes_;
  std::size_t budget_bytes_;
  Trial chosen_;
  Array<std::byte> scratch_;
};

}  // namespace valet::operations
