/* SPDX-License-Identifier: BSD-3-Clause */

/* The functions around the snippets in C, which reference_c_test.cpp runs. */
#ifndef VALET_TESTS_REFERENCE_C_H
#define VALET_TESTS_REFERENCE_C_H

#include <valet/valet.h>

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* valet_h.c */
uint64_t other_calls(MPI_Comm comm, const Valet_Storage* storage, uint64_t slots, uint64_t count,
                     double* buffer, size_t bytes, const int64_t* send_counts, int* ranks,
                     const Valet_Address* addresses);
Valet_Storage* stored_by_columns(double* matrix, uint64_t rows, uint64_t n, int is_frozen);
int group_by_level(const Valet_Storage* storage, uint64_t count, const uint32_t* level_of,
                   size_t levels, const uint64_t* cells_of_level, uint64_t* cells_now);
struct tile;
Valet_Storage* stored_in_tiles(struct tile* tiles, uint64_t slots, size_t levels,
                               void* const* cells, const uint64_t* cells_of_level,
                               void* const* nodes);
uint64_t grown_particles(MPI_Comm comm, double** position, uint64_t slots, uint64_t count,
                         const int* ranks);
void redistributed(MPI_Comm comm, int size, int64_t n, double* entries, double* room, size_t bytes);
int64_t shared_columns(const Valet_Layout* from, int rank, const Valet_Layout* to, int peer,
                       int64_t* column);
void shaped(const int* descriptor, int rank, int64_t* local);
void logged_run(MPI_Comm comm, const Valet_Storage* storage, uint64_t count, const int* ranks,
                FILE* log_file);
Valet_Storage* custom_storage(uint64_t slots, size_t block_bytes, Valet_Pack_fn* pack,
                              Valet_Unpack_fn* unpack, void* queue);
void moved_cells(MPI_Comm comm, uint64_t count, const int* ranks, Valet_Object_size_fn* size,
                 Valet_Object_pack_fn* pack, Valet_Object_unpack_fn* unpack,
                 Valet_Object_left_fn* left, void* tree);

void pushed_particles(MPI_Comm comm, double* position, int count, const int* ranks, int steps);
double moved_in_node_memory(MPI_Comm comm, uint64_t slots, uint64_t required, const int* ranks,
                            double value);

/* ragged.c */
uint64_t moved_lists(MPI_Comm comm, void* bytes, uint64_t capacity_bytes, uint64_t* lengths,
                     int* id, uint64_t most, uint64_t count, const int* ranks);
uint64_t grown_rows(MPI_Comm comm, double** values, uint64_t** offsets, uint64_t rows,
                    const int* ranks);

/* restart.c */
void restarted(MPI_Comm comm, const char* path, const Valet_Storage* particles, uint64_t count);
uint64_t resized(MPI_Comm comm, const Valet_Storage* particles, uint64_t count);
uint64_t resized_lists(MPI_Comm comm, const Valet_Ragged_storage* lists, uint64_t count);
/* junction.c */
typedef struct Room {
  double* values;
  Valet_Storage* storage;
} Room;
Valet_Junction* accepted(MPI_Comm comm);
void simulated(Valet_Junction* analysis, int64_t n, double* part, size_t bytes,
               const Valet_Storage* particles, uint64_t count, int* owners,
               const Valet_Ragged_storage* lists);
const Valet_Storage* grown_room(void* room, uint64_t particles);
uint64_t analysed(MPI_Comm comm, int64_t n, double* part, size_t bytes,
                  const Valet_Storage* particles, Room* room, const Valet_Ragged_storage* lists);

#ifdef __cplusplus
}
#endif

#endif
