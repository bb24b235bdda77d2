// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "mpi/channel.hpp"
#include "mpi/check.hpp"
#include "mpi/message.hpp"
#include "mpi/requests.hpp"
#include "mpi/tags.hpp"

#include <cstddef>

namespace valet::mpi {

/// A barrier that is waited for together with other requests, in request slots of its own.
///
/// MPI_Ibarrier, but where VALET_SIMULATED says that the core is compiled for SimGrid's SMPI: the
/// MPI_Waitany of its version 3.32 commits to such a request, and ignores all others until it
/// completes. There it is made of messages without content, in ceil(log2 P) rounds: D. Hensgen, R.
/// Finkel, U. Manber, "Two Algorithms for Barrier Synchronization", Int. J. Parallel Programming
/// 17(1), 1988 (dissemination).
class NonblockingBarrier {
 public:
#if defined(VALET_SIMULATED)
  static constexpr std::size_t slots = 2;
#else
  static constexpr std::size_t slots = 1;
#endif

  /// @param requests    Whose slots first_slot to first_slot + slots - 1 are the barrier's.
  NonblockingBarrier(const Channel& channel, Requests& requests, std::size_t first_slot)
      : channel_(channel), requests_(requests), first_slot_(first_slot) {}

  /// Whether the request in that slot is the barrier's.
  [[nodiscard]] bool owns(std::size_t slot) const {
    return slot >= first_slot_ && slot < first_slot_ + slots;
  }

#if defined(VALET_SIMULATED)
  /// Tells the others that this rank has come. True where all have: it is alone.
  bool enter() {
    distance_ = 1;
    return passed_or_posted();
  }

  /// To be called when a request that it owns has completed. True when all ranks have entered.
  bool completed() {
    if (!requests_.idle(first_slot_) || !requests_.idle(first_slot_ + 1)) return false;
    distance_ *= 2;
    return passed_or_posted();
  }

 private:
  /// Each round goes to a rank at another distance, so its messages need no tag of their own.
  bool passed_or_posted() {
    const int size = channel_.size();
    if (distance_ >= size) return true;
    const int from = (channel_.rank() - distance_ + size) % size;
    const int to = (channel_.rank() + distance_) % size;
    post_receive(channel_, nullptr, 0, from, tag_barrier, requests_[first_slot_]);
    post_send(channel_, nullptr, 0, to, tag_barrier, requests_[first_slot_ + 1]);
    return false;
  }

  int distance_ = 1;
#else
  /// Tells the others that this rank has come. True where nothing is to be waited for.
  bool enter() {
    check(MPI_Ibarrier(channel_.get(), &requests_[first_slot_]), "MPI_Ibarrier");
    return false;
  }

  /// To be called when a request that it owns has completed. True when all ranks have entered.
  bool completed() { return true; }

 private:
#endif
  const Channel& channel_;
  Requests& requests_;
  std::size_t first_slot_;
};

}  // namespace valet::mpi
