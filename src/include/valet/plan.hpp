// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Maps and plans: the destination of every block, what the move needs, and its execution. A map
/// gives each block either a rank, plan_to_ranks(), or an address, plan_to_slots().

#include <valet/block_storage.hpp>
#include <valet/detail/owned.hpp>
#include <valet/export.hpp>
#include <valet/mpi.hpp>
#include <valet/options.hpp>
#include <valet/report.hpp>

#include <cstdint>
#include <memory>
#include <span>

namespace valet {

/// @cond
namespace plan {
struct State;
class Ongoing;
struct Access;
}  // namespace plan
/// @endcond

/// A slot in the memory of all ranks.
struct Address {
  int rank = 0;            ///< in the communicator, 0 to P-1
  std::uint64_t slot = 0;  ///< on that rank, from 0
  /// Compares rank and slot.
  [[nodiscard]] bool operator==(const Address&) const = default;
};

/// Which slots of this rank hold a block.
class Occupied {
 public:
  /// The first `count` slots.
  Occupied(std::uint64_t count) : count_(count) {}
  /// The slots whose mask entry is not zero. One entry per slot; read only while planning.
  [[nodiscard]] static Occupied masked(std::span<const std::uint8_t> mask) {
    Occupied occupied(mask.size());
    occupied.mask_ = mask;
    occupied.is_masked_ = true;
    return occupied;
  }

  /// Whether a mask is given.
  [[nodiscard]] bool is_masked() const { return is_masked_; }
  /// The mask; empty without one.
  [[nodiscard]] std::span<const std::uint8_t> mask() const { return mask_; }
  /// Length of a matching map: the number of blocks or, with a mask, of slots.
  [[nodiscard]] std::uint64_t map_size() const { return count_; }

 private:
  std::uint64_t count_ = 0;
  std::span<const std::uint8_t> mask_;
  bool is_masked_ = false;
};

/// A validated map that can be executed many times: who sends how much to whom, and the final
/// slots. A plan keeps no reference to the map or the storage. Move-only; its destructor is local
/// and may run after MPI_Finalize.
class VALET_EXPORT Plan {
 public:
  /// Moves a plan; afterwards the source can only be destroyed or assigned to: other functions
  /// throw Error invalid_argument.
  Plan(Plan&&) noexcept;
  /// Frees this plan and takes over another one.
  Plan& operator=(Plan&&) noexcept;
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  ~Plan();

  /// Blocks on this rank before. [local]
  [[nodiscard]] std::uint64_t blocks_before() const;
  /// Blocks on this rank afterwards. [local]
  [[nodiscard]] std::uint64_t blocks_after() const;
  /// Slots that this rank needs for the plan: blocks_after() for a map to ranks and for a layout,
  /// the slots of the storage for a map to slots. execute() fails with fewer, so first grow the
  /// storage or partition again. [local]
  [[nodiscard]] std::uint64_t required_slots() const;
  /// Ranks that this rank exchanges blocks with. [local]
  [[nodiscard]] std::uint64_t neighbours() const;
  /// Bytes that the plan holds now beyond the application's memory. [local]
  [[nodiscard]] std::uint64_t extra_bytes() const;
  /// Bytes of the workspace of execute(), for callers that provide it. [local]
  [[nodiscard]] std::uint64_t workspace_bytes() const;

  /// Looks at a storage and agrees on it once, for all executions that are not given one:
  /// execute(plan) and start(plan) move its blocks then without a reduction over all ranks. Until
  /// an execution is given a storage, which ends the binding, addresses and sizes of its fields
  /// must stay as they are. Collective over the plan's communicator; blocking. Moves nothing.
  /// @param storage  As for execute(); plain host memory. [local]
  /// @throws Error as execute() for what it finds before anything moves; invalid_argument for a
  ///         storage that may throw, and for a plan with Options::verify, trace, transfers or
  ///         callbacks. The same error on all ranks; the plan is not bound then.
  ///
  /// Memory: that of an execution, which stays with the plan.
  void bind(const BlockStorage& storage);

 private:
  friend struct plan::Access;
  explicit Plan(std::unique_ptr<plan::State> state);

