// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The phases that a root decided, kept for further executions of the same plan (Pinar and
/// Hendrickson, section 7.2: reuse can pay for gathering, solving and scattering). Every rank keeps
/// its own part, so the root is not asked again, and ranks only wait for those that they exchange
/// blocks with.
///
/// An execution begins with the free memory of the one before, so its phases are the same; not
/// where PhasedOptions::available_bytes has a say.

#include "engine/phased/phases.hpp"

#include <cstddef>
#include <cstdint>

namespace valet::engine {

class KeptPhases final : public Phases {
 public:
  /// @param bytes  A phase takes 2 bytes, and 3 to 5 for each rank that blocks go to or come from.
  KeptPhases(Ledger& ledger, std::size_t bytes) : bytes_(ledger, bytes) {}

  /// Takes note of what others decided, phase by phase; nullptr after the last.
  void note(const PhaseMoves* moves);
  /// Whether all ranks have kept all. Collective.
  [[nodiscard]] bool is_complete(const mpi::Channel& channel);

  bool next(const PhaseStart& start, PhaseMoves& moves) override;

 private:
  enum class State : std::uint8_t {
    recording,
    recorded,
    complete,  ///< agreed
    useless,   ///< likewise: there was no room on some rank
  };
  void put(std::uint64_t number);
  void put(const schedule::KeyedCounts& list);
  std::uint64_t get();
  void get(schedule::KeyedCounts& list);

  Array<std::uint8_t> bytes_;  ///< numbers of 7 bits a byte; the last byte of each has bit 7
  std::size_t size_ = 0;
  std::size_t at_ = 0;
  int phases_ = 0;
  bool fits_ = true;
  State state_ = State::recording;
};

}  // namespace valet::engine
