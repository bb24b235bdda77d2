// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Which objects a rank takes in a step of STEPS: pure, from sizes and limits alone, never from the
/// order in which anything arrives.

#include "transport.hpp"
#include <valet/options.hpp>
#include <valet/schedule/apportionment.hpp>

#include <cstdint>
#include <optional>
#include <span>

namespace valet::zoltan {

struct PlannedStep {
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;   ///< packed
  std::uint64_t raised = 0;  ///< by how much the one object that was taken passes the limit
};

/// Takes from every source in proportion to what it has in all, so that the free memory of every
/// rank moves along a straight line and no rank runs dry; or as a heuristic of PHASED says.
class StepPlanner {
 public:
  /// @param sizes         Packed sizes of all imports, by source.
  /// @param object_bytes  What an object costs on top of its size.
  /// @param first         The source that is served first when scratch is left over.
  StepPlanner(Ledger& ledger, std::span<const Peer> sources, std::span<const int> sizes,
              std::uint64_t object_bytes, std::size_t first);

  /// Divides what a step may take by a heuristic (Pinar and Hendrickson section 6.1), in units of
  /// bytes rounded to whole objects. Called before the first step.
  void divide_by(Heuristic heuristic, int rank);

  /// Decides the next step.
  ///
  /// @param limit        Cost of what is taken; a single object may pass it.
  /// @param packed_limit Packed bytes of what is taken; obeyed.
  /// @param grants       Objects of each source, written.
  PlannedStep plan(std::uint64_t limit, std::uint64_t packed_limit,
                   std::span<std::uint64_t> grants);

  /// The steps that it takes with this limit alone, and the largest values among them. Called
  /// before the first step; `grants` is scratch.
  std::uint64_t count_steps(std::uint64_t limit, std::span<std::uint64_t> grants,
                            PlannedStep& largest);

  [[nodiscard]] std::uint64_t objects_left() const { return objects_left_; }
  /// Objects that earlier steps, and the last planned one, take from a source.
  [[nodiscard]] std::uint64_t taken(std::size_t source) const { return flows_[source].taken; }
  [[nodiscard]] std::uint64_t left(std::size_t source) const {
    return flows_[source].count - flows_[source].taken;
  }
  /// Objects of all sources before this one.
  [[nodiscard]] std::uint64_t first_of(std::size_t source) const { return flows_[source].first; }
  /// The smallest object that is next in line at some source; 0 when there is none.
  [[nodiscard]] std::uint64_t smallest_next() const;

 private:
  struct Flow {
    std::uint64_t first = 0;  ///< object
    std::uint64_t count = 0;
    std::uint64_t taken = 0;
    std::uint64_t cost = 0;  ///< of all
    std::uint64_t cost_taken = 0;
  };
  struct Room {
    std::uint64_t cost;
    std::uint64_t packed;
  };
  [[nodiscard]] std::uint64_t next_size(const Flow& flow) const {
    return static_cast<std::uint64_t>(sizes_[flow.first + flow.taken]);
  }
  bool take(std::size_t source, Room& room, PlannedStep& step, std::span<std::uint64_t> grants);
  void take_shares(std::uint64_t limit, Room& room, PlannedStep& step,
                   std::span<std::uint64_t> grants);
  void take_granted(std::uint64_t limit, Room& room, PlannedStep& step,
                    std::span<std::uint64_t> grants);
  void take_rest(Room& room, PlannedStep& step, std::span<std::uint64_t> grants);
  void take_large(std::uint64_t limit, std::uint64_t packed_limit, PlannedStep& step,
                  std::span<std::uint64_t> grants);
  void restart();

  std::span<const int> sizes_;
  std::uint64_t object_bytes_;
  std::size_t first_source_;
  Vector<Flow> flows_;
  std::uint64_t cost_ = 0;
  std::uint64_t cost_taken_ = 0;
  std::uint64_t objects_left_ = 0;
  std::optional<Heuristic> heuristic_;
  int rank_ = 0;
  schedule::ReceiverRandom random_{0, 0};
  std::uint64_t pieces_left_ = 0;  ///< of Heuristic::continuous
  bool pieces_counted_ = false;
  Vector<std::uint64_t> bytes_left_, bytes_granted_;  ///< per source
};

/// Whether a rank that needs `own` steps of `all` takes part in step `step`: evenly spread.
[[nodiscard]] constexpr bool takes_part(std::uint64_t step, std::uint64_t own, std::uint64_t all) {
  return (step + 1) * own / all > step * own / all;
}

}  // namespace valet::zoltan
