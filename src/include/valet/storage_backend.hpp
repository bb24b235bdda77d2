// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The seam between Valet and memory: everything above it knows slots, only what implements it
/// touches bytes. For those who bring Valet to memory of another kind: applications use
/// BlockStorage.

#include <valet/error.hpp>
#include <valet/ledger.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>

namespace valet {

/// Slots in a given order, named by 32- or 64-bit indices; a view, not an owner.
class SlotList {
 public:
  /// Slots named by 32-bit indices.
  SlotList(std::span<const std::uint32_t> slots) : slots_(slots) {}
  /// Slots named by 64-bit indices.
  SlotList(std::span<const std::uint64_t> slots) : slots_(slots) {}

  /// Slots in the list.
  [[nodiscard]] std::size_t size() const {
    return std::visit([](auto slots) { return slots.size(); }, slots_);
  }
  /// Calls `action` with the span of the index type at hand.
  template <class Action>
  decltype(auto) visit(Action&& action) const {
    return std::visit(std::forward<Action>(action), slots_);
  }

 private:
  std::variant<std::span<const std::uint32_t>, std::span<const std::uint64_t>> slots_;
};

/// Bytes in one run of memory.
struct MemoryPiece {
  std::byte* data = nullptr;  ///< the first one
  std::size_t bytes = 0;      ///< how many
};

/// What a plan remembers of the storage it was made for.
struct BlockTraits {
  std::size_t block_bytes = 0;       ///< StorageBackend::block_bytes()
  std::size_t pieces_per_block = 1;  ///< StorageBackend::pieces_per_block()
  bool reachable_by_mpi = true;      ///< StorageBackend::reachable_by_mpi()
  bool reachable_by_host = true;     ///< StorageBackend::reachable_by_host()
  bool runs_are_contiguous = false;  ///< StorageBackend::contiguous_data() has an address

  /// Blocks of scratch that a migration needs: one more where a block is packed to be sent, or to
  /// be copied to another slot.
  [[nodiscard]] std::size_t least_scratch_blocks() const {
    return reachable_by_mpi && reachable_by_host ? 1 : 2;
  }
};

/// What is wrong with a storage. Found where it is built, reported where all ranks meet.
struct Diagnostic {
  ErrorCode code = ErrorCode::success;  ///< what the exception will have
  std::string text;                     ///< what, where, and how to fix it
};

/// Moves blocks between the slots of one rank and packed memory. A packed block is the consecutive
/// rows of its fields, block_bytes() in all. Every function is local, and blocking unless it says
/// otherwise.
///
/// gather(), gather_past_cache(), scatter(), copy(), pieces(), what starts and what finishes them,
/// and hash_sum() may throw where may_throw() says so. This storage is then not called again, the
/// other ranks get blocks of any content, and when all is over every rank throws Error
/// callback_failed with the text of the exception. What synchronize() and allocate_scratch() throw
/// is reported in the same way before anything moves. The other functions, and those where
/// may_throw() is false, must not throw: where one does, the program ends (std::terminate), because
/// other ranks wait for this one.
class VALET_EXPORT StorageBackend {
 public:
  StorageBackend() = default;
  StorageBackend(const StorageBackend&) = delete;
  StorageBackend& operator=(const StorageBackend&) = delete;
  virtual ~StorageBackend() = default;

  /// The most blocks that it can hold.
  [[nodiscard]] virtual std::uint64_t slots() const = 0;
  /// Bytes of a packed block.
  [[nodiscard]] virtual std::size_t block_bytes() const = 0;
  /// Why this storage cannot be used, if it cannot.
  [[nodiscard]] virtual std::optional<Diagnostic> diagnostic() const { return std::nullopt; }

  /// Waits for work of the application that may still touch the blocks. Every collective call asks
  /// for it once, before it touches one.
  virtual void synchronize() {}

  /// A stage of a migration ("plan", "exchange", "local", "verify") begins and ends, for profilers
  /// that the memory's programming model has. Always in pairs, nested, also when it fails.
  virtual void begin_stage(const char* /*name*/) {}
  /// The stage that began last ends.
  virtual void end_stage() {}

