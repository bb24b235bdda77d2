/* SPDX-License-Identifier: BSD-3-Clause */

/* Blocks that functions of the application move, from C: every rank sends all to the next one, and
 * functions that are missing or fail are an error of all ranks. Exit code 0 only if all of it is
 * right. */

#include "require.h"
#include <valet/valet.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { slots = 60, blocks = 50, block_bytes = 8 };

/* The "device": an array of two halves of a block, and what was asked of it. */
typedef struct Device {
  uint32_t low[slots], high[slots];
  int allocations, synchronized, copies, fails, overruns;
} Device;

static int rank = 0;
static int size = 1;

static int pack(void* data, const uint64_t* from, size_t count, void* packed) {
  const Device* const device = data;
  if (device->fails) return 77;
  for (size_t k = 0; k < count; ++k) {
    memcpy((char*)packed + k * block_bytes, &device->low[from[k]], 4);
    memcpy((char*)packed + k * block_bytes + 4, &device->high[from[k]], 4);
  }
  memset((char*)packed + count * block_bytes, 0, (size_t)device->overruns);
  return 0;
}

static int unpack(void* data, const void* packed, const uint64_t* to, size_t count) {
  Device* const device = data;
  for (size_t k = 0; k < count; ++k) {
    memcpy(&device->low[to[k]], (const char*)packed + k * block_bytes, 4);
    memcpy(&device->high[to[k]], (const char*)packed + k * block_bytes + 4, 4);
  }
  return 0;
}

static int copy(void* data, const uint64_t* from, const uint64_t* to, size_t count) {
  Device* const device = data;
  ++device->copies;
  for (size_t k = 0; k < count; ++k) {
    device->low[to[k]] = device->low[from[k]];
    device->high[to[k]] = device->high[from[k]];
  }
  return 0;
}

static void* allocate(void* data, size_t bytes) {
  ++((Device*)data)->allocations;
  return malloc(bytes);
}
static void release(void* data, void* memory) {
  --((Device*)data)->allocations;
  free(memory);
}
static int synchronize(void* data) {
  ++((Device*)data)->synchronized;
  return 0;
}

static void fill(Device* device) {
  for (uint32_t k = 0; k < blocks; ++k) {
    device->low[k] = k;
    device->high[k] = (uint32_t)rank;
  }
}

static Valet_Custom_functions all_functions(void) {
  Valet_Custom_functions functions = Valet_Custom_functions_default();
  functions.pack = pack;
  functions.unpack = unpack;
  functions.copy = copy;
  functions.allocate_scratch = allocate;
  functions.free_scratch = release;
  functions.synchronize = synchronize;
  return functions;
}

/* All blocks to the next rank; the code of what went wrong first. */
static int move(const Valet_Storage* storage, Valet_Report* report) {
  int ranks[blocks];
  for (int k = 0; k < blocks; ++k) ranks[k] = (rank + 1) % size;
  Valet_Options options = Valet_Options_default();
  options.method = VALET_METHOD_STREAM;
  options.order = VALET_ORDER_STABLE;
  options.verify = 1;
  Valet_Plan* plan = NULL;
  int code = Valet_Plan_to_ranks(MPI_COMM_WORLD, storage, blocks, NULL, ranks, &options, &plan);
  if (code == VALET_SUCCESS) code = Valet_Execute(plan, storage, report);
  Valet_Plan_free(plan);
  return code;
}

static void move_all(void) {
  static Device device;
  const Valet_Custom_functions functions = all_functions();
  fill(&device);
  Valet_Storage* const storage =
      Valet_Storage_create_custom(slots, block_bytes, &functions, &device);
  Valet_Report report = Valet_Report_default();
  require(move(storage, &report) == VALET_SUCCESS, "moving");
  require(report.verified && report.block_bytes == block_bytes, "the report");
  const uint32_t source = (uint32_t)((rank + size - 1) % size);
  int right = 0;
  for (uint32_t k = 0; k < blocks; ++k) right += device.low[k] == k && device.high[k] == source;
  require(right == blocks, "every block is where it should be");
  require(device.synchronized > 0 && device.allocations == 1, "what was asked of the device");
  require(Valet_Storage_add_field(storage, &device, 1, 8, 8, NULL) == VALET_INVALID_ARGUMENT,
          "a storage of functions takes no fields");
  device.fails = rank == size - 1;
  require(move(storage, NULL) == VALET_CALLBACK_FAILED, "a function that fails");
  require(strstr(Valet_Error_message(), "pack returned 77") != NULL, "what it returned");
  device.fails = 0;
  device.overruns = rank == size - 1;
  require(move(storage, NULL) == VALET_INVALID_ARGUMENT, "a pack that writes past its blocks");
  require(strstr(Valet_Error_message(), "writes past its 8 bytes") != NULL, "how far it may write");
  Valet_Storage_free(storage);
  require(device.allocations == 0, "all scratch is freed");
}

/* One rank has its functions wrong, all are told. */
static void refuse(const Valet_Custom_functions* wrong, const char* text) {
  static Device device;
  const Valet_Custom_functions functions = all_functions();
  Valet_Storage* const storage = Valet_Storage_create_custom(
      slots, block_bytes, rank == size - 1 ? wrong : &functions, &device);
  require(move(storage, NULL) == VALET_INVALID_ARGUMENT, "wrong functions");
  require(strstr(Valet_Error_message(), text) != NULL, text);
  Valet_Storage_free(storage);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  move_all();
  refuse(NULL, "null pointer");
  Valet_Custom_functions wrong = all_functions();
  wrong.unpack = NULL;
  refuse(&wrong, "none that unpacks");
  wrong = all_functions();
  wrong.struct_size = 3;
  refuse(&wrong, "struct_size");
  int all_failures = 0;
  MPI_Allreduce(&failures, &all_failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all_failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
