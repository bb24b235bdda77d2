// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Communicators of our own. The user's communicator is duplicated once and the duplicate cached on
/// it as an attribute. A plan borrows one further duplicate from a pool kept there, so that plans
/// of different threads never see each other's messages and a plan made in every time step does not
/// duplicate a communicator in every time step.

#include "mpi/hooks.hpp"
#include "mpi/machine.hpp"
#include <valet/export.hpp>
#include <valet/mpi.hpp>

#include <memory>
#include <optional>

namespace valet::mpi {

class CommunicatorCache;

/// A communicator that belongs to one plan at a time: its tags are ours, errors are returned and
/// not fatal. Move-only; given back to the pool by the destructor, also after MPI_Finalize.
class VALET_EXPORT Channel {
 public:
  /// Collective over `user`. @throws Error not_initialized or invalid_communicator, which every
  /// rank finds without communication.
  static Channel open(MPI_Comm user);

  Channel(Channel&& other) noexcept;
  Channel& operator=(Channel&& other) noexcept;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  ~Channel();

  [[nodiscard]] MPI_Comm get() const noexcept { return communicator_; }
  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }

  /// What was found out about the ranks of the user's communicator, kept with it: the same on all
  /// ranks, because all set it together. Local.
  [[nodiscard]] std::optional<Machine> machine() const;
  void set_machine(const Machine& machine) const;
  /// Calls `hooks` from now on when something blocks on this channel; nullptr for none. The hooks
  /// must outlive the channel, and the requests that were made meanwhile.
  void watch(Hooks* hooks) noexcept { hooks_ = hooks; }
  [[nodiscard]] Hooks* hooks() const noexcept { return hooks_; }

 private:
  Channel(std::shared_ptr<CommunicatorCache> cache, MPI_Comm communicator, int index);

  std::shared_ptr<CommunicatorCache> cache_;
  MPI_Comm communicator_ = MPI_COMM_NULL;
  int index_ = 0;
  int rank_ = 0;
  int size_ = 1;
  Hooks* hooks_ = nullptr;
};

}  // namespace valet::mpi
