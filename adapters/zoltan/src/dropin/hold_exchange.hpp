// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "hold_batches.hpp"

#include <cstdint>
#include <memory>
#include <span>

namespace valet::zoltan {

/// How the packed objects of HOLD get to where they are held.
class HoldExchange {
 public:
  HoldExchange() = default;
  HoldExchange(const HoldExchange&) = delete;
  HoldExchange& operator=(const HoldExchange&) = delete;
  virtual ~HoldExchange() = default;

  /// Scratch that it takes; an object larger than the budget raises it.
  [[nodiscard]] virtual std::uint64_t needed_bytes() const = 0;
  /// Takes the memory of what is sent. Local. @throws std::bad_alloc.
  virtual void allocate() = 0;
  /// Packs all exports and receives all imports, whose sizes are known, at their place in `held`.
  /// Collective. What went wrong on this rank, if anything; also throws what ranks agreed upon.
  virtual std::optional<Diagnostic> run(const Imports& imports, std::byte* held) = 0;
  [[nodiscard]] virtual const Checksums& checksums() const = 0;
};

/// Batches are sent as they come; whoever receives one has memory for all of them.
/// @param sizes  Of the exports in the order of the list; gets marks that the receivers need.
[[nodiscard]] std::unique_ptr<HoldExchange> make_hold_stream(Context& context,
                                                             const ObjectList& exports,
                                                             std::span<int> sizes,
                                                             const Scratch& scratch);
/// PHASED and CYCLIC: in phases, none of which brings a rank more than half of its scratch.
[[nodiscard]] std::unique_ptr<HoldExchange> make_hold_phases(Context& context,
                                                             const ObjectList& exports,
                                                             std::span<int> sizes,
                                                             const Scratch& scratch);

}  // namespace valet::zoltan
