/* SPDX-License-Identifier: BSD-3-Clause */

/* The snippets of C, word for word; reference_c_test.cpp runs them. */

#include "reference_c.h"

#include <stdlib.h>

uint64_t other_calls(MPI_Comm comm, const Valet_Storage* storage, uint64_t slots, uint64_t count,
                     double* buffer, size_t bytes, const int64_t* send_counts, int* ranks,
                     const Valet_Address* addresses) {
  Valet_Plan *plan = NULL, *deal = NULL;

  /* Options and reports. */
  Valet_Options options = Valet_Options_default();
  options.budget_bytes = 1 << 20;
  options.order = VALET_ORDER_STABLE;
  Valet_Report report = Valet_Report_default();
  Valet_Alltoallv_in_place(comm, buffer, bytes, send_counts, NULL, sizeof(double), 0, &options,
                           &report);
  Valet_Summed_over_ranks(comm, &report, &report);
  char text[1024];
  if (Valet_Report_to_string(&report, text, sizeof text) < sizeof text) puts(text);

  /* A map that asks ranks for more slots than they have, corrected; then a rank and a slot each. */
  uint64_t changed = 0, changed_in_all = 0;
  Valet_Repair(comm, count, NULL, ranks, slots, &changed, &changed_in_all);
  Valet_Plan_to_slots(comm, storage, count, NULL, addresses, &options, &plan);

  /* Objects, numbered through over the ranks, dealt to them in turn. */
  const Valet_Object_layout cyclic = {.block_size = 1};
  Valet_Plan_to_layout(comm, storage, count, NULL, &cyclic, &options, &deal);

  Valet_Execute(plan, storage, NULL);
  Valet_Execute(deal, storage, NULL);
  count = Valet_Plan_blocks_after(deal);
  Valet_Plan_free(deal);
  Valet_Plan_free(plan);
  return count;
}

Valet_Storage* stored_by_columns(double* matrix, uint64_t rows, uint64_t n, int is_frozen) {
  /* The rows of a matrix of n columns that are stored by columns. */
  const size_t extents[] = {n};
  const ptrdiff_t strides[] = {(ptrdiff_t)(rows * sizeof(double))};
  Valet_Storage* storage = Valet_Storage_create();
  Valet_Storage_add_array(storage, matrix, rows, sizeof(double), sizeof(double), 1, extents,
                          strides, "matrix");
  /* For blocks of different sizes: Valet_Ragged_storage_refuse(). */
  if (is_frozen) Valet_Storage_refuse(storage, "the matrix is frozen; thaw it");
  return storage;
}

struct tile {
  double mass[16];
  float charge[16];
};

Valet_Storage* stored_in_tiles(struct tile* tiles, uint64_t slots, size_t levels,
                               void* const* cells, const uint64_t* cells_of_level,
                               void* const* nodes) {
  Valet_Storage* storage = Valet_Storage_create();
  Valet_Storage_add_field(storage, tiles->mass, slots, sizeof(double), sizeof(double), "mass");
  Valet_Storage_in_tiles(storage, 16, sizeof(struct tile));
  Valet_Storage_add_field(storage, NULL, slots, sizeof(int), sizeof(int), "cell");
  Valet_Storage_in_segments(storage, levels, cells, cells_of_level);
  Valet_Storage_add_field(storage, NULL, slots, 24, 24, "node");
  Valet_Storage_by_pointers(storage, nodes);
  return storage;
}

int group_by_level(const Valet_Storage* storage, uint64_t count, const uint32_t* level_of,
                   size_t levels, const uint64_t* cells_of_level, uint64_t* cells_now) {
  return Valet_Group(storage, count, NULL, level_of, levels, cells_of_level, NULL, cells_now);
}

struct particles {
  double* position;
  Valet_Storage* storage;
};

/* What a rank does that gets more blocks than it has slots for, Valet_Plan_required_slots(): it
 * makes a larger storage, and says that it may be called again. */
const Valet_Storage* enlarge(void* data, uint64_t slots) {
  struct particles* p = data;
  p->position = realloc(p->position, slots * 3 * sizeof(double));
  Valet_Storage_free(p->storage);
  p->storage = Valet_Storage_create();
  Valet_Storage_add_field(p->storage, p->position, slots, 3 * sizeof(double), 3 * sizeof(double),
                          "x");
  Valet_Storage_grow_by(p->storage, enlarge, p);
  return p->storage;
}

