// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Blocks of different sizes: bytes packed one after the other, with their lengths, moved in place.

#include <valet/block_storage.hpp>
#include <valet/export.hpp>
#include <valet/mpi.hpp>
#include <valet/options.hpp>
#include <valet/report.hpp>
#include <valet/storage_backend.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace valet {

/// One arena of the application in host memory: blocks of different sizes, packed from its front.
///
/// Block k has lengths[k] bytes, from 0 on. It starts where the blocks before it end, each of them
/// counted with what makes its length a multiple of the alignment. The application keeps the
/// memory; Valet reads and writes it only inside the calls that are given the storage.
///
/// With offsets, as of compressed rows, block k has the bytes from offsets[k] to offsets[k + 1] of
/// the arena; the first offset is 0, all are multiples of the alignment. Ranks may differ.
struct RaggedField {
  void* data = nullptr;              ///< block 0; at a multiple of the alignment
  std::uint64_t capacity_bytes = 0;  ///< that blocks may fill, what aligns them included
  std::uint64_t* lengths = nullptr;  ///< bytes of each block; Valet writes the new ones
  std::uint64_t block_capacity = 0;  ///< most blocks that there are lengths for
  std::size_t alignment_bytes = 1;   ///< kept for every block: a power of two, at most 64
  bool are_offsets = false;          ///< `lengths` has block_capacity + 1 offsets instead
  std::string label = {};            ///< how messages call this field; none: they number it
  /// For memory that is not ready at any time: called before a collective call looks at the field,
  /// more than once maybe. Waits for what may still write there, and says what is wrong, if
  /// anything, for all ranks to throw. Must not throw. None: nothing to wait for.
  std::function<std::optional<Diagnostic>()> prepare = {};
};

/// An arena of values of T with the lengths of its blocks, in bytes. Local.
/// @tparam T        Trivially copyable; not const. Every block is aligned for it.
/// @param values    All that blocks may fill; the caller keeps the memory.
/// @param lengths   Bytes of each block, multiples of sizeof(T) where blocks are arrays of T;
///                  as many as there may be blocks.
/// @param label     How messages call the field; none: they number it.
template <class T>
[[nodiscard]] RaggedField ragged_field(std::span<T> values, std::span<std::uint64_t> lengths,
                                       std::string label = {}) {
  static_assert(std::is_trivially_copyable_v<T>, "Valet moves bytes: T must be trivially copyable");
  static_assert(!std::is_const_v<T>,
                "Valet moves blocks into this arena: give one that is not const");
  RaggedField result{.data = values.data(), .capacity_bytes = values.size_bytes()};
  result.lengths = lengths.data();
  result.block_capacity = lengths.size();
  result.alignment_bytes = alignof(T);
  result.label = std::move(label);
  return result;
}

/// The same with offsets, in bytes, in place of lengths. Local.
/// @param values   All that blocks may fill; the caller keeps the memory.
/// @param offsets  One more than there may be blocks.
/// @param label    How messages call the field; none: they number it.
template <class T>
[[nodiscard]] RaggedField ragged_field_by_offsets(std::span<T> values,
                                                  std::span<std::uint64_t> offsets,
                                                  std::string label = {}) {
  RaggedField result = ragged_field(values, offsets, std::move(label));
  result.block_capacity -= offsets.empty() ? 0 : 1;
  result.are_offsets = !offsets.empty();
  return result;
}

/// The arenas of one rank, and arrays beside them that have one row for each block.
///
/// A cheap handle: copies name the same memory. Building one is local and never throws for bad
/// fields; what is wrong with them is reported by the collective call that uses the storage, on all
/// ranks.
class VALET_EXPORT RaggedStorage {
 public:
  /// @param fields   At least one; the same number with the same alignments on all ranks.
  /// @param columns  Contiguous ones (field()), row k belongs to block k; the same number with the
  ///                 same bytes a row on all ranks.
  RaggedStorage(std::initializer_list<RaggedField> fields,
                std::initializer_list<Field> columns = {})
      : RaggedStorage(std::span(fields.begin(), fields.size()),
                      std::span(columns.begin(), columns.size())) {}
  /// The same for lists made at run time.
  explicit RaggedStorage(std::span<const RaggedField> fields, std::span<const Field> columns = {});

  /// Arenas. [local]
  [[nodiscard]] const std::vector<RaggedField>& fields() const { return fields_; }
  /// What has a row for each block. [local]
  [[nodiscard]] const std::vector<Field>& columns() const { return columns_; }

 private:
  std::vector<RaggedField> fields_;
  std::vector<Field> columns_;
};

/// @cond
namespace ragged {
struct PlanState;
struct Access;
}  // namespace ragged
/// @endcond