  detail::Owned<plan::State> state_;
};

/// Plans a map that gives each block a rank. Valet chooses the slots (Options::order), so no
/// addresses are communicated.
///
/// Collective over `communicator`, including ranks without blocks; blocking. Moves nothing.
///
/// @param communicator  An intracommunicator; the first call caches a duplicate on it.
/// @param storage       The blocks of this rank; bytes per block are the same on all ranks. [local]
/// @param occupied      The slots that hold a block. [local]
/// @param ranks         ranks[k]: destination of the block in slot k, 0 to P-1; occupied.map_size()
///                      entries, those of free slots are ignored. Read only during this call.
///                      [local]
/// @param options       The same on all ranks, with the exceptions listed in Options.
/// @throws Error rank_out_of_range, invalid_argument, field_mismatch, inaccessible_memory,
///         block_size_mismatch, budget_too_small, out_of_memory: the same error on all ranks;
///         not_initialized, invalid_communicator; infeasible if a rank has or needs 2^32 slots or
///         more, with the number of rows to join into one block. The data is unchanged. Planning
///         does not fail if a rank gets too many blocks for its slots: compare required_slots().
///
/// Valet recognises a map that is a layout, in a scan that ends early where there is none. Counted
/// over the occupied slots, either every rank deals its blocks in a regular way of its own - in
/// turn to ranks that are a progression, ranks[k] = (first + step * ((offset + k) / length mod n))
/// mod P, or to a short sequence of such progressions, as with ranks in any order, tiles of a
/// matrix, and pieces of any lengths - or destinations ascend over all blocks of all ranks. Counts
/// are then computed from a few words of each rank instead of exchanged
/// (Report::plan_from_layout); the plan is the same. On more than 512 ranks this is done only if
/// ranks have P/16 destinations on average.
///
/// Memory: 4 bytes per departing block and 2/8 byte per slot; from a layout 64*P while planning.
///
/// Time: O(blocks + neighbours + log P), from a layout O(blocks + P).
[[nodiscard]] VALET_EXPORT Plan plan_to_ranks(MPI_Comm communicator, const BlockStorage& storage,
                                              const Occupied& occupied, std::span<const int> ranks,
                                              const Options& options = {});

/// Plans a map that gives each block an address. No two blocks may have the same address.
///
/// Collective over `communicator`, including ranks without blocks; blocking. Moves nothing.
///
/// @param communicator  An intracommunicator; the first call caches a duplicate on it.
/// @param storage       The blocks of this rank; bytes per block are the same on all ranks. [local]
/// @param occupied      The slots that hold a block. [local]
/// @param addresses     addresses[k]: destination of the block in slot k, a slot of the storage
///                      that the destination rank gives in this call. occupied.map_size() entries,
///                      those of free slots are ignored. Read only during this call. [local]
/// @param options       As for plan_to_ranks(); Options::order is not used.
/// @throws Error as plan_to_ranks(), also slot_out_of_range and slot_taken_twice: the same error on
///         all ranks, and the data is unchanged.
///
/// Memory: 4 bytes per departing and per arriving block, 8 per block that changes its slot inside
/// the rank, 2/8 byte per slot.
[[nodiscard]] VALET_EXPORT Plan plan_to_slots(MPI_Comm communicator, const BlockStorage& storage,
                                              const Occupied& occupied,
                                              std::span<const Address> addresses,
                                              const Options& options = {});

/// Executes a plan inside the memory of `storage`; can be repeated.
///
/// Collective over the plan's communicator; blocking. The blocks must be in the slots that were
/// occupied when the plan was made. Afterwards, with a map to ranks, they are in slots 0 to
/// blocks_after()-1; with a map to slots, at their addresses. The content of free slots is
/// unspecified.
///
/// @param plan       The plan; its state changes, so run one execution at a time.
/// @param storage    The planned fields, or larger ones: at least the slots of the plan, and at
///                   least required_slots(). [local]
/// @param workspace  Memory of at least plan.workspace_bytes(), aligned for any type. Without it
///                   the plan allocates memory once and keeps it. [local]
/// @throws Error infeasible (with the required slots), field_mismatch, inaccessible_memory,
///         block_size_mismatch, invalid_argument, out_of_memory: agreed on before anything moves,
///         the same on all ranks, and the data is unchanged. corrupted: verification failed.
///         mpi_failure: occupied slots are unspecified. callback_failed: on some rank a callback of
///         the options threw an exception, or a storage that is not plain host memory did. No rank
///         is left waiting: the exchange runs to its end, then all ranks throw the same error,
///         whose text gives the rank, what threw and its message. If a storage threw, occupied
///         slots are unspecified unless the text says that nothing has moved; if a callback threw,
///         every block is at its destination. The plan can be executed again after any error except
///         mpi_failure.
///
/// Memory beyond the storage, including the plan: budget + 64 KiB + 256*neighbours + c*slots bytes.
///
/// - c = 8 for a map to ranks.
/// - c = 12 with Order::fill or stable, and for plan_to_layout() without `from`.
/// - c = 16 for a map to slots, for plan_to_layout() with `from`, and with Order::any under
///   Method::phased and cyclic, or if a budget is too small for the blocks that wait for their
///   slots.
/// - 64*P more if the plan came from a layout, and on rank 0 for Method::cyclic, and for
///   Method::phased with parking, Heuristic::continuous or Scheduler::centralized.
///
/// Each block crosses the network at most once; with parking or Heuristic::continuous at most
/// twice.
///
/// Method::phased keeps lists of the ranks with which a rank exchanges blocks, and of all ranks if
/// blocks wait on the way (parking, Heuristic::continuous). With very many ranks or neighbours
/// these do not fit the bound with a budget of one block; planning then throws budget_too_small and
/// gives a sufficient budget.
VALET_EXPORT Report execute(Plan& plan, const BlockStorage& storage,
                            std::span<std::byte> workspace = {});

/// Executes a bound plan: Plan::bind(). Ranks wait only for those that they exchange blocks with,
/// for all ranks with Method::direct, phased and cyclic. Collective; blocking.
/// @throws Error invalid_argument on this rank for a plan that is not bound; mpi_failure.
VALET_EXPORT Report execute(Plan& plan);

/// An execution under way, from start() to wait(). A plan must outlive its executions. Move-only;
/// the destructor waits, and logs what wait() would throw.
class VALET_EXPORT Execution {
 public:
  /// Moves an execution; the source can only be destroyed afterwards.
  Execution(Execution&& other) noexcept;
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;
  ~Execution();

