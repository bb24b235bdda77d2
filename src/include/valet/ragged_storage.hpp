// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Blocks of different sizes: packed bytes with their lengths, moved in place.

#include <valet/block_storage.hpp>
#include <valet/detail/owned.hpp>
#include <valet/error.hpp>
#include <valet/export.hpp>
#include <valet/mpi.hpp>
#include <valet/options.hpp>
#include <valet/ref.hpp>
#include <valet/report.hpp>

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

/// An arena: memory of the application on the host, in which blocks of different sizes are packed
/// from the front.
///
/// Block k has lengths[k] bytes, 0 or more. It starts at the end of the previous blocks, whose
/// lengths count rounded up to a multiple of the alignment. The application owns the memory; Valet
/// reads and writes it only inside calls that are given the storage.
///
/// With offsets instead of lengths, as in compressed rows, block k has the bytes from offsets[k] to
/// offsets[k + 1] of the arena. The first offset is 0; all are multiples of the alignment. Some
/// ranks may use lengths and others offsets; a block from a rank with lengths then ends, by its
/// offsets, where the next one starts: padding included.
struct RaggedField {
  void* data = nullptr;              ///< block 0, at a multiple of the alignment
  std::uint64_t capacity_bytes = 0;  ///< bytes that blocks may fill, with alignment padding
  std::uint64_t* lengths = nullptr;  ///< bytes of each block; Valet writes the new ones
  std::uint64_t block_capacity = 0;  ///< entries of `lengths`: the most blocks that fit
  std::size_t alignment_bytes = 1;   ///< alignment of every block: a power of two, at most 64
  bool are_offsets = false;          ///< `lengths` holds block_capacity + 1 offsets instead
  /// Name used in messages, the same on all ranks; if empty, they give the field's number.
  std::string label = {};
  /// Optional, for memory that is not always ready: called, possibly more than once, before a
  /// collective call reads the field. Waits for work that may still write the memory, and returns
  /// an error, if any, for all ranks to throw. Must not throw.
  std::function<std::optional<Diagnostic>()> prepare = {};
  /// Bytes of a value where blocks are arrays of one type: lengths that are no multiples of it are
  /// refused. 1 for blocks of anything.
  std::size_t value_bytes = 1;
  /// Describes the arena as it is now, for arrays that may be resized; empty for others.
  std::function<RaggedField()> current = {};
  /// Gives it this many bytes for this many blocks, with the ones it has; may throw and change
  /// nothing then. Empty for arrays that Valet must not resize.
  std::function<void(std::uint64_t bytes, std::uint64_t blocks)> resize = {};
};

/// Room that a rank needs for blocks of different sizes.
struct RaggedRoom {
  std::uint64_t blocks = 0;          ///< lengths in every ragged field, rows in every column
  std::vector<std::uint64_t> bytes;  ///< for each ragged field, including alignment padding
};

/// @cond
namespace detail {
/// RaggedField::resize of arrays that may grow.
/// @param more_words  Words that are no block's: 1 of offsets.
template <class Values, class Words>
auto resize_of(Ref<Values> values, Ref<Words> words, std::size_t more_words) {
  std::function<void(std::uint64_t, std::uint64_t)> resize;
  if constexpr (CanGrow<Values>)
    if (values.may_grow() && words.may_grow())
      resize = [=](std::uint64_t new_bytes, std::uint64_t new_blocks) {
        constexpr std::size_t value_bytes = sizeof(*std::data(values.get()));
        resize_to(values.get(),
                  static_cast<std::size_t>((new_bytes + value_bytes - 1) / value_bytes));
        resize_to(words.get(), static_cast<std::size_t>(new_blocks) + more_words);
      };
  return resize;
}
}  // namespace detail
/// @endcond

/// An arena of values of T, with the lengths of its blocks in bytes. Local.
/// @tparam T       Trivially copyable; not const. Every block is aligned for T.
/// @param values   All memory that blocks may fill; the caller owns it.
/// @param lengths  Bytes of each block, multiples of sizeof(T), not numbers of values; one entry
/// for
///                 each block that fits. For blocks that are no arrays of T give an arena of bytes
///                 and set RaggedField::alignment_bytes.
/// @param label    Name used in messages; if empty, they give the field's number.
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
  result.value_bytes = sizeof(T);
  result.label = std::move(label);
  return result;
}

/// The same for ref() or growing() of vectors or NodeArrays.
template <detail::ResizableArray Values, detail::ResizableArray Lengths>
[[nodiscard]] RaggedField ragged_field(Ref<Values> values, Ref<Lengths> lengths,
                                       std::string label = {}) {
  const auto current = [values, lengths] {
    return ragged_field(std::span(values.get()), std::span(lengths.get()));
  };
  RaggedField result = current();
  result.label = std::move(label);
  result.current = current;
  result.resize = detail::resize_of(values, lengths, 0);
  return result;
}