/// The validated result of looking at a map and at the lengths of the blocks: who sends how much to
/// whom, and what everybody needs to hold it. It keeps nothing of each block, and no reference to
/// the map or the storage. Move-only; its destructor is local and may run after MPI_Finalize.
class VALET_EXPORT RaggedPlan {
 public:
  /// Moves a plan; what it is moved from can be destroyed or assigned to.
  RaggedPlan(RaggedPlan&&) noexcept;
  /// Frees this plan and moves another one here.
  RaggedPlan& operator=(RaggedPlan&&) noexcept;
  RaggedPlan(const RaggedPlan&) = delete;
  RaggedPlan& operator=(const RaggedPlan&) = delete;
  ~RaggedPlan();

  /// Blocks on this rank before. [local]
  [[nodiscard]] std::uint64_t blocks_before() const;
  /// Blocks on this rank afterwards: the lengths and rows that it needs room for. execute() refuses
  /// with fewer. [local]
  [[nodiscard]] std::uint64_t blocks_after() const;
  /// Bytes of an arena that the blocks of this rank take afterwards, what aligns them included.
  /// execute() refuses with fewer, and with fewer than the blocks take before. [local]
  /// @param field  Its place in RaggedStorage::fields().
  [[nodiscard]] std::uint64_t required_bytes(std::size_t field = 0) const;
  /// Ranks that this rank exchanges blocks with. [local]
  [[nodiscard]] std::uint64_t neighbours() const;
  /// Bytes that the plan holds now, beyond the application's own memory. [local]
  [[nodiscard]] std::uint64_t extra_bytes() const;

 private:
  friend struct ragged::Access;
  explicit RaggedPlan(std::unique_ptr<ragged::PlanState> state);

  std::unique_ptr<ragged::PlanState> state_;
};

/// Plans a map that gives each block a rank. The lengths of the blocks are what it is planned from.
///
/// Collective over `communicator`, ranks without blocks included; blocking. Moves nothing.
///
/// @param communicator  An intracommunicator; its duplicate is cached on it at the first call.
/// @param storage  The blocks of this rank. [local]
/// @param count    Blocks of this rank: the first lengths and rows, and the front of each arena.
///                 [local]
/// @param ranks    ranks[k]: destination of block k, 0 to P-1; `count` entries. [local]
/// @param options  The same on all ranks but for what Options lists. Order::stable and any: the
///                 blocks that stay in old order, then those of other ranks by (source rank, old
///                 position); Order::fill needs blocks of one size. The trace and the progress are
///                 those of the pages of the first arena.
/// @throws Error rank_out_of_range, invalid_argument, field_mismatch, inaccessible_memory,
///         block_size_mismatch, budget_too_small, out_of_memory on all ranks alike;
///         not_initialized, invalid_communicator. The data is as it was.
/// Too much for a rank is not an error yet: compare required_bytes() and blocks_after().
[[nodiscard]] VALET_EXPORT RaggedPlan plan_to_ranks(MPI_Comm communicator,
                                                    const RaggedStorage& storage,
                                                    std::uint64_t count, std::span<const int> ranks,
                                                    const Options& options = {});

/// Carries a plan out inside the memory of `storage`, as often as wanted.
///
/// Collective over the plan's communicator; blocking. Afterwards the plan's blocks_after() blocks
/// are packed from the front of each arena, and their lengths and rows are in the same order. What
/// stands behind them is unspecified.
///
/// @param plan     Of the same ranks and lengths.
/// @param storage  The blocks that were planned for; capacities may have grown. [local]
/// @param ranks    The map that was planned. [local]
/// @throws Error infeasible (with what is required), invalid_argument also where the map or the
///         lengths are not those of the plan, field_mismatch, inaccessible_memory, out_of_memory,
///         budget_too_small: agreed upon first, on all ranks alike, the data is as it was.
///         corrupted: verification failed. mpi_failure: the content is unspecified.
///         callback_failed: a callback of the options threw an exception on some rank; every block
///         is where it belongs.
///
/// Memory beyond the storage, plan included: budget + 64 KiB + 256*neighbours + 20 bytes a page of
/// the capacities (of all arenas, lengths and columns; double from 2^32 pages on), nothing per
/// block. A page has 512 bytes to 64 KiB: as many that two for each destination of this rank,
/// itself included, and two more fit half of the budget of every rank, or with the least page the
/// budget. Where ranks have many neighbours, lists of them are part of the budget: some 500 bytes
/// for each beyond about 30, with one field.
VALET_EXPORT Report execute(RaggedPlan& plan, const RaggedStorage& storage,
                            std::span<const int> ranks);

/// plan_to_ranks() and execute() in one call, with the errors and the memory of both; the report
/// has the new number of blocks (blocks_after). Collective; blocking.
VALET_EXPORT Report migrate(MPI_Comm communicator, const RaggedStorage& storage,
                            std::uint64_t count, std::span<const int> ranks,
                            const Options& options = {});

}  // namespace valet