uint64_t grown_particles(MPI_Comm comm, double** grown, uint64_t slots, uint64_t count,
                         const int* ranks) {
  struct particles all = {*grown, NULL};
  const Valet_Storage* const storage = enlarge(&all, slots);
  Valet_Plan* plan = NULL;
  if (Valet_Plan_to_ranks(comm, storage, count, NULL, ranks, NULL, &plan) == VALET_SUCCESS &&
      Valet_Execute(plan, storage, NULL) == VALET_SUCCESS)
    count = Valet_Plan_blocks_after(plan);
  Valet_Plan_free(plan);
  Valet_Storage_free(all.storage);
  *grown = all.position;
  return count;
}

void redistributed(MPI_Comm comm, int size, int64_t n, double* entries, double* room,
                   size_t bytes) {
  /* A matrix from columns to blocks of 16 x 16, inside its own memory; then a copy in columns. */
  const int64_t extents[] = {n, n}, one_column[] = {n, 1}, squares[] = {16, 16};
  const int grid[] = {1, size};
  const Valet_Layout columns = {2, extents, one_column, grid, VALET_ROW_MAJOR, NULL, NULL};
  const Valet_Layout blocks = {2, extents, squares, grid, VALET_ROW_MAJOR, NULL, NULL};
  const Valet_Array matrix = {entries, bytes, VALET_COLUMN_MAJOR, NULL};
  const Valet_Array copy = {room, bytes, VALET_COLUMN_MAJOR, NULL};
  Valet_Redistribute_in_place(comm, &columns, &blocks, sizeof(double), &matrix, NULL, NULL);
  Valet_Redistribute(comm, &blocks, &columns, sizeof(double), &matrix, &copy, NULL, NULL);
}

int64_t shared_columns(const Valet_Layout* from, int rank, const Valet_Layout* to, int peer,
                       int64_t* column) {
  const Valet_Layout columns = *from, blocks = *to;
  int64_t found = 0;
  /* The columns that a rank shares with rank `peer` of the other layout, by their local indices. */
  Valet_Index_families all;
  Valet_Index_family families[16];
  if (Valet_Intersect(&columns, rank, &blocks, peer, 1, VALET_INTERSECTION_ASPEN, families, 16,
                      &all) != VALET_SUCCESS ||
      all.families > 16)
    return -1;
  for (int64_t begin = 0, local = 0; begin < all.extent;
       begin += all.period, local += all.local_period)
    for (const Valet_Index_family* f = families; f < families + all.families; ++f)
      for (int64_t k = 0; k < f->count; ++k) {
        const int64_t position = begin + f->position + k * all.stride;
        for (int64_t j = 0; j < f->length && position + j < all.extent; ++j, ++found)
          column[local + f->local + k * all.local_stride + j] = position + j;
      }
  return found;
}

void shaped(const int* descriptor, int rank, int64_t* local) {
  /* The layout of a matrix of ScaLAPACK's on 2 x 3 ranks, and the rows and columns that a rank has.
   */
  Valet_Layout_lists lists;
  Valet_Layout layout;
  if (Valet_Layout_from_descriptor(descriptor, 2, 3, VALET_ROW_MAJOR, &lists, &layout) !=
          VALET_SUCCESS ||
      Valet_Layout_local_extents(&layout, rank, local) != VALET_SUCCESS)
    fprintf(stderr, "%s\n", Valet_Error_message());
}

static void to_log(int level, const char* message, void* file) {
  if (level >= VALET_LOG_INFO) fprintf(file, "%s\n", message);
}

void logged_run(MPI_Comm comm, const Valet_Storage* storage, uint64_t count, const int* ranks,
                FILE* log_file) {
  /* Messages go where those of the application go. */
  Valet_Set_log_callback(to_log, log_file);
  Valet_Options options = Valet_Options_default();

  Valet_Plan* plan = NULL;
  Valet_Report report = Valet_Report_default();
  if (Valet_Plan_to_ranks(comm, storage, count, NULL, ranks, &options, &plan) == VALET_SUCCESS)
    Valet_Execute(plan, storage, &report);
  Valet_Plan_free(plan);

  /* A report is one line of JSON, too. */
  const size_t length = Valet_Report_to_json(&report, NULL, 0);
  char* json = malloc(length + 1);
  Valet_Report_to_json(&report, json, length + 1);
  fprintf(log_file, "%s\n", json);
  free(json);

  /* For a bug report: how the library was built, and its MPI. */
  char facts[2048];
  if (Valet_Configuration_to_string(facts, sizeof facts) < sizeof facts)
    fprintf(log_file, "Valet %s\n%s\n", Valet_Version(), facts);
  Valet_Configuration_to_json(facts, sizeof facts);
  fprintf(log_file, "%s\n", facts);

  Valet_Set_log_callback(NULL, NULL);
}