/// The same with offsets in bytes, multiples of sizeof(T), instead of lengths. Local.
/// @param values   All memory that blocks may fill; the caller owns it.
/// @param offsets  One entry more than blocks that fit.
/// @param label    Name used in messages, the same on all ranks; if empty, they give the field's
///                 number.
template <class T>
[[nodiscard]] RaggedField ragged_field_by_offsets(std::span<T> values,
                                                  std::span<std::uint64_t> offsets,
                                                  std::string label = {}) {
  RaggedField result = ragged_field(values, offsets, std::move(label));
  result.block_capacity -= offsets.empty() ? 0 : 1;
  result.are_offsets = !offsets.empty();
  return result;
}

/// The same for ref() or growing() of vectors or NodeArrays.
template <detail::ResizableArray Values, detail::ResizableArray Offsets>
[[nodiscard]] RaggedField ragged_field_by_offsets(Ref<Values> values, Ref<Offsets> offsets,
                                                  std::string label = {}) {
  const auto current = [values, offsets] {
    return ragged_field_by_offsets(std::span(values.get()), std::span(offsets.get()));
  };
  RaggedField result = current();
  result.label = std::move(label);
  result.current = current;
  result.resize = detail::resize_of(values, offsets, 1);
  return result;
}

/// The arenas of one rank, and columns: arrays with one row per block.
///
/// A cheap handle: copies refer to the same memory. Construction is local and never throws because
/// of bad fields; errors in them are reported on all ranks by the collective call that uses the
/// storage.
class VALET_EXPORT RaggedStorage {
 public:
  /// Makes a storage. Local.
  /// @param fields   At least one; the same number, with the same alignments, on all ranks.
  /// @param columns  Contiguous fields, see field(): row k belongs to block k. The same number,
  ///                 with the same bytes per row, on all ranks.
  RaggedStorage(std::initializer_list<RaggedField> fields,
                std::initializer_list<Field> columns = {})
      : RaggedStorage(std::span(fields.begin(), fields.size()),
                      std::span(columns.begin(), columns.size())) {}
  /// The same for lists made at run time.
  explicit RaggedStorage(std::span<const RaggedField> fields, std::span<const Field> columns = {});
  /// Refers to the same memory. There is no move that leaves an unusable storage behind.
  RaggedStorage(const RaggedStorage&) = default;
  /// Refers to the same memory.
  RaggedStorage& operator=(const RaggedStorage&) = default;
  ~RaggedStorage() = default;

  /// The same storage, with a function that enlarges it on a rank that will hold more blocks or
  /// bytes than it has room for: BlockStorage::growing(). Local.
  /// @param grow  As there.
  [[nodiscard]] RaggedStorage growing(
      std::function<RaggedStorage(const RaggedRoom& required)> grow) const;
  /// Whether it may be enlarged. [local]
  [[nodiscard]] bool grows() const { return bool(shared_->grow); }

  /// Looks again at arenas and columns that may have been resized; every call begins with it.
  /// [local]
  void refresh() const;
  /// The arenas. [local]
  [[nodiscard]] const std::vector<RaggedField>& fields() const { return shared_->fields; }
  /// The columns. [local]
  [[nodiscard]] const std::vector<Field>& columns() const { return shared_->columns; }
  /// @cond
  // Enlarges it, where it grows. Throws what that throws.
  void grow(const RaggedRoom& required) const;
  /// @endcond

 private:
  /// @cond
  struct Shared {
    std::vector<RaggedField> fields;
    std::vector<Field> columns;
    std::function<void(const RaggedStorage& storage, const RaggedRoom& required)> grow;
  };
  /// @endcond
  std::shared_ptr<Shared> shared_;
};

/// @cond
namespace ragged {
struct PlanState;
struct Access;
}  // namespace ragged
/// @endcond

/// A validated map with the lengths of the blocks: who sends how much to whom, and the room that
/// every rank needs. A plan stores nothing per block and no reference to the map or the storage.
/// Move-only; its destructor is local and may run after MPI_Finalize.
class VALET_EXPORT RaggedPlan {
 public:
  /// Moves a plan; afterwards the source can only be destroyed or assigned to: other functions
  /// throw Error invalid_argument.
  RaggedPlan(RaggedPlan&&) noexcept;
  /// Frees this plan and takes over another one.
  RaggedPlan& operator=(RaggedPlan&&) noexcept;
  RaggedPlan(const RaggedPlan&) = delete;
  RaggedPlan& operator=(const RaggedPlan&) = delete;
  ~RaggedPlan();

