// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What a receiver decides in one phase, from what it knows by itself: how many blocks every source
/// may send. Neither memory nor messages are needed for it.

#include <valet/export.hpp>
#include <valet/options.hpp>

#include <cstdint>
#include <limits>
#include <span>

namespace valet::schedule {

/// The random numbers of one receiver: 8 bytes of state, a stream of its own for every rank, so
/// that a root that schedules for all ranks decides what the ranks would have decided. SplitMix64
/// (Steele, Lea, Flood, OOPSLA 2014); a uniform random bit generator of the standard library.
class ReceiverRandom {
 public:
  using result_type = std::uint64_t;
  ReceiverRandom(std::uint64_t seed, std::uint32_t rank)
      : state_(mixed(mixed(seed) ^ (std::uint64_t{rank} + 1) * golden)) {}

  [[nodiscard]] static constexpr result_type min() { return 0; }
  [[nodiscard]] static constexpr result_type max() {
    return std::numeric_limits<result_type>::max();
  }
  result_type operator()() { return mixed(state_ += golden); }

 private:
  static constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;
  static constexpr std::uint64_t mixed(std::uint64_t z) {
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111eb;
    return z ^ (z >> 31U);
  }

  std::uint64_t state_;
};

/// A receiver at the beginning of a phase.
struct ReceiverPhase {
  /// Blocks that each of its sources still has for it; zeros change nothing. By ascending source
  /// rank wherever schedules are compared.
  std::span<const std::uint64_t> remaining;
  /// Blocks that may arrive in this phase: A_i, whatever it is now.
  std::uint64_t free = 0;
  /// Heuristic::continuous: phases left in which an equal part of every transfer is sent, this one
  /// among them. 0 when they are over, and first fit finishes. Not used by others.
  std::uint64_t equal_phases_left = 0;
};

/// Divides the free memory of one receiver among its sources for one phase.
///
/// @param random   Advanced by Heuristic::random and fortune_wheel, not used by others.
/// @param credited  As many entries as phase.remaining. Out: blocks that each source may send, none
///                 more than it has, phase.free at most in all. All of phase.free is credited
///                 while there are blocks for it, except by Heuristic::continuous.
/// Local; no memory. Time: O(sources) and as much again for every source that is served to its end,
/// so O(sources) for each source and phase over a whole redistribution; min_max O(sources * log of
/// the most blocks).
VALET_EXPORT void apportion(Heuristic heuristic, const ReceiverPhase& phase, ReceiverRandom& random,
                            std::span<std::uint64_t> credited);

}  // namespace valet::schedule
