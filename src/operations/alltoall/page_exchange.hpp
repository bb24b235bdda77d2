// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The all-to-all by pages: what goes to a rank is a stream of one piece, and the buffer has one
/// after the other.

#include "pages/stream_move.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace valet::operations {

/// One all-to-all on one rank, counts known and agreed upon. Collective, blocking.
/// @param state           Of a plan to be: channel, ledger and options are used.
/// @param data            The buffer.
/// @param sent, received  Elements for and from each rank, P entries.
/// @param page_bytes      Equal on all ranks.
/// @param any_order       The segments may end in any order, of pages too.
/// @throws Error out_of_memory on all ranks alike, before anything has moved.
Report exchange_pages(std::unique_ptr<plan::State> state, std::span<std::byte> data,
                      std::size_t element_bytes, std::uint64_t page_bytes,
                      Array<std::uint64_t> sent, Array<std::uint64_t> received, bool any_order);

}  // namespace valet::operations
