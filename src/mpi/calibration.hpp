// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "mpi/channel.hpp"
#include <valet/ledger.hpp>

#include <cstddef>

namespace valet::mpi {

/// How many ranks a node has and, if asked for, what moving data costs here, the ranks of the
/// channel all at work at once: found out at the first call, then the same answer for every channel
/// of that communicator. Collective.
///
/// Measured are a ring of empty messages, a ring of long ones, a copy, and a gather of small
/// blocks; the slowest rank counts, so that all ranks get the same numbers. Takes some
/// milliseconds.
///
/// @param needs_model   Whether the costs are asked for. [global]
/// @param memory_bytes  That may be used meanwhile; with little of it 8 KiB on the stack. [local]
[[nodiscard]] Machine machine_of(const Channel& channel, Ledger& ledger, bool needs_model,
                                 std::size_t memory_bytes);

}  // namespace valet::mpi
