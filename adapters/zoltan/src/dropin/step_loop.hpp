// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The steps of STEPS and of PHASED: in each of them the ranks decide what moves, it moves, and
/// they agree whether that went well and whether there is more.

#include "step_parking.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace valet::zoltan {

/// How the options divide what a rank takes in a step. Local.
[[nodiscard]] std::unique_ptr<Division> make_division(Context& context,
                                                      std::span<const Peer> sources);

/// What one rank's steps work on; the caller's.
struct StepParts {
  StepPlanner& planner;
  Division& division;
  StepSender& sender;
  StepReceiver& receiver;
  std::byte* memory = nullptr;     ///< where arrivals are placed
  std::uint64_t limit = 0;         ///< scratch for what arrives in a step and what waits here
  std::uint64_t object_bytes = 0;  ///< the planner's
  bool sources_offer = false;      ///< they cannot send everything from the start
};

class StepLoop {
 public:
  StepLoop(Context& context, const StepParts& parts);

  /// All steps. Collective. @throws Error on all ranks alike.
  /// @param all     The number of steps; 0: until everything has moved, one at least.
  /// @param own     Those of them in which this rank takes something.
  /// @param finish  Called when all of a step has arrived everywhere; may set the sender's
  /// diagnostic.
  void run(std::uint64_t own, std::uint64_t all, const std::function<void()>& finish);

 private:
  struct Moved {
    std::uint64_t objects = 0;
    std::uint64_t memory_answer = 0;
  };
  std::uint64_t ask_memory();
  void receive_offers();
  void exchange_credits();
  Moved move(bool takes);
  bool agree_on_step(const Moved& moved, std::uint64_t all);
  [[nodiscard]] bool parks() const;

  Context& context_;
  StepParts parts_;
  StepParking parking_;
  Vector<std::uint64_t> words_;  ///< objects that each connection takes
  std::size_t peers_ = 0;        ///< in the transport
  std::optional<Transport> transport_;
};

}  // namespace valet::zoltan
