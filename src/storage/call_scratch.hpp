// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Scratch that outlives its use: touching a page for the first time takes longer than copying what
/// it holds, so the next call on the communicator gets the same memory again.

#include "mpi/channel.hpp"
#include <valet/ledger.hpp>

#include <cstddef>
#include <memory>
#include <span>

namespace valet::storage {

/// Memory on loan from a communicator, and counted by the borrower meanwhile.
class CallScratch {
 public:
  CallScratch() = default;
  /// Takes what is kept, where that holds `bytes` and no more than `most`; else it is freed, and
  /// there is new memory.
  /// @param keep  Whether it is given back to the communicator, or freed. [local]
  /// @throws std::bad_alloc.
  CallScratch(const mpi::Channel& channel, Ledger& ledger, std::size_t bytes, std::size_t most,
              bool keep);
  CallScratch(CallScratch&& other) noexcept { swap(other); }
  CallScratch& operator=(CallScratch&& other) noexcept {
    CallScratch(std::move(other)).swap(*this);
    return *this;
  }
  CallScratch(const CallScratch&) = delete;
  CallScratch& operator=(const CallScratch&) = delete;
  ~CallScratch();

  /// At least as many bytes as were asked for, aligned to a page.
  [[nodiscard]] std::span<std::byte> bytes() const;
  /// The same from where `bytes` of it have a distance to `data` as of
  /// StorageBackend::allocate_scratch(), if they can; room for a cache line more lets them.
  [[nodiscard]] std::span<std::byte> bytes_for(const std::byte* data, std::size_t bytes) const;
  /// Gives the memory up without freeing it: MPI may still touch it after a failure.
  void leak() noexcept;

 private:
  struct Memory;
  void swap(CallScratch& other) noexcept;

  const mpi::Channel* channel_ = nullptr;
  Ledger* ledger_ = nullptr;
  std::shared_ptr<Memory> memory_;
  bool keep_ = false;
};

}  // namespace valet::storage
