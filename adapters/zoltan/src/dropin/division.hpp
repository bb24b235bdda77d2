// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// How what a rank can take in a step is divided among the ranks that have objects for it, in bytes
/// that the planner rounds to whole objects.

#include "mpi/channel.hpp"
#include "schedule/apportionment.hpp"
#include <valet/ledger.hpp>
#include <valet/options.hpp>

#include <cstdint>
#include <optional>
#include <span>

namespace valet::zoltan {

/// What a rank asks for in a step, as costs: packed bytes and what the lists of objects take.
struct Demand {
  std::uint64_t limit = 0;               ///< what may arrive in this step
  std::uint64_t expected = 0;            ///< everything that is still to arrive
  std::span<const std::uint64_t> ready;  ///< per source: what it can send now
  std::span<const std::uint64_t> all;    ///< per source: what it ever had to send
};

class Division {
 public:
  Division() = default;
  Division(const Division&) = delete;
  Division& operator=(const Division&) = delete;
  virtual ~Division() = default;
  /// Decides how much each source may send, of one rank in one step.
  virtual void divide(const Demand& demand, std::span<std::uint64_t> shares) = 0;
  /// Whether nothing but the shares counts in this step: a rank takes whole objects until it has
  /// its share, and of no other source. Otherwise shares are limits, and what is left of the memory
  /// goes to whoever fits.
  [[nodiscard]] virtual bool one_source() const { return false; }
  /// Nobody took anything in the last step. Whether the next can be better; alike on all ranks.
  [[nodiscard]] virtual bool stalled() { return false; }
};

/// STREAM: in proportion to what every source has in all, so that the free memory of every rank
/// moves along a straight line and no rank runs dry. Local.
class ProportionalDivision final : public Division {
 public:
  void divide(const Demand& demand, std::span<std::uint64_t> shares) override;
};

/// The equal pieces of Heuristic::continuous, counted when the first of them is sent.
class EqualPieces {
 public:
  /// Pieces that are still to be sent, that of this step among them.
  std::uint64_t next(const Demand& demand);

 private:
  std::optional<std::uint64_t> left_;
};

/// PHASED, MIGRATE_SCHEDULER DISTRIBUTED: a heuristic of Pinar and Hendrickson, "Interprocessor
/// Communication with Limited Memory", IEEE TPDS 15(7), 2004, section 6.1. Local.
class HeuristicDivision final : public Division {
 public:
  HeuristicDivision(Heuristic heuristic, int rank)
      : heuristic_(heuristic), random_(Options().phased.seed, static_cast<std::uint32_t>(rank)) {}
  void divide(const Demand& demand, std::span<std::uint64_t> shares) override;

 private:
  Heuristic heuristic_;
  schedule::ReceiverRandom random_;
  EqualPieces pieces_;
};

/// The matrix of all pairs of ranks between which objects move, on the root; 0 elsewhere.
struct MatrixRoom {
  std::uint64_t pairs = 0;
  std::uint64_t widest = 0;  ///< sources of one rank, at most
  /// What CentralDivision takes, and what CyclicDivision does.
  [[nodiscard]] std::uint64_t central_bytes() const { return 8 * (pairs + widest); }
  [[nodiscard]] std::uint64_t cyclic_bytes(std::uint64_t ranks) const {
    return pairs == 0 ? 0 : 32 * (pairs + ranks);
  }
};

/// What the root needs. Collective.
[[nodiscard]] MatrixRoom room_for_matrix(const mpi::Channel& channel, Ledger& ledger,
                                         std::size_t sources);

/// PHASED, MIGRATE_SCHEDULER CENTRALIZED: rank 0 gathers the matrix, divides for all, scatters
/// (same section). It does so in every step, because only the receivers know what whole objects
/// came of the bytes of the step before. Without parking the shares are those of HeuristicDivision;
/// with it a rank reports no more sources than it began with, and others get what those leave.
///
/// Memory: 8 bytes for each source; on the root MatrixRoom::central_bytes() and 40 bytes for each
/// rank.
class CentralDivision final : public Division {
 public:
  /// @param sources  That this rank begins with.
  CentralDivision(const mpi::Channel& channel, Ledger& ledger, Heuristic heuristic,
                  std::size_t sources, const MatrixRoom& room);
  /// Collective: on all ranks, those that want nothing included.
  void divide(const Demand& demand, std::span<std::uint64_t> shares) override;

 private:
  void collect(const Demand& demand);
  void solve();

  const mpi::Channel& channel_;
  Ledger& ledger_;
  Heuristic heuristic_;
  std::size_t most_sources_;
  EqualPieces pieces_;
  Vector<std::uint64_t> own_;  ///< what this rank sends to the root, then receives
  // On the root.
  Array<int> counts_;
  Vector<schedule::ReceiverRandom> random_;
  Vector<std::uint64_t> all_, credited_;
};

}  // namespace valet::zoltan
