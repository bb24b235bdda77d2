// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The steps of STEPS and of PHASED: in each of them the ranks decide what moves, it moves, and
/// they agree whether that went well and whether there is more.

#include "objects/step_streams.hpp"
#include <valet/export.hpp>

#include <cstdint>

namespace valet::objects {

/// What one rank's steps work on; the caller's.
struct StepParts {
  Owner& owner;
  StepPlanner& planner;
  Division& division;
  StepSender& sender;
  StepReceiver& receiver;
  std::byte* memory = nullptr;     ///< where arrivals are placed
  std::uint64_t limit = 0;         ///< scratch for what arrives in a step and what waits here
  std::uint64_t object_bytes = 0;  ///< the planner's
  bool sources_offer = false;      ///< they cannot send everything from the start
};

/// All steps. Collective. @throws Error on all ranks alike. What the last Owner::finish_step()
/// found is the sender's diagnostic; the ranks have not agreed on it.
/// @param all  The number of steps; 0: until everything has moved, one at least.
/// @param own  Those of them in which this rank takes something.
VALET_EXPORT void run_steps(Call& call, const StepParts& parts, std::uint64_t own,
                            std::uint64_t all);

}  // namespace valet::objects
