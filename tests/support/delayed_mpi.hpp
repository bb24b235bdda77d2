// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

/// A program that links delayed_mpi.cpp stops for a random time before and after calls of MPI, its
/// own and those of the library, where VALET_TEST_DELAYS is set: to a number that the times follow
/// from. So what happens once in a thousand runs on a busy machine happens more often.
///
/// Where VALET_TEST_STALL_SECONDS is set, and nothing came to an end for as long, every rank says
/// which call of MPI each of its threads is in, and the job ends with code 124.
namespace valet::test {

/// Something else begins, for which VALET_TEST_SEED is `seed`: the time counts from 0 again.
void working_on(std::uint64_t seed);

/// Calls of MPI so far that came by here, if not all of MPI's functions.
[[nodiscard]] std::uint64_t calls_seen();

}  // namespace valet::test