  /// Packs the blocks of `from` one after the other into `packed`.
  virtual void gather(SlotList from, std::byte* packed) = 0;
  /// The same for memory that another core reads next, as it does messages: may write past the
  /// cache of this one.
  virtual void gather_past_cache(SlotList from, std::byte* packed) { gather(from, packed); }
  /// Unpacks as many packed blocks as `to` has slots.
  virtual void scatter(const std::byte* packed, SlotList to) = 0;
  /// Copies block from[k] to slot to[k] for k = 0, 1, ... in this order; `scratch` may be used and
  /// has at least one block, or none where reachable_by_host(). May go on after its return, as what
  /// start_gather() starts.
  virtual void copy(SlotList from, SlotList to, std::span<std::byte> scratch) = 0;

  /// Starts what gather_past_cache() does, which may go on after the return, so that kernels run
  /// while MPI moves other blocks; where reachable_by_host() it is done then. Lists are read before
  /// that. All that is started is done in the order of the calls, before what a later call of any
  /// function does. Nobody else touches the packed memory, or memory of contiguous_data(), until it
  /// is finished.
  virtual void start_gather(SlotList from, std::byte* packed) { gather_past_cache(from, packed); }
  /// Starts what scatter() does, likewise.
  virtual void start_scatter(const std::byte* packed, SlotList to) { scatter(packed, to); }
  /// Waits for all that was started and touches a part of `packed`.
  virtual void finish(std::span<const std::byte> packed) {
    if (!packed.empty()) finish_all();
  }
  /// Waits for all that was started.
  virtual void finish_all() {}

  /// Whether hash_sum() is there: the blocks are hashed where they are.
  [[nodiscard]] virtual bool hashes_blocks() const { return false; }
  /// The sum over k of detail::piece_hash() of all pieces of block slots[k], with seeds[k].
  virtual std::uint64_t hash_sum(SlotList /*slots*/, std::span<const std::uint64_t> /*seeds*/) {
    return 0;
  }

  /// Whether moving blocks can fail. Where it can on any rank, every execution ends with one more
  /// reduction over the ranks, with Options::verify two.
  [[nodiscard]] virtual bool may_throw() const { return true; }

  /// Whether MPI may read and write blocks where they are: those of the host's memory, or of a
  /// device's where MPI is aware of it. Otherwise every block is packed to be sent.
  [[nodiscard]] virtual bool reachable_by_mpi() const = 0;
  /// Whether this core reads and writes the blocks itself, which it may do in any number of small
  /// steps, and packs them into any memory of the host, that which it shares with other ranks
  /// among it. Otherwise, as with kernels of a device, each call costs something, blocks are packed
  /// only into memory of allocate_scratch() or a workspace lent to execute(), and copies between
  /// slots wait for the end. Without an answer of its own: as MPI.
  [[nodiscard]] virtual bool reachable_by_host() const { return reachable_by_mpi(); }
  /// The address of slot 0 where the blocks follow each other in memory that MPI may read and
  /// write, so that any run of slots is one message; nullptr otherwise. Only MPI is given addresses
  /// that are made from it.
  [[nodiscard]] virtual std::byte* contiguous_data() const { return nullptr; }
  /// The pieces of memory that pieces() appends for a block.
  [[nodiscard]] virtual std::size_t pieces_per_block() const { return 1; }
  /// Appends the memory of one block, in packed order. Only where reachable_by_mpi().
  virtual void pieces(std::uint64_t slot, Vector<MemoryPiece>& list) const = 0;

  /// What a plan remembers of this storage.
  [[nodiscard]] BlockTraits traits() const noexcept {
    return {block_bytes(), pieces_per_block(), reachable_by_mpi(), reachable_by_host(),
            contiguous_data() != nullptr};
  }

  /// Memory for packed blocks that MPI, the host and this backend can reach. It may outlive the
  /// backend.
  /// The caller counts it. @throws std::bad_alloc.
  [[nodiscard]] virtual std::shared_ptr<std::byte> allocate_scratch(std::size_t bytes) const;
};

}  // namespace valet
