// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace valet::mpi {

/// The tags on a channel, one per kind of message.
constexpr int tag_sparse_count = 1;  ///< counts, while planning
constexpr int tag_slots = 2;         ///< final slots, while planning
constexpr int tag_credit = 3;        ///< "send me g blocks"
constexpr int tag_data = 4;          ///< blocks
constexpr int tag_checksum = 5;      ///< verification
constexpr int tag_node = 6;          ///< memory shared inside a node, while planning
constexpr int tag_note = 7;          ///< what a rank tells the root of Method::cyclic
constexpr int tag_action = 8;        ///< what that root tells a rank
constexpr int tag_trace = 9;         ///< what a rank tells the root of its trace

// Method::phased. Ranks may be some phases apart, so the credits of each phase have a tag.
constexpr int tag_phase_words = 16;
constexpr int tag_phase_credit = 64;  ///< and the phase modulo phase_tags
constexpr int phase_tags = 16384;     ///< MPI promises tags up to 32767

}  // namespace valet::mpi
