/* SPDX-License-Identifier: BSD-3-Clause */

/* The snippets of C, word for word: compiled, not run. */

#include <valet/valet.h>

#include <stdio.h>

uint64_t moved_particles(MPI_Comm comm, double* position, uint64_t slots, uint64_t count,
                         const int* ranks);

uint64_t moved_particles(MPI_Comm comm, double* position, uint64_t slots, uint64_t count,
                         const int* ranks) {
  Valet_Storage* storage = Valet_Storage_create();
  Valet_Storage_add_field(storage, position, slots, 3 * sizeof(double), 3 * sizeof(double), "x");
  Valet_Plan* plan = NULL;
  if (Valet_Plan_to_ranks(comm, storage, count, NULL, ranks, NULL, &plan) != VALET_SUCCESS)
    fprintf(stderr, "%s\n", Valet_Error_message());
  else if (Valet_Execute(plan, storage, NULL) == VALET_SUCCESS)
    count = Valet_Plan_blocks_after(plan);
  Valet_Plan_free(plan);
  Valet_Storage_free(storage);
  return count;
}

void other_calls(MPI_Comm comm, const Valet_Storage* storage, uint64_t slots, uint64_t count,
                 double* buffer, size_t bytes, const int64_t* send_counts, int* ranks,
                 const Valet_Address* addresses);

void other_calls(MPI_Comm comm, const Valet_Storage* storage, uint64_t slots, uint64_t count,
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
  const Valet_Object_layout cyclic = {1, 0};
  Valet_Plan_to_layout(comm, storage, count, NULL, &cyclic, &options, &deal);

  Valet_Plan_free(deal);
  Valet_Plan_free(plan);
}

Valet_Storage* custom_storage(uint64_t slots, size_t block_bytes, Valet_Pack_fn* pack,
                              Valet_Unpack_fn* unpack, void* queue);

Valet_Storage* custom_storage(uint64_t slots, size_t block_bytes, Valet_Pack_fn* pack,
                              Valet_Unpack_fn* unpack, void* queue) {
  /* Memory that only functions of the application reach, such as a device's. */
  Valet_Custom_functions functions = Valet_Custom_functions_default();
  functions.pack = pack;
  functions.unpack = unpack;
  Valet_Storage* device = Valet_Storage_create_custom(slots, block_bytes, &functions, queue);
  return device;
}
