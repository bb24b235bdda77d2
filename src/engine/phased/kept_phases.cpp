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

/// Nothing keeps ranks together that exchange no blocks, so there are fewer phases than tags.
void KeptPhases::note(const PhaseMoves* moves) {
  if (state_ != State::recording) return;
  if (moves == nullptr) {
    state_ = State::recorded;
    return;
  }
  fits_ = fits_ && ++phases_ < mpi::phase_tags;
  const schedule::KeyedCounts& sends = moves->sends;
  put(sends.keys.size());
  for (std::size_t i = 0; i < sends.keys.size(); ++i) {
    const auto [place, target] = sends.keys[i];
    const bool waits = target != place;
    put(2 * std::uint64_t{place} + (waits ? 1 : 0));
    if (waits) put(target);
    put(sends.counts[i]);
  }
  const schedule::KeyedCounts& receives = moves->receives;
  put(receives.keys.size());
  for (std::size_t i = 0; i < receives.keys.size(); ++i) {
    put(receives.keys[i].peer);
    put(receives.counts[i]);
  }
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
  std::uint64_t left = get();
  for (moves.sends.reserve(static_cast<std::size_t>(left)); left > 0; --left) {
    const std::uint64_t place = get();
    const std::uint64_t target = place % 2 == 1 ? get() : place / 2;
    moves.sends.add({static_cast<std::uint32_t>(place / 2), static_cast<std::uint32_t>(target)},
                    get());
  }
  left = get();
  for (moves.receives.reserve(static_cast<std::size_t>(left)); left > 0; --left) {
    const auto source = static_cast<std::uint32_t>(get());
    moves.receives.add({source, source}, get());
  }
  return true;
}

}  // namespace valet::engine
