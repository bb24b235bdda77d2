// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// A junction between two groups of ranks, both as one communicator.

#include "junction/transport.hpp"
#include "mpi/two_groups.hpp"
#include <valet/junction.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace valet::junction {

/// The way to another group of ranks.
class Link final : public Transport {
 public:
  /// Merges the groups of an intercommunicator. Collective over both.
  /// @param is_ours  Whether it connects two jobs, and is disconnected in the end.
  /// @param wrong    What this rank's arguments have wrong, for an error of all.
  Link(MPI_Comm intercommunicator, bool is_ours, const JunctionOptions& chosen,
       const std::optional<Diagnostic>& wrong = {});
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link() override = default;

  /// Of both sides; the ranks of each follow each other.
  [[nodiscard]] MPI_Comm communicator() const { return groups_.communicator; }
  [[nodiscard]] const mpi::RankRange& own() const { return groups_.own; }
  [[nodiscard]] const mpi::RankRange& other() const { return groups_.other; }
  [[nodiscard]] int ranks() const override { return own().count; }
  [[nodiscard]] int other_ranks() const override { return other().count; }

  /// Tells the others that this rank has come to a transfer, or will after those before it. Waits
  /// for nobody.
  void add(std::shared_ptr<Transfer> transfer) override;
  /// Whether all ranks have come to it, or it has failed.
  bool is_ready(const Transfer& transfer) override;
  void close() override;

 private:
  /// A description that the other side has given.
  struct Known {
    std::uint64_t digest;
    Vector<std::int64_t> words;
  };

  void announce(Entry& entry);
  void finish(Entry& entry) override;
  [[nodiscard]] bool is_fatal(ErrorCode code) const override {
    return code == ErrorCode::mpi_failure;
  }
  Report run(Transfer& transfer);
  Description exchange(const Transfer& transfer);

  Ledger ledger_;
  MPI_Comm port_;
  mpi::TwoGroups groups_;
  std::vector<Known> known_;
  std::vector<std::uint64_t> told_;         ///< digests of what the other side knows
  std::size_t remembered_ = 0;              ///< words of both
  MPI_Request arrival_ = MPI_REQUEST_NULL;  ///< of all ranks at the first that is not over
};

}  // namespace valet::junction
