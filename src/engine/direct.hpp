// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "engine/credit_transport.hpp"
#include "engine/exchange.hpp"
#include "plan/holes.hpp"

#include <memory>

namespace valet::engine {

/// DIRECT, the usual protocol: allocate, post everything, send everything.
///
/// Source: A. Pinar, B. Hendrickson, "Interprocessor Communication with Limited Memory", IEEE TPDS
/// 15(7), 2004, section 1. It is the yardstick, and the right choice where everything that leaves
/// and everything that arrives fits the budget at once. Requests: three a neighbour. A sender waits
/// for word that its receive is posted, so MPI buffers no data here either.
class Direct final : public Exchange, public Participant {
 public:
  Direct(const ExchangeContext& context, const plan::Flows& flows);

  [[nodiscard]] std::size_t scratch_bytes() const override {
    return context_.scratch_bytes(flows_.exports.size() + flows_.blocks_arriving);
  }
  void run(Transfer& transfer, std::span<std::byte> scratch, Report& report) override;

  void advance() override;
  void handle(const Event& event) override;
  [[nodiscard]] bool done() const override { return credits_to_come_ == 0 && to_arrive_ == 0; }
  [[nodiscard]] std::uint64_t bytes_in_use() const override { return in_use_; }

 private:
  void give_all();
  void gather_all(Transfer& transfer);
  void place(Transfer& transfer);
  void land(Transfer& transfer);

  const ExchangeContext context_;
  const plan::Flows& flows_;
  CreditTransport transport_;
  schedule::GrainOrder imports_;  ///< where blocks land in order
  plan::HoleWalk holes_;          ///< likewise
  Transfer* transfer_ = nullptr;  ///< while it runs
  std::byte* leaving_ = nullptr;
  std::byte* arriving_ = nullptr;
  std::size_t credits_to_come_ = 0;
  std::size_t to_arrive_ = 0;  ///< messages
  std::uint64_t in_use_ = 0;
};

}  // namespace valet::engine
