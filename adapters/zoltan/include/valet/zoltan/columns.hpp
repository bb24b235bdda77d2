// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The columns of the core under the names that they have beside the Rebalancer.

#include <valet/columns.hpp>

namespace valet::zoltan {

using valet::array_columns;
using valet::block_bytes;
using valet::column;
using valet::Column;
using valet::Columns;
using valet::ColumnSource;
using valet::StagedColumns;

}  // namespace valet::zoltan
