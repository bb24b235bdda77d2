// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The memory of a call: scratch of its own, and memory that it shares with ranks of its node. The
/// communicator keeps both from one call to the next, because to touch a page for the first time
/// takes longer than to copy what it holds, and to map shared memory as long as to move some MiB.
///
/// This is the one place that divides the budget: a call gets what is kept as far as its budget
/// goes, shared memory first; the rest is freed. What is kept and not used counts, too, and makes
/// room for what a call needs.

#include "mpi/agreement.hpp"
#include "mpi/channel.hpp"
#include "storage/node_memory.hpp"
#include <valet/export.hpp>
#include <valet/ledger.hpp>
#include <valet/storage_backend.hpp>

#include <cstddef>
#include <memory>
#include <span>

namespace valet::storage {

/// Borrows when it is made and gives back when it is destroyed. Where nothing else is said, its
/// functions are local.
class VALET_EXPORT Loan {
 public:
  /// @param channel, ledger  Must outlive this; the ledger counts what is borrowed.
  /// @param limit_bytes      All that may be borrowed: of the budget.
  /// @param keep             Whether the communicator keeps it afterwards, or nothing.
  Loan(const mpi::Channel& channel, Ledger& ledger, std::size_t limit_bytes, bool keep);
  Loan(const Loan&) = delete;
  Loan& operator=(const Loan&) = delete;
  ~Loan();

  /// Leaves the rest of the budget to others: frees what is kept beyond this limit.
  void limit(std::size_t bytes);
  /// New scratch that is larger does not stay with the communicator.
  void keep_scratch_up_to(std::size_t bytes) { most_kept_scratch_ = bytes; }
  /// Frees all that no use has been made of: others need the whole budget. Comes before join().
  void free_unused();

  /// Whether the call before had the neighbours of the wish.
  [[nodiscard]] bool has_met(const NodeWish& wish);
  /// This rank's part of what is kept, if that serves here.
  [[nodiscard]] std::span<std::byte> kept_for(const NodeWish& wish);
  /// What all ranks must know of their kept memory before one of them uses it or keeps another.
  /// @param wish  nullptr on a rank that has found something wrong.
  void join(mpi::Agreement& agreement, const NodeWish* wish);
  /// The same in a reduction of its own, where the channel has become another one. Collective.
  void agree_again(const NodeWish& wish);
  /// Whether share() will share memory that is new, once that is agreed. [global]
  [[nodiscard]] bool shares_anew() const { return !serves_ && !is_idle_; }
  /// Shares what is kept where that serves all ranks, or else new memory. To be called once, after
  /// what is agreed. Collective.
  void share(const NodeWish& wish);
  /// What share() gave; empty before.
  [[nodiscard]] const NodeMemory& node() const { return node_->memory; }

  /// Provides scratch in place of what there is: what is kept, if it is large enough and within the
  /// limit, or else new memory. @throws std::bad_alloc.
  /// @param backend  Whose blocks it is for, where their storage may need memory of its own kind.
  void take_scratch(std::size_t bytes, const StorageBackend* backend = nullptr);
  /// At least as many bytes as were asked for, aligned to a page.
  [[nodiscard]] std::span<std::byte> scratch() const;
  /// The same from where `bytes` of it have a distance to `data` as of
  /// StorageBackend::allocate_scratch(), if they can.
  [[nodiscard]] std::span<std::byte> scratch_beside(const std::byte* data, std::size_t bytes) const;
  /// Gives back before the end: scratch; that and what is not shared by this call; all.
  void return_scratch() noexcept;
  void return_unused();
  void return_all();
  /// Does work(scratch()), after which MPI is done with it. Where that fails MPI may still touch
  /// scratch, which is then given up.
  template <class Work>
  void use_scratch(Work&& work) {
    try {
      work(scratch());
    } catch (...) {
      leak_scratch();
      throw;
    }
  }
  /// Gives scratch up without freeing it.
  void leak_scratch() noexcept;

 private:
  struct Memory;
  /// What plans and calls leave for the next one.
  struct Node {
    Ledger ledger;
    NodeMemory memory{ledger};
  };

  void look();
  void free_unused_node();
  void count_node();
  [[nodiscard]] std::size_t most_scratch() const;
  void fit_scratch(std::size_t least, std::size_t most);
  void borrow_kept_scratch(std::size_t least, std::size_t most);
  void borrow_scratch(std::shared_ptr<Memory> memory);

  const mpi::Channel& channel_;
  Ledger& ledger_;
  std::size_t limit_;
  bool keep_;
  std::size_t most_kept_scratch_;
  std::shared_ptr<Node> node_;    ///< shared by this call; not null
  std::shared_ptr<Node> kept_;    ///< by the communicator, unused; null where nothing is
  std::size_t counted_node_ = 0;  ///< of both
  bool serves_ = false;           ///< what is kept will do; agreed upon
  bool may_keep_ = false;         ///< what is made can be kept; likewise
  bool is_idle_ = true;           ///< nobody wants to share; likewise
  std::shared_ptr<Memory> scratch_;
};

}  // namespace valet::storage
