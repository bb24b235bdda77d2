// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Objects that are packed, sent and unpacked step by step: what arrives in a step is scratch of
/// the call, and the memory that it takes does not depend on how much moves.

#include "objects/room.hpp"
#include "objects/step_loop.hpp"
#include "objects/step_streams.hpp"
#include <valet/export.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace valet::objects {

/// All that leaves and arrives: by the other rank, ascending, the objects of a pair in the order in
/// which their source has them. The arrays are the caller's.
struct Traffic {
  std::span<const Peer> destinations, sources;
  ObjectSizes leaving, arriving;
};

/// Owner of what moves in steps.
class StepOwner : public Owner {
 public:
  /// Packs the objects first to end of those that leave, one behind the other.
  virtual std::optional<Diagnostic> pack(std::uint64_t first, std::uint64_t end,
                                         std::byte* memory) = 0;
};

/// Packed objects of a step that are consecutive in memory.
struct ArrivedObjects {
  std::size_t source = 0;    ///< among all sources
  std::uint64_t number = 0;  ///< the first's, among the objects of its source
  std::uint64_t first = 0;   ///< among all that arrive
  std::uint64_t count = 0;
  std::byte* data = nullptr;
};

/// Adds them to the checksums of their source. @param arriving  Sizes of all that arrives.
VALET_EXPORT void add_arrived(Checksums& sums, const ObjectSizes& arriving,
                              const ArrivedObjects& arrived);

/// Objects that one message has at most.
[[nodiscard]] VALET_EXPORT std::uint64_t most_in_message(const Call& call, const Scratch& scratch,
                                                         std::uint64_t leaving);

class VALET_EXPORT Steps {
 public:
  /// Prepares this rank. Local.
  /// @param arrival_bytes  Of lists for an object that arrives in a step.
  /// @param mine           What it found wrong until now, if anything.
  Steps(Call& call, StepOwner& owner, const Traffic& traffic, const Scratch& scratch,
        std::uint64_t arrival_bytes, std::optional<Diagnostic> mine);
  ~Steps();

  /// Takes memory. Collective, one reduction. @return Bytes that the budget is too small.
  /// @throws Error on all ranks alike.
  std::uint64_t prepare();
  /// Moves everything. Collective. @return What this rank has found in the end, on which the ranks
  /// have not agreed. @throws Error on all ranks alike.
  std::optional<Diagnostic> run();
  /// Compares checksums of all that was packed with those of what arrived; with Options::verify,
  /// when the ranks have agreed that run() went well. Collective. @throws Error corrupted.
  void verify();

  /// Known before the first step: that there is one only.
  [[nodiscard]] bool is_single() const { return all_steps_ == 1; }
  /// Of a step: what leaves, and what arrives.
  [[nodiscard]] const StepSender& sender() const;
  [[nodiscard]] std::span<const StepRange> arrived_ranges() const { return planner_->ranges(); }
  /// Calls visit(arrived) for all that has arrived; once a step. Takes no memory: its sources do
  /// not have it any more.
  template <class Visit>
  void for_each_arrived(Visit&& visit) {
    std::byte* next = memory_;
    for (const StepRange& range : planner_->ranges()) {
      const std::uint64_t count = range.end - range.first;
      const ArrivedObjects arrived{range.pair, range.first - planner_->first_of(range.pair),
                                   range.first, count, next};
      if (call_.options.verify) add_arrived(*received_, traffic_.arriving, arrived);
      next += sum_of(traffic_.arriving.subspan(range.first, count));
      visit(arrived);
    }
  }

 private:
  class PackingSender;
  void make_parts();
  [[nodiscard]] std::uint64_t arrivals() const;
  [[nodiscard]] std::uint64_t step_limit() const;

  Call& call_;
  StepOwner& owner_;
  Traffic traffic_;
  const Scratch& scratch_;
  std::uint64_t arrival_bytes_;
  std::optional<Diagnostic> mine_;
  std::byte* memory_ = nullptr;  ///< of what arrives in a step
  std::uint64_t own_steps_ = 0;
  std::uint64_t all_steps_ = 0;  ///< 0: it is not known beforehand
  std::unique_ptr<PackingSender> sender_;
  std::unique_ptr<StepReceiver> receiver_;
  std::unique_ptr<StepPlanner> planner_;
  std::unique_ptr<Division> division_;
  std::unique_ptr<Checksums> received_;
};

}  // namespace valet::objects
