// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// An all-to-all in place is a swap of two segments for each pair of ranks. They are cut into
/// chunks, at the same bytes on both ranks, because both know the length of the segment and the
/// budget of the communicator. Chunk by chunk a rank copies its own into scratch, posts a receive
/// in its place and sends the copy. So MPI reads what is still in a cache, and nothing is copied
/// after it arrives.
///
/// Nothing is agreed in a call. Chunks are taken in one order that all ranks know: the round of the
/// pair, which is the sum of its ranks modulo their number, then the place in the segment. So the
/// first chunk of all that is not swapped yet waits for nothing on either rank, however much
/// scratch there is: all ranks come to an end.

#include "communicator.hpp"
#include "segments.hpp"

namespace valet::preload {

/// Collective.
/// @return Whether it was done; if not, MPI has to refuse the arguments, and nothing was sent.
/// @throws Failure, std::bad_alloc
bool swap_segments(const Communicator& communicator, Segments& segments);

}  // namespace valet::preload
