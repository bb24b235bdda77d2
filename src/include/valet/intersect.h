/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VALET_INTERSECT_H
#define VALET_INTERSECT_H

/**
 * @file
 * What a rank of one block-cyclic layout shares with the ranks of another, for C: intersect.hpp.
 * Nothing here communicates. Included by valet.h, which describes what all functions have in
 * common.
 */

#include <valet/export.hpp>
#include <valet/redistribute.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How shared indices are found; see valet::IntersectionAlgorithm. */
enum {
  VALET_INTERSECTION_ASPEN = 0,    /**< the fewest operations */
  VALET_INTERSECTION_FALLS = 1,    /**< compares blocks of one period */
  VALET_INTERSECTION_CLASSICAL = 2 /**< compares each block with each */
};

/** As a peer: every rank of the other layout. */
enum { VALET_ALL_PEERS = -1 };

/** Runs of shared indices at equal distances; see valet::layout::IndexFamily. */
typedef struct Valet_Index_family {
  int64_t position; /**< global index of the first element, in the first period */
  int64_t local;    /**< its local index on my side */
  int64_t length;   /**< indices of a run */
  int64_t count;    /**< runs */
  int peer;         /**< coordinate of the peers in their grid */
} Valet_Index_family;

/** What all families of a dimension have in common. Run k of a family, in period n, begins at
 * position + k * stride + n * period, if that is below the extent, where it also ends; its local
 * index is local + k * local_stride + n * local_period. */
typedef struct Valet_Index_families {
  int64_t families;     /**< how many there are, perhaps more than there was room for */
  int64_t stride;       /**< from a run of a family to the next */
  int64_t local_stride; /**< the same in local indices */
  int64_t period;       /**< indices after which all families repeat */
  int64_t local_period; /**< the same in local indices */
  int64_t extent;       /**< indices of the dimension */
  int64_t operations;   /**< what finding them took */
} Valet_Index_families;

/** Finds what a rank of `mine` shares with a rank of `theirs`, or all, along one dimension:
 * valet::intersect(). What they share of the array is the product of its dimensions. Local.
 * @param mine       The layout of this side; its list of communicator ranks is not used.
 * @param rank       In its grid.
 * @param theirs     The other layout, of equal extents; likewise.
 * @param peer       In its grid, or VALET_ALL_PEERS.
 * @param dimension  Beginning at 0.
 * @param algorithm  VALET_INTERSECTION_ASPEN, _FALLS or _CLASSICAL: all find the same.
 * @param families   Receives the families, ascending by position for each coordinate of peers.
 * @param room       Most of them to write; with 0 `families` may be NULL.
 * @param found      Receives how many there are, and what they have in common.
 * @return VALET_SUCCESS or VALET_INVALID_ARGUMENT, with nothing written. */
VALET_EXPORT int Valet_Intersect(const Valet_Layout* mine, int rank, const Valet_Layout* theirs,
                                 int peer, int dimension, int algorithm,
                                 Valet_Index_family* families, int64_t room,
                                 Valet_Index_families* found);

#ifdef __cplusplus
}
#endif

#endif
