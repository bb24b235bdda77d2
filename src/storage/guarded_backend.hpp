// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/memory_reserve.hpp"
#include <valet/detail/first_failure.hpp>
#include <valet/storage_backend.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace valet::storage {

/// What a storage answers that must not throw: where it does, the program ends with the text of the
/// exception. Local.
template <class Question>
[[nodiscard]] auto asked(Question&& question) noexcept {
  return question();
}

/// What is wrong with a storage as it is now, if anything: arrays may have been resized since
/// somebody looked. Local.
[[nodiscard]] inline std::optional<Diagnostic> diagnostic_now(StorageBackend& backend) noexcept {
  backend.refresh();
  return backend.diagnostic();
}

/// A storage that may throw, made one that does not: passes everything on until the storage throws,
/// and from then on moves nothing. So an exchange runs to its end on all ranks, with blocks of any
/// content, and the error is reported there. Questions are passed on unchanged; those that must not
/// throw end the program where they do. Local.
class GuardedBackend final : public StorageBackend {
 public:
  /// @param backend  Must outlive this.
  explicit GuardedBackend(StorageBackend& backend) : backend_(backend) {}

  /// What it threw, if it did, with a text that ends with `consequence`.
  [[nodiscard]] std::optional<Diagnostic> failure(const char* consequence) const {
    return failure_.diagnostic(consequence);
  }

  [[nodiscard]] std::uint64_t slots() const noexcept override { return backend_.slots(); }
  [[nodiscard]] std::size_t block_bytes() const noexcept override { return backend_.block_bytes(); }
  void refresh() noexcept override { backend_.refresh(); }
  void visit_fields(const std::function<void(const BlockField&)>& visit) const override {
    backend_.visit_fields(visit);
  }
  [[nodiscard]] std::optional<Diagnostic> diagnostic() const noexcept override {
    return backend_.diagnostic();
  }
  [[nodiscard]] bool may_throw() const override { return false; }

  void synchronize() override { backend_.synchronize(); }
  void begin_stage(const char* name) noexcept override { backend_.begin_stage(name); }
  void end_stage() noexcept override { backend_.end_stage(); }

  void gather(SlotList from, std::byte* packed) override {
    attempt("packing blocks (gather)", [&] { backend_.gather(from, packed); });
  }
  void scatter(const std::byte* packed, SlotList to) override {
    attempt("unpacking blocks (scatter)", [&] { backend_.scatter(packed, to); });
  }
  void copy(SlotList from, SlotList to, std::span<std::byte> scratch) override {
    attempt("copying blocks (copy)", [&] { backend_.copy(from, to, scratch); });
  }

  void start_gather(SlotList from, std::byte* packed) override {
    attempt("packing blocks (gather)", [&] { backend_.start_gather(from, packed); });
  }
  void start_scatter(const std::byte* packed, SlotList to) override {
    attempt("unpacking blocks (scatter)", [&] { backend_.start_scatter(packed, to); });
  }
  void finish(std::span<const std::byte> packed) override {
    attempt("waiting for blocks to be moved (finish)", [&] { backend_.finish(packed); });
  }
  void finish_all() override {
    attempt("waiting for blocks to be moved (finish)", [&] { backend_.finish_all(); });
  }

  [[nodiscard]] bool hashes_blocks() const noexcept override { return backend_.hashes_blocks(); }
  std::uint64_t hash_sum(SlotList slots, std::span<const std::uint64_t> seeds) override {
    std::uint64_t sum = 0;
    attempt("hashing blocks (hash_sum)", [&] { sum = backend_.hash_sum(slots, seeds); });
    return sum;
  }

  [[nodiscard]] std::byte* contiguous_data() const noexcept override {
    return backend_.contiguous_data();
  }
  [[nodiscard]] bool reachable_by_mpi() const noexcept override {
    return backend_.reachable_by_mpi();
  }
  [[nodiscard]] bool reachable_by_host() const noexcept override {
    return backend_.reachable_by_host();
  }
  [[nodiscard]] std::size_t pieces_per_block() const noexcept override {
    return backend_.pieces_per_block();
  }
  /// Appends nothing where the storage fails: the message is then shorter than its receiver allows.
  void pieces(std::uint64_t slot, Vector<MemoryPiece>& list) const override {
    const std::size_t before = list.size();
    if (!attempt("finding a block in memory (pieces)", [&] { backend_.pieces(slot, list); }))
      list.resize(before);
  }

  [[nodiscard]] std::shared_ptr<std::byte> allocate_scratch(std::size_t bytes) const override {
    return backend_.allocate_scratch(bytes);
  }

 private:
  /// Memory that is held back is not for the application.
  template <class Action>
  bool attempt(const char* activity, Action&& action) const {
    const detail::LeaveReserve leave;
    return failure_.attempt(activity, std::forward<Action>(action));
  }

  StorageBackend& backend_;
  mutable detail::FirstFailure failure_;  // pieces() is const
};

}  // namespace valet::storage
