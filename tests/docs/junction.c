/* SPDX-License-Identifier: BSD-3-Clause */

/* The snippets in C of the page about data between jobs; accepted() is not run. */

#include "reference_c.h"

#include <stdlib.h>

Valet_Junction* accepted(MPI_Comm comm) {
  /* A simulation waits for its analysis, another job that connects to "flow". */
  Valet_Junction* analysis = NULL;
  if (Valet_Junction_accept(comm, "flow", NULL, &analysis) != VALET_SUCCESS)
    fprintf(stderr, "%s\n", Valet_Error_message());

  return analysis;
}

void simulated(Valet_Junction* analysis, int64_t n, double* part, size_t bytes,
               const Valet_Storage* particles, uint64_t count, int* owners,
               const Valet_Ragged_storage* lists) {
  /* It puts its part of an array of n elements, in pieces, and computes meanwhile. */
  const int ranks = Valet_Junction_ranks(analysis);
  const int64_t piece = (n + ranks - 1) / ranks;
  const Valet_Layout pieces = {1, &n, &piece, &ranks, VALET_ROW_MAJOR, NULL, NULL};
  const Valet_Array density = {part, bytes, VALET_ROW_MAJOR, NULL};
  Valet_Junction_transfer* transfer = NULL;
  int ready = 0;
  Valet_Junction_put_array(analysis, &density, &pieces, sizeof(double), "density", &transfer);
  for (int step = 0; step < 10 && !ready; ++step) Valet_Junction_is_ready(transfer, &ready);
  if (Valet_Junction_wait(transfer, NULL) != VALET_SUCCESS)
    fprintf(stderr, "%s\n", Valet_Error_message());

  /* Each particle goes to a rank of the analysis. Without a handle a call waits. */
  for (uint64_t k = 0; k < count; ++k) owners[k] = (int)k % Valet_Junction_other_ranks(analysis);
  Valet_Junction_put_blocks(analysis, particles, count, owners, NULL, NULL);
  Valet_Junction_put_blocks(analysis, particles, count, owners, NULL, NULL);

  /* The same in an order that both know, and blocks of different sizes. */
  const Valet_Object_layout equal_shares = {.block_size = 0};
  Valet_Junction_put_numbered(analysis, particles, count, &equal_shares, NULL, NULL);
  Valet_Junction_put_numbered_ragged(analysis, lists, count, &equal_shares, NULL, NULL);
  Valet_Junction_put_ragged(analysis, lists, count, owners, NULL, NULL);
  Valet_Junction_close(analysis);
}

/* A storage for so many particles, in memory that grows. */
const Valet_Storage* grown_room(void* room, uint64_t particles) {
  Room* my = room;
  Valet_Storage_free(my->storage);
  my->values = realloc(my->values, (particles + 1) * sizeof(double));
  my->storage = Valet_Storage_create();
  Valet_Storage_add_field(my->storage, my->values, particles, sizeof(double), sizeof(double), "x");
  return my->storage;
}

uint64_t analysed(MPI_Comm comm, int64_t n, double* part, size_t bytes,
                  const Valet_Storage* particles, Room* room, const Valet_Ragged_storage* lists) {
  /* The analysis connects. Over an intercommunicator both sides do that. */
  Valet_Junction_options options = Valet_Junction_options_default();
  options.budget_bytes = 1 << 20;
  Valet_Junction* simulation = NULL;
  Valet_Junction_connect(comm, "flow", &options, &simulation);

  /* It gets the same array element by element in turn. */
  const int ranks = Valet_Junction_ranks(simulation);
  const int64_t one = 1;
  const Valet_Layout in_turn = {1, &n, &one, &ranks, VALET_ROW_MAJOR, NULL, NULL};
  const Valet_Array density = {part, bytes, VALET_ROW_MAJOR, NULL};
  Valet_Junction_get_array(simulation, &density, &in_turn, sizeof(double), "density", NULL);

  /* Particles into a storage that has room, and into one that is made for them. */
  Valet_Junction_get_blocks(simulation, particles, NULL, NULL, NULL);
  Valet_Junction_get_blocks_into(simulation, grown_room, room, NULL, NULL);

  const Valet_Object_layout dealt = {.block_size = 1};
  Valet_Junction_get_numbered(simulation, particles, &dealt, NULL, NULL);
  Valet_Junction_get_numbered_ragged(simulation, lists, &dealt, NULL, NULL);

  Valet_Report report = Valet_Report_default();
  Valet_Junction_transfer* transfer = NULL;
  Valet_Junction_get_ragged(simulation, lists, NULL, NULL, &transfer);
  Valet_Junction_wait(transfer, &report); /* there are report.blocks_after lists */
  Valet_Junction_close(simulation);

  return report.blocks_after;
}