  /// Blocks on this rank before. [local]
  [[nodiscard]] std::uint64_t blocks_before() const;
  /// Blocks on this rank afterwards: the required lengths and rows. execute() fails with fewer.
  /// [local]
  [[nodiscard]] std::uint64_t blocks_after() const;
  /// Bytes of an arena that the blocks of this rank take afterwards, including alignment padding.
  /// execute() fails with fewer, or with fewer than the blocks take before. [local]
  /// @param field  Index in RaggedStorage::fields(). @throws Error invalid_argument beyond them.
  [[nodiscard]] std::uint64_t required_bytes(std::size_t field = 0) const;
  /// Ranks that this rank exchanges blocks with. [local]
  [[nodiscard]] std::uint64_t neighbours() const;
  /// Bytes that the plan holds now beyond the application's memory. [local]
  [[nodiscard]] std::uint64_t extra_bytes() const;

 private:
  friend struct ragged::Access;
  explicit RaggedPlan(std::unique_ptr<ragged::PlanState> state);

  detail::Owned<ragged::PlanState> state_;
};

/// Plans a map that gives each block a rank, from the lengths of the blocks.
///
/// Collective over `communicator`, including ranks without blocks; blocking. Moves nothing.
///
/// @param communicator  An intracommunicator; the first call caches a duplicate on it.
/// @param storage       The blocks of this rank. [local]
/// @param count         Blocks of this rank: the first lengths and rows, and the front of each
///                      arena. [local]
/// @param ranks         ranks[k]: destination of block k, 0 to P-1; `count` entries. [local]
/// @param options       The same on all ranks, with the exceptions listed in Options. With
///                      Order::stable and any, the blocks that stay keep their order and come
///                      first, followed by those of other ranks by (source rank, old position);
///                      Order::fill needs blocks of one size. Trace and progress cover the pages of
///                      the first arena.
/// @throws Error rank_out_of_range, invalid_argument, field_mismatch, inaccessible_memory,
///         block_size_mismatch, budget_too_small, out_of_memory: the same error on all ranks;
///         not_initialized, invalid_communicator. The data is unchanged. Planning does not fail if
///         a rank gets too much: compare required_bytes() and blocks_after() with its capacities.
[[nodiscard]] VALET_EXPORT RaggedPlan plan_to_ranks(MPI_Comm communicator,
                                                    const RaggedStorage& storage,
                                                    std::uint64_t count, std::span<const int> ranks,
                                                    const Options& options = {});

/// Executes a plan inside the memory of `storage`; can be repeated.
///
/// Collective over the plan's communicator; blocking. Afterwards the plan's blocks_after() blocks
/// are packed from the front of each arena, with their lengths and rows in the same order. The
/// memory behind them is unspecified.
///
/// @param plan     A plan for the same ranks and lengths.
/// @param storage  The planned blocks; capacities may have grown. [local]
/// @param ranks    The planned map. [local]
/// @throws Error infeasible (with the required sizes), invalid_argument (also if the map or the
///         lengths differ from those planned), field_mismatch, inaccessible_memory, out_of_memory,
///         budget_too_small: agreed on before anything moves, the same on all ranks, and the data
///         is unchanged. corrupted: verification failed. mpi_failure: the content is unspecified.
///         callback_failed: a callback of the options threw an exception on some rank; every block
///         is at its destination.
///
/// Memory beyond the storage, including the plan: budget + 64 KiB + 256*neighbours + 20 bytes per
/// page of the capacities (of all arenas, lengths and columns), and nothing per block. A page has
/// 512 bytes to 64 KiB: as large as possible such that on every rank two pages per destination,
/// including itself, and two more fit half of the budget; with pages of 512 bytes they must fit the
/// budget. Beyond about 30 neighbours, lists take about 500 bytes of the budget for each further
/// one, with one field, and 4 KiB for each array beyond the fifth: arenas, lengths and columns.
/// Methods that keep a table on rank 0 add 64*P there, and ranks that are a layout on all ranks.
VALET_EXPORT Report execute(RaggedPlan& plan, const RaggedStorage& storage,
                            std::span<const int> ranks);

/// plan_to_ranks() and execute() in one call, with the errors and the memory of both; the report
/// has the new number of blocks (blocks_after). Collective; blocking.
VALET_EXPORT Report migrate(MPI_Comm communicator, const RaggedStorage& storage,
                            std::uint64_t count, std::span<const int> ranks,
                            const Options& options = {});

}  // namespace valet
