// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// How what a rank can take in a step is divided among the ranks that have objects for it, in bytes
/// that the planner rounds to whole objects.

#include "mpi/channel.hpp"
#include "objects/transport.hpp"
#include "schedule/apportionment.hpp"
#include <valet/export.hpp>
#include <valet/ledger.hpp>
#include <valet/options.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>

namespace valet::objects {

struct Call;

/// What a rank asks for in a step, as costs: packed bytes and what the lists of objects take.
struct Demand {
  std::uint64_t limit = 0;               ///< what may arrive in this step
  std::uint64_t expected = 0;            ///< everything that is still to arrive
  std::span<const std::uint64_t> ready;  ///< per source: what it can send now
  std::span<const std::uint64_t> all;    ///< per source: what it ever had to send
  std::span<const std::uint64_t> left;   ///< per source: what it still has
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
  /// Where ranks have schedules: the stage of this rank's next action, and that of the rank that is
  /// furthest behind, once agreed on after a step. Alike on all ranks.
  [[nodiscard]] virtual std::uint64_t stage() const { return 0; }
  virtual void set_stage(std::uint64_t /*least*/) {}
  /// Nobody took anything in the last step. Whether the next can be better; alike on all ranks.
  [[nodiscard]] virtual bool stalled() { return false; }
};

/// STREAM: in proportion to what every source has in all, so that the free memory of every rank
/// moves along a straight line and no rank runs dry. Local.
class ProportionalDivision final : public Division {
 public:
  void divide(const Demand& demand, std::span<std::uint64_t> shares) override {
    const std::uint64_t all =
        std::accumulate(demand.all.begin(), demand.all.end(), std::uint64_t{0});
    const std::uint64_t goal = all - demand.expected + std::min(demand.limit, demand.expected);
    const double fraction =
        static_cast<double>(goal) / static_cast<double>(std::max<std::uint64_t>(all, 1));
    for (std::size_t s = 0; s < shares.size(); ++s) {
      const auto until = static_cast<std::uint64_t>(fraction * static_cast<double>(demand.all[s]));
      const std::uint64_t taken = demand.all[s] - demand.ready[s];
      shares[s] = until - std::min(until, taken);
    }
  }
};

/// The equal pieces of Heuristic::continuous, counted when the first of them is sent.
class EqualPieces {
 public:
  /// Pieces that are still to be sent, that of this step among them.
  std::uint64_t next(const Demand& demand) {
    if (!left_) {
      if (demand.limit == 0) return 0;
      left_ = (demand.expected + demand.limit - 1) / demand.limit;
    }
    const std::uint64_t pieces = *left_;
    if (pieces > 0) --*left_;
    return pieces;
  }

 private:
  std::optional<std::uint64_t> left_;
};

/// PHASED, Scheduler::distributed: a heuristic of Pinar and Hendrickson, "Interprocessor
/// Communication with Limited Memory", IEEE TPDS 15(7), 2004, section 6.1. Local.
class HeuristicDivision final : public Division {
 public:
  HeuristicDivision(const PhasedOptions& options, int rank)
      : heuristic_(options.heuristic), random_(options.seed, static_cast<std::uint32_t>(rank)) {}

  void divide(const Demand& demand, std::span<std::uint64_t> shares) override {
    schedule::apportion(heuristic_, {demand.ready, demand.limit, pieces_.next(demand)}, random_,
                        shares);
  }

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
[[nodiscard]] VALET_EXPORT MatrixRoom room_for_matrix(const mpi::Channel& channel, Ledger& ledger,
                                                      std::size_t sources);

/// How the options divide what a rank takes in a step. Local.
[[nodiscard]] VALET_EXPORT std::unique_ptr<Division> make_division(const Call& call,
                                                                   std::span<const Peer> sources);

}  // namespace valet::objects
