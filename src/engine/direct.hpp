// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "engine/exchange.hpp"
#include "mpi/requests.hpp"

#include <memory>

namespace valet::engine {

/// DIRECT, the usual protocol: allocate, post everything, send everything.
///
/// Source: A. Pinar, B. Hendrickson, "Interprocessor Communication with Limited Memory", IEEE TPDS
/// 15(7), 2004, section 1. It is the yardstick, and the right choice where everything that leaves
/// and everything that arrives fits the budget at once. Requests: three a neighbour. A sender waits
/// for word that its receive is posted, so MPI buffers no data here either.
template <class Index>
class Direct final : public Exchange<Index> {
 public:
  Direct(const ExchangeContext& context, const plan::Flows<Index>& flows);

  [[nodiscard]] std::size_t scratch_bytes() const override;
  void run(Transfer<Index>& transfer, std::span<std::byte> scratch, Report& report) override;
  void leak() noexcept override;

 private:
  void gather_all(Transfer<Index>& transfer, std::byte* memory);
  void receive_all(std::byte* memory, Report& report);
  void send_to(int rank, const std::byte* memory, Report& report);
  void note_in_use(std::uint64_t blocks) const;

  const ExchangeContext context_;
  const plan::Flows<Index>& flows_;
  std::unique_ptr<mpi::Requests> requests_;  ///< listening, then receives, credits, sends
  std::unique_ptr<std::uint64_t> credit_;
};

}  // namespace valet::engine