Valet_Storage* custom_storage(uint64_t slots, size_t block_bytes, Valet_Pack_fn* pack,
                              Valet_Unpack_fn* unpack, void* queue) {
  /* Memory that only functions of the application reach, such as a device's. */
  Valet_Custom_functions functions = Valet_Custom_functions_default();
  functions.pack = pack;
  functions.unpack = unpack;
  Valet_Storage* device = Valet_Storage_create_custom(slots, block_bytes, &functions, queue);
  return device;
}

void moved_cells(MPI_Comm comm, uint64_t count, const int* ranks, Valet_Object_size_fn* size,
                 Valet_Object_pack_fn* pack, Valet_Object_unpack_fn* unpack,
                 Valet_Object_left_fn* left, void* tree) {
  /* Objects that only functions of the application reach, such as cells of a tree. */
  Valet_Object_functions functions = Valet_Object_functions_default();
  functions.size = size;
  functions.pack = pack;
  functions.unpack = unpack;
  functions.left = left;
  if (Valet_Migrate_objects(comm, count, ranks, &functions, tree, NULL, NULL) != VALET_SUCCESS)
    fprintf(stderr, "%s\n", Valet_Error_message());
}

double moved_in_node_memory(MPI_Comm comm, uint64_t slots, uint64_t required, const int* ranks,
                            double value) {
  Valet_Storage* storage = Valet_Storage_create();
  Valet_Plan* plan = NULL;

  /* Memory that ranks of the node share: it grows where it is. */
  void* memory = NULL;
  if (Valet_Node_alloc(comm, slots * 3 * sizeof(double), &memory) != VALET_SUCCESS)
    fprintf(stderr, "%s\n", Valet_Error_message());
  double* position = memory;
  Valet_Storage_add_field(storage, position, slots, 3 * sizeof(double), 3 * sizeof(double), "x");

  for (uint64_t k = 0; k < 3 * slots; ++k) position[k] = value;
  if (Valet_Plan_to_ranks(comm, storage, slots, NULL, ranks, NULL, &plan) == VALET_SUCCESS)
    Valet_Execute(plan, storage, NULL);
  Valet_Plan_free(plan);

  if (required > slots) Valet_Node_resize(memory, required * 3 * sizeof(double));

  double sum = 0;
  for (uint64_t k = 0; k < 3 * required; ++k) sum += position[k];

  Valet_Node_free(memory);

  Valet_Storage_free(storage);
  return sum;
}

void pushed_particles(MPI_Comm comm, double* position, int count, const int* ranks, int steps) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  Valet_Storage* storage = Valet_Storage_create();
  Valet_Storage_add_field(storage, position, (uint64_t)count, sizeof(double), sizeof(double), "x");
  Valet_Plan* plan = NULL;
  Valet_Plan_to_ranks(comm, storage, (uint64_t)count, NULL, ranks, NULL, &plan);

  /* The same blocks in each step: they travel while the others are pushed. */
  Valet_Execution* execution = NULL;
  Valet_Plan_bind(plan, storage);
  for (int step = 0; step < steps; ++step) {
    if (Valet_Execution_start_bound(plan, &execution) != VALET_SUCCESS) break;
    for (int done = 0, k = 0; k < count; ++k) {
      if (ranks[k] == rank) position[k] += 1;
      if (!done) Valet_Execution_progress(execution, &done);
    }
    Valet_Execution_wait(execution, NULL);
  }

  /* In one piece, or with a storage that may be another one each time. */
  Valet_Execute_bound(plan, NULL);
  if (Valet_Execution_start(plan, storage, &execution) == VALET_SUCCESS)
    Valet_Execution_wait(execution, NULL);

  Valet_Plan_free(plan);
  Valet_Storage_free(storage);
}
