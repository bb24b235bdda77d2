// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The steps of STEPS and of PHASED: in each of them the ranks decide what moves, it moves, and
/// they agree whether that went well and whether there is more.

#include "step_streams.hpp"

#include <cstdint>
#include <functional>

namespace valet::zoltan {

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

/// All steps. Collective. @throws Error on all ranks alike.
/// @param all     The number of steps; 0: until everything has moved, one at least.
/// @param own     Those of them in which this rank takes something.
/// @param finish  Called when all of a step has arrived everywhere; may set the sender's
///                diagnostic.
void run_steps(Context& context, const StepParts& parts, std::uint64_t own, std::uint64_t all,
               const std::function<void()>& finish);

}  // namespace valet::zoltan
