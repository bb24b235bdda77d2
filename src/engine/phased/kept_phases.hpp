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
#include "mpi/agreement.hpp"
#include "mpi/tags.hpp"

#include <cstddef>
#include <cstdint>

namespace valet::engine {

class KeptPhases final : public Phases {
 public:
  /// @param bytes  A phase takes 2 bytes, and 3 to 5 for each rank that blocks go to or come from.
  KeptPhases(Ledger& ledger, std::size_t bytes) : bytes_(ledger, bytes) {}

  /// Takes note of what others decided, phase by phase; nullptr after the last.
  /// Nothing keeps ranks together that exchange no blocks, so there are fewer phases than tags.
  void note(const PhaseMoves* moves) {
    if (state_ != State::recording) return;
    if (moves == nullptr) {
      state_ = State::recorded;
      return;
    }
    fits_ = fits_ && ++phases_ < mpi::phase_tags;
    put(moves->sends);
    put(moves->receives);
  }
  /// Whether all ranks have kept all. Collective.
  [[nodiscard]] bool is_complete(const mpi::Channel& channel) {
    if (state_ == State::recorded) {
      fits_ = !mpi::on_some_rank(channel, !fits_);
      state_ = fits_ ? State::complete : State::useless;
      if (!fits_) bytes_ = {};
    }
    return state_ == State::complete;
  }

  bool next(const PhaseStart& /*start*/, PhaseMoves& moves) override {
    moves.clear();
    if (at_ == size_) {
      at_ = 0;
      return false;
    }
    get(moves.sends);
    get(moves.receives);
    return true;
  }

 private:
  enum class State : std::uint8_t {
    recording,
    recorded,
    complete,  ///< agreed
    useless,   ///< likewise: there was no room on some rank
  };
  void put(std::uint64_t number) {
    for (bool more = true; more && fits_; number >>= 7) {
      more = number > 0x7f;
      fits_ = size_ < bytes_.size();
      if (fits_) bytes_[size_++] = static_cast<std::uint8_t>((number & 0x7f) | (more ? 0 : last));
    }
  }
  void put(const schedule::KeyedCounts& list) {
    put(list.keys.size());
    for (std::size_t i = 0; i < list.keys.size(); ++i) {
      const auto [peer, target] = list.keys[i];
      const bool waits = target != peer;
      put(2 * std::uint64_t{peer} + (waits ? 1 : 0));
      if (waits) put(target);
      put(list.counts[i]);
    }
  }
  std::uint64_t get() {
    std::uint64_t number = 0;
    for (int shift = 0;; shift += 7) {
      const std::uint8_t byte = bytes_[at_++];
      number |= std::uint64_t{byte & 0x7fU} << shift;
      if ((byte & last) != 0) return number;
    }
  }
  void get(schedule::KeyedCounts& list) {
    std::uint64_t left = get();
    for (list.reserve(static_cast<std::size_t>(left)); left > 0; --left) {
      const std::uint64_t peer = get();
      const std::uint64_t target = peer % 2 == 1 ? get() : peer / 2;
      list.append({static_cast<std::uint32_t>(peer / 2), static_cast<std::uint32_t>(target)},
                  get());
    }
  }

  static constexpr std::uint8_t last = 0x80;

  Array<std::uint8_t> bytes_;  ///< numbers of 7 bits a byte; the last byte of each has bit 7
  std::size_t size_ = 0;
  std::size_t at_ = 0;
  int phases_ = 0;
  bool fits_ = true;
  State state_ = State::recording;
};

}  // namespace valet::engine
