// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The connection behind a junction: both groups of ranks as one communicator, and the transfers
/// that go over it, one after the other.

#include "junction/description.hpp"
#include "mpi/two_groups.hpp"
#include <valet/junction.hpp>

#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace valet::junction {

class Link;

/// Something that is put or got.
class Transfer {
 public:
  explicit Transfer(Description description) : mine_(std::move(description)) {}
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  virtual ~Transfer() = default;

  [[nodiscard]] const Description& mine() const { return mine_; }
  /// What this rank finds wrong with its own arguments. Local.
  [[nodiscard]] virtual std::optional<Diagnostic> check(const Link& link) const = 0;
  /// Moves everything: the descriptions of both sides are a pair. What it takes is freed in the
  /// end. Collective over both sides.
  virtual Report run(const Link& link, const Description& theirs) = 0;

 private:
  Description mine_;
};

class Link {
 public:
  /// Merges the groups of an intercommunicator. Collective over both.
  /// @param is_ours  Whether it connects two jobs, and is disconnected in the end.
  /// @param wrong    What this rank's arguments have wrong, for an error of all.
  Link(MPI_Comm intercommunicator, bool is_ours, const JunctionOptions& chosen,
       const std::optional<Diagnostic>& wrong = {});
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link() = default;

  /// Of both sides; the ranks of each follow each other.
  [[nodiscard]] MPI_Comm communicator() const { return groups_.communicator; }
  [[nodiscard]] const mpi::RankRange& own() const { return groups_.own; }
  [[nodiscard]] const mpi::RankRange& other() const { return groups_.other; }
  /// What all that is moved over it is moved with, as an operation has its options.
  template <class AnyOptions>
  [[nodiscard]] AnyOptions options_as() const {
    AnyOptions chosen;
    chosen.budget_bytes = options.budget_bytes;
    chosen.verify = options.verify;
    chosen.share_memory = options.share_memory;
    chosen.keep_memory = options.keep_memory;
    chosen.progress = options.progress;
    chosen.progress_bar = options.progress_bar;
    return chosen;
  }

  /// Tells the others that this rank has come to a transfer, or will after those before it. Waits
  /// for nobody.
  void add(std::shared_ptr<Transfer> transfer);
  /// Whether all ranks have come to it, or it has failed. Local.
  bool is_ready(const Transfer& transfer);
  /// Carries out a transfer after those before it. @throws Error as JunctionTransfer::wait(). Once
  /// for each.
  Report wait(const Transfer& transfer);
  /// Carries out all transfers, then ends the connection. Collective over both sides.
  void close();

  const JunctionOptions options;

 private:
  enum class Stage : std::uint8_t { waiting, arriving, over };
  struct Entry {
    std::shared_ptr<Transfer> transfer;
    Stage stage = Stage::waiting;
    double since = 0;  ///< when this rank came
    Report report = {};
    std::exception_ptr failure = {};
  };
  /// A description that the other side has given.
  struct Known {
    std::uint64_t digest;
    Vector<std::int64_t> words;
  };

  void announce(Entry& entry);
  void finish(Entry& entry);
  void attempt(Entry& entry, const std::function<void()>& part);
  Report run(Transfer& transfer);
  Description exchange(const Transfer& transfer);

  Ledger ledger_;
  MPI_Comm port_;
  mpi::TwoGroups groups_;
  std::deque<Entry> entries_;  ///< that somebody may still wait for, in their order
  std::vector<Known> known_;
  std::vector<std::uint64_t> told_;         ///< digests of what the other side knows
  std::size_t remembered_ = 0;              ///< words of both
  MPI_Request arrival_ = MPI_REQUEST_NULL;  ///< of all ranks at the first that is not over
  std::string broken_;  ///< why nothing can be sent any more; empty while it can
};

}  // namespace valet::junction
