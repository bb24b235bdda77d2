// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The interface that all methods share. A method moves every block to its rank; where the final
/// slot is not free yet it may leave the block in another one, and the local redistribution ends
/// the work. So all methods give the same content of every occupied slot.

#include "engine/local_slots.hpp"
#include "plan/plan_state.hpp"
#include "schedule/methods.hpp"
#include <valet/error.hpp>
#include <valet/options.hpp>
#include <valet/report.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>

namespace valet::engine {

class Pulls;

/// A method, ready to run the flows of one plan again and again.
class Exchange {
 public:
  Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  virtual ~Exchange() = default;

  /// Scratch that run() needs, at least what the local redistribution needs. [local]
  [[nodiscard]] virtual std::size_t scratch_bytes() const = 0;
  /// The part of it, from the beginning on, that the local redistribution may use. [local]
  [[nodiscard]] virtual std::size_t local_bytes() const { return scratch_bytes(); }
  /// Prepares for executions before which the ranks do not agree. @throws Error. Local.
  virtual void bind() {}
  /// May post receives into scratch that nobody else uses until begin(): if all ranks do and agree
  /// afterwards, they need not meet again. Local.
  /// @param stands  They do not agree before the executions that follow either, so that each posts
  ///                the receives of the next one: behind local_bytes() of scratch.
  virtual void expect(std::span<std::byte> /*scratch*/, bool /*stands*/) {}
  /// Takes back what is posted: the ranks do not run, or agree again before they do. Local.
  virtual void withdraw() {}
  /// How blocks in memory of the node are taken without messages; nullptr for a method that does
  /// not. [local]
  [[nodiscard]] virtual Pulls* pulls() { return nullptr; }
  /// Whether begin() needs no rank to have begun before: else all ranks meet.
  [[nodiscard]] virtual bool begins_alone() const { return false; }

  // Moves all blocks between ranks in three steps. Where one of them throws requests may be
  // pending: then neither this nor scratch may be freed, ever.
  /// Begins; what it is given is used until finish() returns. Local once all ranks have met.
  virtual void begin(LocalSlots& local, std::span<std::byte> scratch) = 0;
  /// Goes on as far as that is possible without waiting; called again and again it comes to an end
  /// where all ranks do. @return Whether the rest is finish()'s. Local.
  virtual bool progress() { return true; }
  /// Does what is left; nothing is pending on return but receives that stand for the next
  /// execution. Counts messages in `report`. Collective, blocking.
  virtual void finish(Report& report) = 0;
};

/// Bytes of so many blocks, or what the local redistribution needs where that is more: small blocks
/// are moved faster where some of them can wait.
[[nodiscard]] inline std::size_t scratch_bytes_of(const Options& options, const BlockTraits& blocks,
                                                  std::uint64_t scratch_blocks) {
  constexpr std::size_t most_blocks = 64, most_bytes = std::size_t{16} << 10, part = 16;
  const std::size_t waiting =
      std::min(most_blocks, std::min(most_bytes, options.budget_bytes / part) / blocks.block_bytes);
  return blocks.block_bytes *
         static_cast<std::size_t>(std::max<std::uint64_t>(
             scratch_blocks, std::max(waiting, blocks.least_scratch_blocks())));
}

/// Makes the method of the options. Allocates all it will need but scratch. Local; the plan must
/// outlive the result.
[[nodiscard]] std::unique_ptr<Exchange> make_exchange(const plan::State& state);
/// The same of one method: make_<name>(), for each in the table.
#define VALET_DECLARE(C, name) decltype(make_exchange) make_##name;
VALET_METHODS(VALET_DECLARE)
#undef VALET_DECLARE

}  // namespace valet::engine
