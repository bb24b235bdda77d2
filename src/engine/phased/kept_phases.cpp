// SPDX-License-Identifier: BSD-3-Clause
#include "engine/phased/kept_phases.hpp"

#include "mpi/agreement.hpp"
#include "mpi/tags.hpp"

namespace valet::engine {
namespace {

constexpr std::uint8_t last = 0x80;

}  // namespace

void KeptPhases::put(std::uint64_t number) {
  for (bool more = true; more && fits_; number >>= 7) {
    more = number > 0x7f;
    fits_ = size_ < bytes_.size();
    if (fits_) bytes_[size_++] = static_cast<std::uint8_t>((number & 0x7f) | (more ? 0 : last));
  }
}

std::uint64_t KeptPhases::get() {
  std::uint64_t number = 0;
  for (int shift = 0;; shift += 7) {
    const std::uint8_t byte = bytes_[at_++];
    number |= std::uint64_t{byte & 0x7fU} << shift;
    if ((byte & last) != 0) return number;
  }
}

void KeptPhases::put(const schedule::KeyedCounts& list) {
  put(list.keys.size());
  for (std::size_t i = 0; i < list.keys.size(); ++i) {
    const auto [peer, target] = list.keys[i];
    const bool waits = target != peer;
    put(2 * std::uint64_t{peer} + (waits ? 1 : 0));
    if (waits) put(target);
    put(list.counts[i]);
  }
}

void KeptPhases::get(schedule::KeyedCounts& list) {
  std::uint64_t left = get();
  for (list.reserve(static_cast<std::size_t>(left)); left > 0; --left) {
    const std::uint64_t peer = get();
    const std::uint64_t target = peer % 2 == 1 ? get() : peer / 2;
    list.append({static_cast<std::uint32_t>(peer / 2), static_cast<std::uint32_t>(target)}, get());
  }
}

/// Nothing keeps ranks together that exchange no blocks, so there are fewer phases than tags.
void KeptPhases::note(const PhaseMoves* moves) {
  if (state_ != State::recording) return;
  if (moves == nullptr) {
    state_ = State::recorded;
    return;
  }
  fits_ = fits_ && ++phases_ < mpi::phase_tags;
  put(moves->sends);
  put(moves->receives);
}

bool KeptPhases::is_complete(const mpi::Channel& channel) {
  if (state_ == State::recorded) {
    mpi::Agreement agreement;
    agreement.least(fits_);
    agreement.run(channel, std::nullopt);
    state_ = fits_ ? State::complete : State::useless;
    if (!fits_) bytes_ = {};
  }
  return state_ == State::complete;
}

bool KeptPhases::next(const PhaseStart& /*start*/, PhaseMoves& moves) {
  moves.clear();
  if (at_ == size_) {
    at_ = 0;
    return false;
  }
  get(moves.sends);
  get(moves.receives);
  return true;
}

}  // namespace valet::engine
