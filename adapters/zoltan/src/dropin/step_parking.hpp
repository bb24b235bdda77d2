// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Parking of packed objects (Pinar and Hendrickson section 5.1 and Figure 8): ranks that expect
/// more than they can take send some of their own objects, packed, to ranks with memory to spare,
/// where they wait for their destination. Each object waits once at most; whole objects only.

#include "mpi/word_lists.hpp"
#include "schedule/parking.hpp"
#include "step_streams.hpp"

#include <cstdint>

namespace valet::zoltan {

/// What a rank has when a step begins, as costs.
struct ParkingStart {
  std::uint64_t expected = 0;  ///< everything that is still to arrive
  std::uint64_t free = 0;      ///< what it can take in this step
  std::uint64_t room = 0;      ///< its scratch, of which the application knows nothing
};

/// The second part of a step: what was credited has been taken off all sides.
class StepParking {
 public:
  StepParking(Context& context, StepPlanner& planner, StepSender& sender,
              std::uint64_t object_bytes)
      : context_(context),
        planner_(planner),
        sender_(sender),
        object_bytes_(object_bytes),
        giving_(context.ledger),
        taking_(context.ledger),
        given_(context.ledger) {}

  /// Matches, moves and reports. Returns the objects that this rank parked. Collective over all
  /// ranks.
  std::uint64_t run(const ParkingStart& start);

 private:
  /// The next objects for a destination go to a taker.
  struct Given {
    std::size_t taker = 0;
    std::size_t pair = 0;
    std::uint64_t objects = 0;
  };
  class Arrivals;

  [[nodiscard]] bool stays_here(std::size_t pair) const;
  [[nodiscard]] std::int64_t balance(const ParkingStart& start) const;
  [[nodiscard]] std::int64_t cost_of_parking(std::uint64_t excess) const;
  void choose();
  void report_to_destinations();
  void move_objects();
  void exchange_sizes(const Vector<Peer>& takers, const Vector<Peer>& givers, Arrivals& arrivals);
  void add_objects_for(int taker, mpi::WordLists& words) const;

  Context& context_;
  StepPlanner& planner_;
  StepSender& sender_;
  std::uint64_t object_bytes_;
  Vector<schedule::Match> giving_, taking_;
  Vector<Given> given_;  ///< by destination, then taker
};

}  // namespace valet::zoltan
