// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Blocks of different sizes on their way to the slots that their numbers give them. Their lengths
/// go first, as blocks of one size; then every rank knows what it gets from whom and where that
/// belongs, and gets the bytes of one arena after the other straight into their places.

#include "call/frame.hpp"
#include "engine/array_exchange.hpp"
#include "junction/block_pieces.hpp"
#include "junction/transport.hpp"
#include "mpi/channel.hpp"
#include "observe/progress.hpp"
#include <valet/plan.hpp>
#include <valet/ragged_storage.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace valet::junction {

/// The lengths of blocks in each arena, and where the blocks come from: a row for each block.
class LengthRows {
 public:
  LengthRows() = default;
  /// @throws std::bad_alloc.
  LengthRows(Ledger& ledger, std::size_t blocks, std::size_t arenas)
      : words_(ledger, blocks * (arenas + 1)), width_(arenas + 1) {}

  /// The travel_key() that tells where it comes from.
  [[nodiscard]] std::uint64_t& origin(std::size_t block) { return words_[block * width_]; }
  [[nodiscard]] std::uint64_t& length(std::size_t block, std::size_t arena) {
    return words_[block * width_ + 1 + arena];
  }
  [[nodiscard]] BlockStorage storage() {
    const std::size_t bytes = width_ * sizeof(std::uint64_t);
    return {strided_field(words_.data(), words_.size() / width_, bytes,
                          static_cast<std::ptrdiff_t>(bytes), "lengths")};
  }
  void copy_from(const LengthRows& other) {
    std::copy(other.words_.begin(), other.words_.end(), words_.begin());
  }

 private:
  Array<std::uint64_t> words_;
  std::size_t width_ = 1;
};

class NumberedRagged {
 public:
  /// Reads the next bytes that this rank sends of an arena.
  using Read = std::function<std::optional<Diagnostic>(std::span<std::byte> window)>;

  /// @param communicator  The ranks of both sides; must outlive this, as the others must.
  /// @param storage       What this rank sends, unless that is read, or where it gets blocks.
  NumberedRagged(MPI_Comm communicator, const Transport& over, const RaggedStorage& storage,
                 Ledger& ledger);

  /// Takes room for the lengths of what this rank sends and gets. Collective.
  /// @param due    Nothing on a rank that only sends. @param wrong  What it has found wrong before.
  void allocate(std::uint64_t sent, std::optional<std::uint64_t> due,
                const std::optional<Diagnostic>& wrong);
  // To be filled in, of what this rank sends.
  Array<Address> addresses;
  LengthRows lengths;

  /// Brings the lengths to the ranks that get the blocks, and makes room there. Collective.
  /// @param wrong  What this rank has found wrong before. @param name  Of what is got, for errors.
  /// @throws Error on all ranks: no block has moved.
  void pass_lengths(const std::optional<Diagnostic>& wrong, const std::string& name);
  /// What this rank sends of an arena or a column, not aligned. Local.
  [[nodiscard]] std::uint64_t bytes_of(std::size_t arena);
  /// Brings the bytes of an arena or, behind them, the rows of a column. Collective.
  /// @param read  Nothing where they are in the storage.
  void pass(std::size_t arena, const Read& read = {});
  /// Compares what was sent from storages with what has been got. Collective.
  /// @throws Error corrupted on all ranks.
  void verify();
  /// Says in the storage what there is now. Collective. @throws Error callback_failed on all ranks,
  /// with what the progress callback of some rank threw: all blocks are in place.
  [[nodiscard]] Report finish();

 private:
  [[nodiscard]] std::size_t arenas() const { return storage_.fields().size(); }
  /// That of a column has rows of one size.
  [[nodiscard]] ragged::Arena arena_at(std::size_t arena) const;
  [[nodiscard]] std::uint64_t length_of(LengthRows& rows, std::size_t block,
                                        std::size_t arena) const;
  [[nodiscard]] std::uint64_t sum_of(LengthRows& rows, std::uint64_t blocks);
  /// The bytes from `from` to `end` of what this rank sends of an arena. Collective.
  /// @param memory  That which stands at `from`, and what follows.
  void exchange(const std::byte* memory, std::uint64_t from, std::uint64_t end, std::byte* room,
                const layout::ExchangeSizes& sizes, const std::optional<Diagnostic>& wrong);

  MPI_Comm communicator_;
  const Transport& over_;
  const RaggedStorage& storage_;
  mpi::Channel channel_;
  Ledger& ledger_;
  std::uint64_t count_ = 0, due_ = 0;
  bool gets_ = false;
  LengthRows got_;
  std::optional<BlockPieces> leaving_, arriving_;
  Array<std::uint64_t> to_, from_, next_;  ///< bytes for and from each rank; where they go on
  std::optional<call::Frame> frame_;
  std::unique_ptr<observe::ProgressMeter> meter_;  ///< of the bytes that leave and arrive
  double start_ = 0;                               ///< when the first of them could
  Report report_;
  std::uint64_t bytes_planning_ = 0;  ///< in use while lengths travelled
};

}  // namespace valet::junction
