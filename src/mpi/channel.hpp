// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Communicators of our own. The user's communicator is duplicated once and the duplicate cached on
/// it as an attribute. A plan borrows one further duplicate from a pool kept there, so that plans
/// of different threads never see each other's messages and a plan made in every time step does not
/// duplicate a communicator in every time step. A call that is over when it returns needs none of
/// its own, and neither does a plan until it is made.

#include "mpi/hooks.hpp"
#include <valet/export.hpp>
#include <valet/mpi.hpp>

#include <cstdint>
#include <memory>
#include <span>

namespace valet::mpi {

/// Whether MPI can be used: between MPI_Init and MPI_Finalize. Local.
[[nodiscard]] bool mpi_is_usable();
/// Passes while MPI can be used. @throws Error not_initialized. Local.
VALET_EXPORT void require_mpi();

/// A communicator that belongs to one plan at a time: its tags are ours. A failed call is told to
/// the error handler of the user's communicator before it returns. Move-only; given back to the
/// pool by the destructor, also after MPI_Finalize.
class VALET_EXPORT Channel {
 public:
  /// Collective over `user`. @throws Error not_initialized or invalid_communicator, which every
  /// rank finds without communication; the latter also where MPI is of another family.
  static Channel open(MPI_Comm user);
  /// For a call that is over when it returns, as all ranks call it: without a reduction. The caller
  /// sees to it that all ranks meet, in an Agreement, before there is any other message: until then
  /// others may be in the call before. Collective over `user`; local but for the first time.
  /// @throws Error as open().
  static Channel open_for_call(MPI_Comm user);
  /// For a plan that is being made, until it gets what is its own with borrow(): as
  /// open_for_call(), but that what is kept is that of the communicator which the plan gets if all
  /// ranks have the same free_communicators(). @throws Error as open().
  static Channel open_for_planning(MPI_Comm user);
  [[nodiscard]] bool is_planning() const;
  /// The communicators that no plan of this rank has, one bit each. Plans may be destroyed in
  /// different orders on different ranks, so each rank alone cannot know what is free. Of a channel
  /// that is planning. Local.
  [[nodiscard]] std::uint64_t free_communicators() const;
  /// Goes on with the lowest communicator that is free on every rank: one duplicate more where
  /// there is none. Collective over a channel that is planning.
  /// @param alike  Whether free_communicators() is the same on all ranks. If not, there is a
  ///               reduction, and what is kept may be something else than before. [global]
  void borrow(bool alike);

  /// The same for a part of what has this one: it must not be used at the same time. Local.
  [[nodiscard]] Channel again() const { return Channel(lease_); }

  Channel(Channel&&) noexcept = default;
  Channel& operator=(Channel&&) noexcept = default;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  ~Channel() = default;

  /// MPI_COMM_NULL for one that was moved from.
  [[nodiscard]] MPI_Comm get() const noexcept { return lease_ ? communicator_ : MPI_COMM_NULL; }
  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }

  /// The ranks of the user's communicator that share memory with this one, which is among them;
  /// ascending. Found once for the communicator. Local.
  [[nodiscard]] std::span<const int> node_ranks() const;
  /// What a plan has for its lifetime and, if it has the first communicator of the pool, keeps for
  /// the next plan or call there; freed with the user's communicator. Local.
  [[nodiscard]] std::shared_ptr<void>& kept() const;
  /// Whether what is kept stays beyond this channel on this rank: always, but for calls while a
  /// plan is using it, and for more plans at a time than the pool has communicators. Local.
  [[nodiscard]] bool has_kept() const;
  /// Memory of this rank alone that is kept with the user's communicator: whoever takes it owns it
  /// until it is given back. Local.
  [[nodiscard]] std::shared_ptr<void> take_scratch() const;
  void keep_scratch(std::shared_ptr<void> scratch) const;
  /// Seconds, as limit_waiting() has set them. Local.
  [[nodiscard]] double wait_limit() const;
  /// Calls `hooks` from now on when something blocks on this channel; nullptr for none. The hooks
  /// must outlive the channel, and the requests that were made meanwhile.
  void watch(Hooks* hooks) noexcept { hooks_ = hooks; }
  [[nodiscard]] Hooks* hooks() const noexcept { return hooks_; }

 private:
  struct Lease;
  explicit Channel(std::shared_ptr<const Lease> lease);

  std::shared_ptr<const Lease> lease_;
  MPI_Comm communicator_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  Hooks* hooks_ = nullptr;
};

/// Lets no wait on `user` last longer than so many seconds without anything completing: then it
/// throws mpi_failure. For all channels there, that are open or will be. Only a communicator is
/// duplicated without a limit, so that all ranks must be there when it is first used, and when one
/// more plan is made than there ever were. Collective for the first time.
/// @param seconds  0 for no limit, as at first. A rank also waits while others move data among
///                 themselves, or an application's callback works. [global]
/// @throws Error as Channel::open().
VALET_EXPORT void limit_waiting(MPI_Comm user, double seconds);

}  // namespace valet::mpi
