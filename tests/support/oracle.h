/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VALET_TEST_ORACLE_H
#define VALET_TEST_ORACLE_H

/* The oracle of oracle.hpp for clients in C and Fortran. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The blocks that `rank` must hold in its first slots under a map to ranks, whose entries for the
 * blocks of all ranks follow each other in `to`; counts[r] are those of rank r. The block in slot s
 * must be that of slot from_slots[s] of rank from_ranks[s]. Returns how many there are. */
uint64_t oracle_blocks(int ranks, const uint64_t* counts, const int* to, int order,
                       size_t block_bytes, int rank, int* from_ranks, uint64_t* from_slots);

/* The numbers of the objects that `rank` must hold when all are dealt to `ranks` ranks in blocks.
 */
uint64_t oracle_layout(uint64_t block_size, uint64_t objects, int ranks, int rank,
                       uint64_t* numbers);

#ifdef __cplusplus
}
#endif

#endif
