// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Maps and plans: where every block goes, what that needs, and carrying it out. The two forms of a
/// map are a rank per block, plan_to_ranks(), and an address per block, plan_to_slots().

#include <valet/block_storage.hpp>
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
struct Access;
}  // namespace plan
/// @endcond

/// A place in the memory of all ranks together.
struct Address {
  int rank = 0;            ///< in the communicator, 0 to P-1
  std::uint64_t slot = 0;  ///< on that rank, from 0
  /// The same place.
  [[nodiscard]] bool operator==(const Address&) const = default;
};

/// Which slots of this rank hold a block.
class Occupied {
 public:
  /// The first `count` slots.
  Occupied(std::uint64_t count) : count_(count) {}
  /// The slots whose mask entry is not zero; one entry per slot, read only while planning.
  [[nodiscard]] static Occupied masked(std::span<const std::uint8_t> mask) {
    Occupied occupied(mask.size());
    occupied.mask_ = mask;
    occupied.is_masked_ = true;
    return occupied;
  }

  /// Whether there is a mask.
  [[nodiscard]] bool is_masked() const { return is_masked_; }
  /// The mask; empty without one.
  [[nodiscard]] std::span<const std::uint8_t> mask() const { return mask_; }
  /// Length that a map must have: the blocks, or all slots where there is a mask.
  [[nodiscard]] std::uint64_t map_size() const { return count_; }

 private:
  std::uint64_t count_ = 0;
  std::span<const std::uint8_t> mask_;
  bool is_masked_ = false;
};

/// The validated, reusable result of looking at a map: who sends how much to whom, and where it
/// lands. It keeps no reference to the map or the storage it was made from. Move-only; its
/// destructor is local and may run after MPI_Finalize.
class VALET_EXPORT Plan {
 public:
  /// Moves a plan; what it is moved from can be destroyed or assigned to.
  Plan(Plan&&) noexcept;
  /// Frees this plan and moves another one here.
  Plan& operator=(Plan&&) noexcept;
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  ~Plan();

  /// Blocks on this rank before. [local]
  [[nodiscard]] std::uint64_t blocks_before() const;
  /// Blocks on this rank afterwards. [local]
  [[nodiscard]] std::uint64_t blocks_after() const;
  /// Slots this rank needs to carry the plan out: for a map to ranks and for a layout
  /// blocks_after(), for a map to slots those that the storage had. execute() refuses with fewer,
  /// so grow first or partition again. [local]
  [[nodiscard]] std::uint64_t required_slots() const;
  /// Ranks that this rank exchanges blocks with. [local]
  [[nodiscard]] std::uint64_t neighbours() const;
  /// Bytes that the plan holds now, beyond the application's own memory. [local]
  [[nodiscard]] std::uint64_t extra_bytes() const;
  /// Bytes of workspace that execute() needs, for callers who want to provide it. [local]
  [[nodiscard]] std::uint64_t workspace_bytes() const;

 private:
  friend struct plan::Access;
  explicit Plan(std::unique_ptr<plan::State> state);

  std::unique_ptr<plan::State> state_;
};

/// Plans a map that gives each block a rank; Valet chooses the slots (Options::order), so that no
/// address is ever communicated.
///
/// Collective over `communicator`, ranks without blocks included; blocking. Moves nothing.
///
/// @param communicator  An intracommunicator; its duplicate is cached on it at the first call.
/// @param storage   The blocks of this rank; bytes per block equal on all ranks. [local]
/// @param occupied  Which slots hold a block. [local]
/// @param ranks     ranks[k]: destination of the block in slot k, 0 to P-1; occupied.map_size()
///                  entries; entries of free slots are ignored. Read only during this call. [local]
/// @param options   The same on all ranks but for what Options lists.
/// @throws Error rank_out_of_range, invalid_argument, field_mismatch, inaccessible_memory,
///         block_size_mismatch, budget_too_small, out_of_memory on all ranks alike;
///         not_initialized, invalid_communicator. The data is as it was.
/// Too many blocks for a rank is not an error yet: compare required_slots().
///
/// A map that is a layout is recognised in one scan, which ends at the first entry that cannot be
/// of one. The blocks must be in the first slots of every rank, and every rank deals them to all
/// ranks in turn, ranks[k] = (first + (offset + k) / length) mod P with its own numbers, or they go
/// to ascending ranks through all ranks. Then counts are not exchanged but computed from a few
/// words of each rank (Report::plan_from_layout); the plan is the same. On more than 512 ranks only
/// where ranks have P/16 destinations on average.
///
/// Memory: 4 bytes per leaving block and 2/8 byte per slot (32-bit indices, below 2^32 slots); from
/// a layout 64*P while planning.
/// Time: O(blocks + neighbours + log P), from a layout O(blocks + P).
[[nodiscard]] VALET_EXPORT Plan plan_to_ranks(MPI_Comm communicator, const BlockStorage& storage,
                                              const Occupied& occupied, std::span<const int> ranks,
                                              const Options& options = {});

