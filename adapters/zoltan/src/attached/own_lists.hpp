// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Lists of a partition that Zoltan has not made.

#include "mpi/channel.hpp"
#include "rebalancer/stock_lists.hpp"
#include <valet/columns.hpp>

#include <zoltan.h>

#include <span>

namespace valet::zoltan {

/// Puts what leaves into lists as Zoltan gives them, which Zoltan allocates. Collective; in the
/// memory that Zoltan takes for lists. @throws Error on all ranks alike.
/// @param ids    Of the objects; none: rank and slot.
/// @param ranks  Where each object goes.
/// @param all    Lists objects that stay, too.
void make_lists(const mpi::Channel& channel, Zoltan_Struct* zoltan, const ColumnSource& ids,
                std::span<const int> ranks, bool all, StockLists& lists);

}  // namespace valet::zoltan
