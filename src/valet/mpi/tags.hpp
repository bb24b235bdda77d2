// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace valet::mpi {

/// The tags on a channel, one per kind of message.
constexpr int tag_notice = 1;    ///< counts, while planning
constexpr int tag_slots = 2;     ///< final slots, while planning
constexpr int tag_grant = 3;     ///< "send me g blocks"
constexpr int tag_data = 4;      ///< blocks
constexpr int tag_checksum = 5;  ///< verification
constexpr int tag_node = 6;      ///< memory shared inside a node, while planning

}  // namespace valet::mpi