/// Plans a map that gives each block an address. Injective: no two blocks may share one.
///
/// Collective over `communicator`, ranks without blocks included; blocking. Moves nothing.
///
/// @param communicator  An intracommunicator; its duplicate is cached on it at the first call.
/// @param storage    The blocks of this rank; bytes per block equal on all ranks. [local]
/// @param occupied   Which slots hold a block. [local]
/// @param addresses  addresses[k]: where the block in slot k must end; slots are those that the
///                   destination's storage has in this call. occupied.map_size() entries; entries
///                   of free slots are ignored. Read only during this call. [local]
/// @param options    As for plan_to_ranks(); Options::order is not used.
/// @throws Error as plan_to_ranks(), and slot_out_of_range and slot_taken_twice: on all ranks
///         alike, the data is as it was.
///
/// Memory: 4 bytes per leaving and per arriving block, 8 per block that changes its slot inside
/// the rank, 2/8 byte per slot.
[[nodiscard]] VALET_EXPORT Plan plan_to_slots(MPI_Comm communicator, const BlockStorage& storage,
                                              const Occupied& occupied,
                                              std::span<const Address> addresses,
                                              const Options& options = {});

/// Carries a plan out inside the memory of `storage`, as often as wanted.
///
/// Collective over the plan's communicator; blocking. The blocks must be in the slots that were
/// occupied when the plan was made. Afterwards a map to ranks has them in slots 0 to
/// blocks_after()-1, a map to slots at their addresses; the content of free slots is unspecified.
///
/// @param plan       What to do; its state changes, so one execution at a time.
/// @param storage    The fields planned for, or larger ones: the slots of the plan at least, and
///                   required_slots(). [local]
/// @param workspace  Memory of at least plan.workspace_bytes() to work in, aligned for any type;
///                   without it the plan allocates once and keeps what it allocated. [local]
/// @throws Error infeasible (with the number of slots required), field_mismatch,
///         inaccessible_memory, block_size_mismatch, invalid_argument, out_of_memory: agreed upon
///         first, on all ranks alike, the data is as it was. corrupted: verification failed.
///         mpi_failure: occupied slots are unspecified. callback_failed: a storage that is no plain
///         memory of the host, or a callback of the options, threw an exception on some rank. No
///         rank waits for it: the exchange runs to its end, then all ranks throw alike. The text
///         names the rank, what threw and what it said. Where a storage threw, occupied slots are
///         unspecified, unless the text says that nothing has moved; where a callback did, every
///         block is where the map said. The plan can be executed again after all but mpi_failure.
///
/// Memory beyond the storage, plan included: budget + 64 KiB + 256*neighbours + c*slots bytes, c =
/// 8 for a map to ranks, 12 with Order::fill or stable and for objects in a row to a layout, and 16
/// for a map to slots, from a layout to another, or with Order::any under Method::phased and cyclic
/// and where a budget is too small for the blocks that wait for their slots (Order::any); double
/// from 2^32 slots on; 64*P more where the plan came from a layout, and on rank 0 for
/// Method::cyclic, and for Method::phased with parking, Heuristic::continuous or
/// Scheduler::centralized. Each block crosses the network at most once, with parking or
/// Heuristic::continuous at most twice.
///
/// Method::phased keeps lists of the ranks that a rank has to do with, of all of them where blocks
/// wait on their way (parking, Heuristic::continuous). With very many ranks or neighbours these do
/// not fit the promise beside a budget of one block; planning then refuses with budget_too_small,
/// and says what budget would do.
VALET_EXPORT Report execute(Plan& plan, const BlockStorage& storage,
                            std::span<std::byte> workspace = {});

/// plan_to_ranks() and execute() in one call, with the errors and the memory of both; the report
/// has the new number of blocks (blocks_after). Collective; blocking. An error of a callback that
/// comes when the blocks have moved leaves no report: where callbacks may throw, ask
/// Plan::blocks_after() of a plan.
VALET_EXPORT Report migrate(MPI_Comm communicator, const BlockStorage& storage,
                            const Occupied& occupied, std::span<const int> ranks,
                            const Options& options = {});
/// plan_to_slots() and execute() in one call, with the errors and the memory of both. Collective;
/// blocking.
VALET_EXPORT Report migrate(MPI_Comm communicator, const BlockStorage& storage,
                            const Occupied& occupied, std::span<const Address> addresses,
                            const Options& options = {});

}  // namespace valet
