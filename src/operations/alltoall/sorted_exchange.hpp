// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The all-to-all by sorting: elements change sides in swaps, without any memory per element.

#include "mpi/agreement.hpp"
#include "operations/alltoall/checks.hpp"
#include "operations/alltoall/swap_sequence.hpp"
#include "plan/plan_state.hpp"
#include <valet/alltoall.hpp>
#include <valet/error.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

namespace valet::operations {

/// What swaps must be the same on all ranks for.
struct SwapSizes {
  std::uint64_t most_anywhere = 0;     ///< elements on a rank before or after
  std::uint64_t message_elements = 1;  ///< in a message

  /// @param most  Elements of this rank before or after.
  SwapSizes(std::uint64_t most, std::size_t element_bytes, std::size_t budget_bytes);
  /// Takes part in the reduction that the ranks agree with anyway.
  void join(mpi::Agreement& agreement) {
    agreement.largest(most_anywhere);
    agreement.least(message_elements);
  }
};

/// One all-to-all on one rank, counts known and agreed upon.
class SortedExchange {
 public:
  /// @param state      Of a plan to be: channel and ledger are used; must outlive this.
  /// @param sent       Elements for each rank, P entries.
  /// @param elements_after  On this rank.
  /// @param sizes           Agreed upon.
  SortedExchange(plan::State& state, const AlltoallBuffer& buffer,
                 std::span<const std::uint64_t> sent, std::uint64_t elements_after,
                 std::size_t budget_bytes, const SwapSizes& sizes);

  /// Which of BITONIC and PAIRWISE run() uses where `wish` is asked for, found by trying both on
  /// the counts: PAIRWISE while no rank's table passes 4*P chunks; with AlltoallMethod::swaps also
  /// only if it swaps less than BITONIC on the ranks that swap most, one after the other.
  /// Collective.
  /// @param enough_for_pages  A budget that is enough for pages on all ranks, in case that neither
  ///                          will do. Collective.
  /// @throws Error infeasible, budget_too_small with a budget that is enough for all ranks: on all
  ///         ranks alike.
  [[nodiscard]] AlltoallMethod choose(AlltoallMethod wish,
                                      const std::function<std::uint64_t()>& enough_for_pages);

  /// As choose(AlltoallMethod::swaps); nothing where neither can do it. Collective.
  [[nodiscard]] std::optional<AlltoallMethod> find_suited();

  /// Moves everything by the method chosen. Collective.
  Report run();

 private:
  /// How a method suits a rank, then all.
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
    Merits merits;                         ///< of this rank
    std::optional<Diagnostic> diagnostic;  ///< if it is not possible
  };
  /// The same with its merits on all ranks.
  struct Chosen {
    Trial trial;
    Merits all;
  };

  /// Half of the budget, for messages and for merging.
  [[nodiscard]] std::size_t most_scratch_bytes() const { return budget_bytes_ / 2; }
  /// What of it this rank can fill when it holds so many elements at once.
  [[nodiscard]] std::size_t scratch_bytes(std::uint64_t most_elements) const;
  /// Allocates it for the methods that may be chosen, while the ranks can agree that they cannot.
  [[nodiscard]] std::optional<Diagnostic> provide_scratch(std::uint64_t most_elements);
  [[nodiscard]] std::uint64_t slots(AlltoallMethod method) const;
  [[nodiscard]] ChunkLimits limits(AlltoallMethod method) const;
  [[nodiscard]] std::unique_ptr<SwapSequence> make_sequence(AlltoallMethod method);
  void exchange(SwapSequence& sequence, AlltoallMethod method) const;
  /// Before the ranks agree on it.
  [[nodiscard]] Trial try_on_counts(AlltoallMethod method);
  /// The better of both; one that does not suit where neither does. The budget that is enough is
  /// then the least for which one of them would.
  [[nodiscard]] Chosen try_all(AlltoallMethod wish);
  /// Memory for tables beside half of the budget.
  [[nodiscard]] std::uint64_t table_bytes_beside_budget() const;
  /// A budget that holds all tables that the method does not give up.
  [[nodiscard]] std::uint64_t enough_for_tables(AlltoallMethod method) const;
  /// Why a larger budget does not help, as far as is known.
  /// @param gave_up  Because of long tables.
  /// @param most     Elements held at once, at most.
  [[nodiscard]] std::optional<Diagnostic> why_impossible(AlltoallMethod method, bool gave_up,
                                                         std::uint64_t most) const;
  /// Where no method suits.
  [[noreturn]] void refuse(AlltoallMethod wish, std::uint64_t enough_for_pages) const;

  plan::State& state_;
  const mpi::Channel& channel_;
  AlltoallBuffer buffer_;
  std::span<const std::uint64_t> sent_;
  std::uint64_t before_, after_;
  SwapSizes sizes_;
  std::size_t budget_bytes_;
  Chosen chosen_;
  Array<std::byte> scratch_;
};

}  // namespace valet::operations
