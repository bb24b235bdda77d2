// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "engine/at_once.hpp"
#include "engine/exchange.hpp"
#include "plan/holes.hpp"

namespace valet::engine {

/// DIRECT: all blocks that leave and all that arrive are in scratch at once (engine/at_once.hpp).
class Direct final : public Exchange {
 public:
  Direct(const ExchangeContext& context, const plan::Flows& flows);

  [[nodiscard]] std::size_t scratch_bytes() const override {
    return context_.scratch_bytes(flows_.exports.size() + flows_.blocks_arriving);
  }
  void run(Transfer& transfer, std::span<std::byte> scratch, Report& report) override;

 private:
  void receive_all(std::byte* arriving);
  void send_all(Transfer& transfer, std::byte* leaving);
  void place(Transfer& transfer, const std::byte* packed) const;
  void land(Transfer& transfer, const std::byte* packed);
  void note_in_use(std::uint64_t blocks) const;
  [[nodiscard]] std::size_t bytes_of(std::uint64_t blocks) const {
    return static_cast<std::size_t>(blocks) * context_.blocks.block_bytes;
  }

  const ExchangeContext context_;
  const plan::Flows& flows_;
  AtOnce messages_;
  schedule::GrainOrder imports_;  ///< where blocks land in order
  plan::HoleWalk holes_;          ///< likewise
};

}  // namespace valet::engine
