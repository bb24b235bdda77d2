// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace valet::mpi {

/// The tags on a channel, one per kind of message.
constexpr int tag_sparse_count = 1;     ///< counts for ranks that do not expect them
constexpr int tag_slots = 2;            ///< final slots, while planning
constexpr int tag_credit = 3;           ///< "send me g blocks"
constexpr int tag_credit_of_next = 14;  ///< the same in every other execution
constexpr int tag_data = 4;             ///< blocks
constexpr int tag_checksum = 5;         ///< checksums of what was sent, for verification
constexpr int tag_node = 6;             ///< memory shared inside a node, while planning
constexpr int tag_note = 7;             ///< Method::cyclic: the state of a rank, to the root
constexpr int tag_action = 8;           ///< Method::cyclic: what a rank does next, from the root
constexpr int tag_trace = 9;            ///< text of a trace, to the root
constexpr int tag_tables = 10;          ///< all-to-all by swaps: the table of what stands where
constexpr int tag_cuts = 11;            ///< all-to-all by pages: how a segment lies on its pages
constexpr int tag_fragments = 12;       ///< bytes that fill no page
constexpr int tag_repair = 13;          ///< which blocks of a flow get another destination

// Method::phased. Ranks may be some phases apart, so the credits of each phase have a tag.
constexpr int tag_phase_words = 16;   ///< what ranks agree on in a phase
constexpr int tag_pair_run = 17;      ///< what a message has, where its receiver cannot know
constexpr int tag_phase_credit = 64;  ///< and the phase modulo phase_tags
constexpr int phase_tags = 16384;     ///< MPI promises tags up to 32767

}  // namespace valet::mpi
