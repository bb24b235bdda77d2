// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The connection behind a junction: both groups of ranks as one communicator, and the transfers
/// that go over it, one after the other.

#include "junction/description.hpp"
#include <valet/junction.hpp>

#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace valet::junction {

class Link;

/// Something that is put or got. What is below is called while it is the first of its link.
class Transfer {
 public:
  explicit Transfer(Description description) : mine_(std::move(description)) {}
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  virtual ~Transfer() = default;

  [[nodiscard]] const Description& mine() const { return mine_; }
  /// What this rank finds wrong with its own arguments. Local.
  [[nodiscard]] virtual std::optional<Diagnostic> check(const Link& link) const = 0;
  /// Begins: all ranks of both sides are here, and their descriptions are a pair. Collective.
  virtual void begin(const Link& link, const Description& theirs) = 0;
  /// Goes on without waiting. @return Whether finish() would not wait. Local.
  virtual bool progress() { return true; }
  /// Ends what has begun. Collective.
  virtual Report finish() = 0;

 private:
  Description mine_;
};

/// Ranks of the common communicator that follow each other.
struct Side {
  int first = 0, count = 0;
};

class Link {
 public:
  /// Merges the groups of an intercommunicator. Collective.
  /// @param is_ours  Whether it connects two jobs, and is disconnected in the end.
  Link(MPI_Comm intercommunicator, bool is_ours, const JunctionOptions& chosen);
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link();

  [[nodiscard]] MPI_Comm communicator() const { return communicator_; }
  [[nodiscard]] const Side& own() const { return own_; }
  [[nodiscard]] const Side& other() const { return other_; }

  /// Begins a transfer, or has it begin after those before it. Waits for nobody.
  void add(std::shared_ptr<Transfer> transfer);
  /// @return Whether wait() would not wait. @see JunctionTransfer::progress().
  bool progress(const Transfer& transfer);
  /// Ends a transfer and those before it. @throws Error as JunctionTransfer::wait(). Once for each.
  Report wait(const Transfer& transfer);
  /// Ends all transfers, so that the link can be destroyed. Collective over both sides.
  void close();

  const JunctionOptions options;

 private:
  enum class Stage : std::uint8_t { waiting, arriving, under_way, over };
  struct Entry {
    std::shared_ptr<Transfer> transfer;
    Stage stage = Stage::waiting;
    Report report = {};
    std::exception_ptr failure = {};
  };
  /// A description that the other side has given.
  struct Known {
    std::uint64_t digest;
    Vector<std::int64_t> words;
  };

  bool advance(Entry& entry, bool waits);
  void step(Entry& entry, Stage next, const std::function<void()>& part);
  [[nodiscard]] bool has_arrived();
  void meet(Transfer& transfer);
  Description exchange(const Transfer& transfer);

  Ledger ledger_;
  MPI_Comm port_;
  MPI_Comm communicator_ = MPI_COMM_NULL;  ///< of both sides
  Side own_, other_;
  std::deque<Entry> entries_;  ///< that somebody may still wait for, in their order
  Vector<Known> known_;
  std::vector<std::uint64_t> told_;         ///< digests of what the other side knows
  MPI_Request arrival_ = MPI_REQUEST_NULL;  ///< of all ranks at the first that is not over
  std::string broken_;  ///< why nothing can be sent any more; empty while it can
};

}  // namespace valet::junction
