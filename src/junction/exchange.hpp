// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// One exchange of elements, with what it needs.

#include "base/memory_reserve.hpp"
#include "engine/array_exchange.hpp"
#include "mpi/agreement.hpp"
#include "operations/layout/layout_call.hpp"

#include <cstddef>
#include <memory>
#include <optional>

namespace valet::junction {

/// Makes an exchange on all ranks and runs it, or throws on all. Collective.
/// @param wrong  What this rank has found wrong before.
/// @param make   Gives the exchange; may throw std::bad_alloc.
/// @param report Gets what has moved.
template <class Make>
void run_exchange(const mpi::Channel& channel, Ledger& ledger, std::optional<Diagnostic> wrong,
                  Make&& make, Report& report) {
  decltype(make()) exchange;
  Array<std::byte> scratch;
  if (!wrong)
    wrong = detail::unless_out_of_memory(
        [&] {
          exchange = make();
          scratch = Array<std::byte>(ledger, exchange->scratch_bytes());
        },
        layout::out_of_memory);
  mpi::agree(channel, wrong);
  try {
    exchange->run({scratch.data(), scratch.size()}, report);
  } catch (...) {
    static_cast<void>(exchange.release());  // MPI may still write to both
    scratch.leak();
    throw;
  }
}

}  // namespace valet::junction