  /// Sends and receives what can go on without waiting; there is no thread that does. Local.
  /// @return Whether the rest is done by wait(). Where all ranks call it again and again that
  /// comes.
  /// @throws Error mpi_failure.
  bool progress();
  /// Ends the execution. Collective; blocking. Once only.
  /// @throws Error as execute() for what it finds when blocks have moved; invalid_argument on this
  ///         rank if it was waited for.
  Report wait();

 private:
  friend struct plan::Access;
  explicit Execution(std::unique_ptr<plan::Ongoing> ongoing);

  std::unique_ptr<plan::Ongoing> ongoing_;  ///< null after wait()
};

/// Begins to execute a plan, so that the application can compute while blocks travel. Collective
/// over the plan's communicator; returns when all ranks have agreed, without waiting for blocks.
///
/// Until Execution::wait() has returned, slots that are free and slots of blocks that leave the
/// rank belong to Valet. Blocks that stay (ranks[k] is the own rank) may be read, and written
/// unless Options::verify is set; wait() may then give them another slot, as execute() does. An
/// array may not be resized, and the plan not be executed again.
///
/// STREAM, which AUTO takes, moves blocks in progress(); with Method::direct, and where little goes
/// to other nodes, all are on their way from the beginning. Method::phased and cyclic move them in
/// wait().
///
/// @param plan     Must outlive the result, and not be assigned to. [local]
/// @param storage  As for execute(). [local]
/// @throws Error as execute() for what it finds before anything moves; invalid_argument on this
///         rank if an execution of the plan is under way.
///
/// Memory: that of execute().
[[nodiscard]] VALET_EXPORT Execution start(Plan& plan, const BlockStorage& storage);
/// The same for a bound plan, without a reduction.
/// @throws Error as execute(plan).
[[nodiscard]] VALET_EXPORT Execution start(Plan& plan);

/// plan_to_ranks() and execute() in one call, with the errors and the memory of both; the report
/// has the new number of blocks (blocks_after). Collective; blocking. If a callback fails, the
/// blocks have moved but no report is returned: if callbacks may throw, use a plan and
/// Plan::blocks_after().
VALET_EXPORT Report migrate(MPI_Comm communicator, const BlockStorage& storage,
                            const Occupied& occupied, std::span<const int> ranks,
                            const Options& options = {});
/// plan_to_slots() and execute() in one call, with the errors and the memory of both. Collective;
/// blocking.
VALET_EXPORT Report migrate(MPI_Comm communicator, const BlockStorage& storage,
                            const Occupied& occupied, std::span<const Address> addresses,
                            const Options& options = {});

}  // namespace valet
