// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "call/frame.hpp"
#include "objects/division.hpp"
#include "objects/step_planner.hpp"
#include "objects/transport.hpp"
#include "schedule/methods.hpp"
#include <valet/options.hpp>

#include <cstdint>
#include <limits>
#include <optional>

namespace valet::objects {

/// One migration of packed objects: what all of its parts share.
struct Call {
  Call(call::Frame& of, const Options& chosen)
      : frame(of), channel(of.channel), ledger(of.ledger), options(chosen), node(of.ledger) {}

  call::Frame& frame;
  const mpi::Channel& channel;
  Ledger& ledger;
  const Options& options;
  Method method = Method::stream;
  NodeSlots node;
  MatrixRoom matrix;
  /// Bytes of lists that an object needs while its message is packed; the same on all ranks.
  std::uint64_t message_object_bytes = 0;
  /// A budget that is enough for this rank where the method moves everything at once.
  std::uint64_t budget_at_once = 0;

  // What has happened, for the report.
  std::uint64_t steps = 0;
  std::uint64_t messages = 0;
  std::uint64_t parked = 0;  ///< objects that this rank sent elsewhere, to wait

  [[nodiscard]] observe::Trace* trace() const { return frame.observer->trace; }
  /// Whether objects move in phases.
  [[nodiscard]] bool has_phases() const { return schedule::traits_of(method).has_phases; }
  /// Whether they may wait on ranks that do not unpack them.
  [[nodiscard]] bool parks() const {
    return method == Method::phased && options.phased.parking > 0;
  }
  /// Whether rank 0 divides for all.
  [[nodiscard]] bool is_centralized() const {
    return method == Method::cyclic ||
           (method == Method::phased && options.phased.scheduler == Scheduler::centralized);
  }
  /// What the root has of all ranks.
  [[nodiscard]] std::uint64_t matrix_bytes() const {
    return method == Method::cyclic
               ? matrix.cyclic_bytes(static_cast<std::uint64_t>(channel.size()))
               : matrix.central_bytes();
  }
};

/// What the budget has to hold besides packed objects.
/// @param in_steps  Whether everything moves in steps, whatever the method.
[[nodiscard]] inline std::uint64_t transport_bytes(const Call& call, std::uint64_t peers,
                                                   bool in_steps) {
  // Requests and cursors for each peer, and what does not depend on them.
  const std::uint64_t fixed = call.has_phases() ? 10240 : 4096;
  const std::uint64_t per_peer = call.has_phases() || in_steps ? 448 : 320;
  // What waits on its way may come from all ranks, and go to all.
  if (call.parks()) peers = 2 * static_cast<std::uint64_t>(call.channel.size());
  return fixed + per_peer * peers + call.matrix_bytes();
}

/// Whoever owns the objects. All functions are local and return what went wrong, of which the ranks
/// learn at the end of a step: until then the others get what they wait for.
class Owner {
 public:
  Owner() = default;
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;
  virtual ~Owner() = default;

  static constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();
  /// Packed bytes that may arrive in the next step.
  virtual std::optional<Diagnostic> find_room(std::uint64_t& bytes) {
    bytes = no_limit;
    return std::nullopt;
  }
  /// Whether find_room() limits what arrives.
  [[nodiscard]] virtual bool limits_steps() const { return false; }
  /// What find_room() asks, for the error where no rank can take anything.
  [[nodiscard]] virtual const char* asks() const { return "memory"; }
  /// Everything of a step has arrived everywhere.
  virtual std::optional<Diagnostic> finish_step() { return std::nullopt; }
  virtual void arrived(std::uint64_t /*bytes*/) {}
};

}  // namespace valet::objects
