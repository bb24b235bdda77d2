// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What the migrations on a communicator keep for the next one: a channel and memory. The first
/// touch of a page costs more than the copy into it, and to share memory on a node takes as long as
/// to move some MiB.

#include "batches.hpp"
#include "mpi/channel.hpp"
#include "transport.hpp"
#include <valet/ledger.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace valet::zoltan {

/// Whole pages for `bytes` of packed objects.
[[nodiscard]] std::uint64_t pages_for(std::uint64_t bytes);

/// Memory for packed objects, straight from the operating system: in large pages where it has them.
class PackedMemory {
 public:
  explicit PackedMemory(Ledger& ledger) : ledger_(ledger) {}
  PackedMemory(const PackedMemory&) = delete;
  PackedMemory& operator=(const PackedMemory&) = delete;
  ~PackedMemory() { release(); }

  /// Has at least `bytes` from now on. What it has is kept where it suffices and is within `room`;
  /// what it takes anew is more than asked for as far as `room` goes, so that a few bytes more the
  /// next time are there already. @throws std::bad_alloc.
  std::byte* reserve(std::size_t bytes, std::size_t room);
  void release();
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  void map(std::size_t bytes);

  Ledger& ledger_;
  std::byte* pages_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

struct Workspace {
  explicit Workspace(MPI_Comm communicator) : channel(mpi::Channel::open(communicator)) {}

  /// That of a communicator, with which it is freed. Collective the first time.
  static Workspace& of(MPI_Comm communicator);

  /// Where `bytes` of arrivals go: straight into the memory shared on the node, where that has room
  /// for all of them. Else into memory of their own, which is kept for the next migration as far as
  /// `room` goes. @throws std::bad_alloc.
  std::byte* place_arrivals(std::uint64_t bytes, std::uint64_t room);
  /// At the end of a migration: gives back what is more than `budget`. Local.
  void keep_within(std::uint64_t budget);
  /// Gives back all memory. Local, but all ranks do so between two migrations.
  void release();
  /// Whether the last migration had the same neighbours; remembers these for the next one.
  bool has_met(std::span<const Peer> destinations, std::span<const Peer> sources);

  Ledger ledger;
  mpi::Channel channel;
  NodeSlots node{ledger};
  PackedMemory sent{ledger};
  PackedMemory arrived{ledger};

 private:
  friend class WorkspaceLoan;
  Vector<int> destinations_{ledger}, sources_{ledger};
  bool is_lent_ = false;
};

/// The workspace of a communicator for one migration; one of its own where a callback of another
/// migration makes it.
class WorkspaceLoan {
 public:
  /// Collective, if it is nested or the first.
  explicit WorkspaceLoan(MPI_Comm communicator);
  WorkspaceLoan(const WorkspaceLoan&) = delete;
  WorkspaceLoan& operator=(const WorkspaceLoan&) = delete;
  ~WorkspaceLoan() { get().is_lent_ = false; }

  [[nodiscard]] Workspace& get() { return nested_ ? *nested_ : kept_; }

 private:
  Workspace& kept_;
  std::optional<Workspace> nested_;
};

}  // namespace valet::zoltan
