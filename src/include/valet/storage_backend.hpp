// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The interface between Valet and memory: the rest of Valet knows only slots; a backend accesses
/// the bytes. For developers who support another kind of memory; applications use BlockStorage.

#include <valet/error.hpp>
#include <valet/ledger.hpp>
#include <valet/slots.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace valet {

/// A contiguous run of bytes.
struct MemoryPiece {
  std::byte* data = nullptr;  ///< the first byte
  std::size_t bytes = 0;      ///< number of bytes
};

/// What is stored of a block in one array.
struct BlockField {
  std::string_view label;       ///< empty if it has none
  std::uint64_t row_bytes = 0;  ///< bytes of a block in this field; 0 if blocks are of any size
  /// Extents of a row of several dimensions, outermost first; empty where the order of its values
  /// does not depend on them.
  std::span<const std::uint64_t> extents;
};

/// Moves blocks between the slots of one rank and packed memory. A packed block consists of the
/// rows of its fields one after another, block_bytes() in total. All functions are local, and
/// blocking unless stated otherwise.
///
/// If may_throw() returns true, gather(), scatter(), copy(), pieces(), hash_sum(), and the
/// functions that start and finish such work may throw. Valet then no longer calls this storage,
/// the other ranks get blocks with any content, and at the end every rank throws Error
/// callback_failed with the text of the exception. Exceptions from synchronize() and
/// allocate_scratch() are reported in the same way before anything moves. No other function may
/// throw, nor the moving ones if may_throw() returns false: an exception would end the program
/// (std::terminate), because other ranks wait for this one.
class VALET_EXPORT StorageBackend {
 public:
  StorageBackend() = default;
  StorageBackend(const StorageBackend&) = delete;
  StorageBackend& operator=(const StorageBackend&) = delete;
  virtual ~StorageBackend() = default;

  /// The most blocks that the storage can hold.
  [[nodiscard]] virtual std::uint64_t slots() const = 0;
  /// Bytes of a packed block; 0 if there are no slots and it is not known, as for a Kokkos View
  /// that was never allocated.
  [[nodiscard]] virtual std::size_t block_bytes() const = 0;
  /// Calls `visit` for each field of a packed block, in order. Number, rows and labels must be the
  /// same on all ranks that know them. Default: one field without a label.
  virtual void visit_fields(const std::function<void(const BlockField&)>& visit) const {
    visit({{}, block_bytes(), {}});
  }
  /// Looks again at arrays that may have been resized since. Every collective call begins with it.
  /// Must not throw; what is wrong is for diagnostic().
  virtual void refresh() {}
  /// Why this storage cannot be used, if so.
  [[nodiscard]] virtual std::optional<Diagnostic> diagnostic() const { return std::nullopt; }

  /// Waits for work of the application that may still access the blocks. Every collective call
  /// calls it once before it accesses a block.
  virtual void synchronize() {}

  /// A stage of a migration ("plan", "exchange", "local", "verify") begins: for profilers of the
  /// memory's programming model. Always paired with end_stage(), also after an error; stages may be
  /// nested.
  virtual void begin_stage(const char* /*name*/) {}
  /// The most recent stage ends.
  virtual void end_stage() {}

  /// Packs the blocks of `from` contiguously into `packed`.
  virtual void gather(SlotList from, std::byte* packed) = 0;
  /// Unpacks one packed block for each slot of `to`.
  virtual void scatter(const std::byte* packed, SlotList to) = 0;
  /// Copies block from[k] to slot to[k] for k = 0, 1, ... in this order. May use `scratch`, which
  /// has at least one block, or none if reachable_by_host(). May return before the copies are done,
  /// as start_gather().
  virtual void copy(SlotList from, SlotList to, std::span<std::byte> scratch) = 0;

  /// Starts the work of gather(), and may return before it is done, so that kernels run while MPI
  /// moves other blocks; if reachable_by_host(), it is done on return. Another core reads the
  /// packed memory next, so that it may bypass this core's cache. The lists are read before the
  /// return. Started work takes effect in the order of the calls, and before any later call of this
  /// interface. Nobody else accesses the packed memory, or memory of contiguous_data(), until the
  /// work is finished.
  virtual void start_gather(SlotList from, std::byte* packed) { gather(from, packed); }
  /// Starts the work of scatter() in the same way.
  virtual void start_scatter(const std::byte* packed, SlotList to) { scatter(packed, to); }
  /// Waits for all started work that accesses part of `packed`.
  virtual void finish(std::span<const std::byte> packed) {
    if (!packed.empty()) finish_all();
  }
  /// Waits for all started work.
  virtual void finish_all() {}

  /// Whether hash_sum() is implemented: blocks are hashed in place.
  [[nodiscard]] virtual bool hashes_blocks() const { return false; }
  /// The sum over k of detail::piece_hash() of all pieces of block slots[k], with seeds[k].
  virtual std::uint64_t hash_sum(SlotList /*slots*/, std::span<const std::uint64_t> /*seeds*/) {
    return 0;
  }

  /// Whether moving blocks can fail. If it can on any rank, every execution ends with one
  /// additional reduction, with Options::verify four and a broadcast of one block; gather() and
  /// scatter() are then also called before the exchange (see CustomFunctions).
  [[nodiscard]] virtual bool may_throw() const { return true; }

  /// Whether MPI may read and write blocks in place: host memory, or device memory with a
  /// device-aware MPI. Otherwise every block is packed before it is sent.
  [[nodiscard]] virtual bool reachable_by_mpi() const = 0;
  /// Whether the calling core accesses the blocks itself, possibly in many small steps, and can
  /// pack them into any host memory, including memory shared with other ranks. Otherwise, as with
  /// device kernels, each call has a cost, blocks are packed only into memory of allocate_scratch()
  /// or a workspace lent to execute(), and copies between slots are made at the end. Default: as
  /// reachable_by_mpi().
  [[nodiscard]] virtual bool reachable_by_host() const { return reachable_by_mpi(); }
  /// The address of slot 0 if the blocks are contiguous in memory that MPI may read and write, so
  /// that any run of slots is one message; otherwise nullptr. Addresses derived from it are only
  /// passed to MPI.
  [[nodiscard]] virtual std::byte* contiguous_data() const { return nullptr; }
  /// Number of pieces that pieces() appends per block.
  [[nodiscard]] virtual std::size_t pieces_per_block() const { return 1; }
  /// Appends the memory of one block, in packed order. Only called if reachable_by_mpi().
  virtual void pieces(std::uint64_t slot, Vector<MemoryPiece>& list) const = 0;

  /// Calls visit(first byte of slot 0, bytes to the next slot, bytes) for the pieces of a block in
  /// packed order, where all slots have them at equal distances and any thread of this machine may
  /// read and write them. Default: nothing, which keeps other ranks from reading them.
  virtual void visit_rows(
      const std::function<void(std::byte*, std::ptrdiff_t, std::size_t)>& /*visit*/) const {}

  /// The properties of this storage that a plan remembers.
  [[nodiscard]] BlockTraits traits() const noexcept;

  /// Memory for packed blocks that MPI, the host and this backend can access. May outlive the
  /// backend. The caller counts it. @throws std::bad_alloc.
  [[nodiscard]] virtual std::shared_ptr<std::byte> allocate_scratch(std::size_t bytes) const;
};

}  // namespace valet
