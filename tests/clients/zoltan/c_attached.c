/* SPDX-License-Identifier: BSD-3-Clause */

/* A client in C that attaches its arrays to a Zoltan_Struct: an array of structures with numbers of
 * several types, parts, arrays that grow, blocks of different sizes; then what is refused. Valet is
 * in front of Zoltan. Exit code 0 only if all of it is right. */

#include "oracle.h"
#include "require.h"
#include <valet/zoltan/valet_zoltan.h>

#include <stdlib.h>
#include <string.h>

typedef struct Particle {
  double place[3];
  int64_t id;
  float work;
} Particle;

enum { unit = 10, most_ranks = 5, most = unit * most_ranks * (most_ranks + 1) };

static int rank = 0, ranks = 1;
static uint64_t slots = most; /* of the particles */
static Particle* particle = NULL;
static int part[most];
static Valet_Attached* attached = NULL;

static int refused(int code, const char* text) {
  return code == VALET_INVALID_ARGUMENT && strstr(Valet_Error_message(), text) != NULL;
}

/* Another number for each rank, and a sum that the ranks can share out evenly. */
static uint64_t count_of(int r) { return 2 * unit * (uint64_t)(r + 1); }
static uint64_t first_of(int r) { return unit * (uint64_t)r * (uint64_t)(r + 1); }
static uint64_t all(void) { return first_of(ranks); }

static Particle make(uint64_t id) {
  Particle made = {{0, 0, 0}, (int64_t)id, 1 + (float)(id % 3)};
  for (uint64_t d = 0; d < 3; ++d) made.place[d] = (double)(id * (7919 + 31 * d) % 1009);
  return made;
}

static void fill(uint64_t with_slots) {
  slots = with_slots;
  particle = realloc(particle, slots * sizeof *particle);
  for (uint64_t s = 0; s < count_of(rank); ++s) {
    particle[s] = make(first_of(rank) + s);
    part[s] = rank;
  }
}

static Valet_Storage* storage_of_particles(void) {
  Valet_Storage* storage = Valet_Storage_create();
  Valet_Storage_add_field(storage, particle, slots, sizeof *particle, sizeof *particle, "particle");
  return storage;
}

static void give_numbers(void) {
  const Valet_Numbers place = {particle->place, VALET_NUMBERS_DOUBLE, 3, sizeof *particle, slots};
  const Valet_Numbers id = {&particle->id, VALET_NUMBERS_INT64, 1, sizeof *particle, slots};
  const Valet_Numbers work = {&particle->work, VALET_NUMBERS_FLOAT, 1, sizeof *particle, slots};
  require(Valet_Attached_coordinates(attached, &place) == VALET_SUCCESS, "coordinates");
  require(Valet_Attached_ids(attached, &id) == VALET_SUCCESS, "ids");
  require(Valet_Attached_weights(attached, &work) == VALET_SUCCESS, "weights");
}

/* Attaches the particles to a new structure. */
static struct Zoltan_Struct* begin(const char* method, const Valet_Attached_options* options) {
  struct Zoltan_Struct* const zoltan = Zoltan_Create(MPI_COMM_WORLD);
  Zoltan_Set_Param(zoltan, "DEBUG_LEVEL", "0");
  Zoltan_Set_Param(zoltan, "LB_METHOD", method);
  Zoltan_Set_Param(zoltan, "AUTO_MIGRATE", "TRUE");
  Zoltan_Set_Param(zoltan, "RETURN_LISTS", "NONE");
  Valet_Storage* const storage = storage_of_particles();
  require(Valet_Zoltan_attach(zoltan, count_of(rank), storage, options, &attached) == VALET_SUCCESS,
          "Valet_Zoltan_attach");
  Valet_Storage_free(storage);
  return zoltan;
}

static void end(struct Zoltan_Struct* zoltan) {
  Valet_Attached_free(attached);
  attached = NULL;
  Zoltan_Destroy(&zoltan);
}

static int partition_by_zoltan(struct Zoltan_Struct* zoltan, int* changes) {
  int gids = 0, lids = 0, counts[2];
  ZOLTAN_ID_PTR ids[4];
  int* lists[4];
  return Zoltan_LB_Partition(zoltan, changes, &gids, &lids, &counts[0], &ids[0], &ids[1], &lists[0],
                             &lists[1], &counts[1], &ids[2], &ids[3], &lists[2], &lists[3]);
}

/* Every particle is there once, and whole. */
static void check_particles(const char* what) {
  const uint64_t count = Valet_Attached_count(attached);
  unsigned long long sums[2] = {count, 0};
  int wrong = 0;
  for (uint64_t s = 0; s < count; ++s) {
    const Particle expected = make((uint64_t)particle[s].id);
    wrong += memcmp(particle[s].place, expected.place, sizeof expected.place) != 0;
    wrong += particle[s].work != expected.work;
    sums[1] += (unsigned long long)particle[s].id;
  }
  MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  require(wrong == 0, what);
  require(sums[0] == all() && sums[1] == all() * (all() - 1) / 2, "a particle is lost or doubled");
}

/* Shared out or dealt, particles are where the layout has them. */
static void check_layout(const char* method, uint64_t block, int by_zoltan) {
  fill(most);
  struct Zoltan_Struct* const zoltan = begin(method, NULL);
  uint64_t numbers[most];
  const uint64_t count = oracle_layout(block, all(), ranks, rank, numbers);
  Valet_Report report = Valet_Report_default();
  int changes = -1;
  if (by_zoltan)
    require(partition_by_zoltan(zoltan, &changes) == ZOLTAN_OK &&
                Valet_Attached_result(attached, NULL, &report) == VALET_SUCCESS,
            "Zoltan_LB_Partition");
  else
    require(Valet_Attached_partition(attached, &changes, &report) == VALET_SUCCESS, method);
  require(changes == (ranks > 1) && Valet_Attached_count(attached) == count, method);
  require(!changes || (report.plan_from_layout && report.blocks_after == count), "the report");
  int wrong = 0;
  for (uint64_t s = 0; s < count; ++s) wrong += particle[s].id != (int64_t)numbers[s];
  require(wrong == 0, "a slot is not that of the layout");
  check_particles(method);
  end(zoltan);
}

/* Tiles are told like other layouts: columns of a matrix, one after another, are what dealing is.
 */
static void check_told_tiles(void) {
  fill(most);
  struct Zoltan_Struct* const zoltan = begin("BLOCK", NULL);
  const int64_t down = (int64_t)all() / ranks, extents[] = {down, ranks}, blocks[] = {down, 1};
  const int grid[] = {1, ranks};
  const Valet_Layout columns = {2, extents, blocks, grid, VALET_ROW_MAJOR, NULL, NULL};
  Valet_Object_layout layout = {.tiling = &columns};
  require(Valet_Attached_partition(attached, NULL, NULL) == VALET_SUCCESS &&
              Valet_Attached_set_layout(attached, &layout) == VALET_SUCCESS,
          "a layout in tiles");
  int is_known = 0;
  layout.tiling = NULL;
  require(Valet_Attached_layout(attached, &is_known, &layout) == VALET_SUCCESS && is_known == 1 &&
              layout.tiling != NULL && layout.numbering == VALET_ROW_MAJOR,
          "tiles that were told");
  const Valet_Layout* const told = layout.tiling;
  require(told->dimensions == 2 && told->extents[0] == down && told->extents[1] == ranks &&
              told->block_sizes[0] == down && told->block_sizes[1] == 1 && told->grid[0] == 1 &&
              told->grid[1] == ranks && told->rank_order == VALET_ROW_MAJOR &&
              told->first_ranks[0] == 0 && told->ranks == NULL,
          "the tiles that were told");
  int64_t before[most];
  for (uint64_t s = 0; s < most; ++s) before[s] = particle[s].id;
  int changes = -1;
  require(Valet_Set_Param(zoltan, "LB_METHOD", "CYCLIC") == ZOLTAN_OK &&
              Valet_Attached_partition(attached, &changes, NULL) == VALET_SUCCESS && changes == 0,
          "a partition of what is in tiles");
  int wrong = 0;
  for (uint64_t s = 0; s < most; ++s) wrong += particle[s].id != before[s];
  require(wrong == 0, "objects that are where they belong have moved");
  end(zoltan);
}

/* What is dealt is in a layout, which can be forgotten, and told: then it goes on from there. */
static void check_told_layouts(void) {
  fill(most);
  struct Zoltan_Struct* const zoltan = begin("CYCLIC", NULL);
  Valet_Object_layout layout = {.block_size = 4711, .ranks = 4711};
  int is_known = -1;
  require(Valet_Attached_layout(attached, &is_known, &layout) == VALET_SUCCESS && is_known == 0 &&
              layout.block_size == 4711,
          "a layout before the first partition");
  require(Valet_Attached_partition(attached, NULL, NULL) == VALET_SUCCESS &&
              Valet_Attached_layout(attached, &is_known, &layout) == VALET_SUCCESS &&
              is_known == 1 && layout.block_size == 1 && layout.ranks == 0,
          "the layout of what was dealt");
  require(Valet_Attached_forget_layout(attached) == VALET_SUCCESS &&
              Valet_Attached_layout(attached, &is_known, &layout) == VALET_SUCCESS && is_known == 0,
          "a layout that was forgotten");
  require(Valet_Attached_set_layout(attached, &layout) == VALET_SUCCESS &&
              Valet_Set_Param(zoltan, "LB_METHOD", "BLOCK") == ZOLTAN_OK &&
              Valet_Attached_partition(attached, NULL, NULL) == VALET_SUCCESS,
          "a partition of what is in a layout");
  const uint64_t share = all() / (uint64_t)ranks;
  int wrong = Valet_Attached_count(attached) != share;
  for (uint64_t s = 0; s < share; ++s)
    wrong += particle[s].id != (int64_t)(share * (uint64_t)rank + s);
  require(wrong == 0, "a slot does not follow from the layout that was told");
  check_particles("particles that were in a layout");
  layout.ranks = ranks + 1;
  require(Valet_Attached_set_layout(attached, &layout) == VALET_SUCCESS &&
              refused(Valet_Attached_partition(attached, NULL, NULL), "but there are"),
          "a layout of too many ranks is not refused");
  end(zoltan);
}

/* Without part sizes, BLOCK and CYCLIC are arithmetic: Zoltan, which takes some 100 bytes for an
 * object, is not asked. With them it is. */
static void check_part_sizes(void) {
  fill(most);
  struct Zoltan_Struct* const zoltan = begin("BLOCK", NULL);
  Valet_Rebalance_result result = Valet_Rebalance_result_default();
  require(Valet_Attached_partition(attached, NULL, NULL) == VALET_SUCCESS &&
              Valet_Attached_result(attached, &result, NULL) == VALET_SUCCESS &&
              result.partition_extra_bytes < 4000,
          "a partition of arithmetic takes memory");
  int one = rank;
  float share = rank == 0 ? 3 : 1;
  require(Zoltan_LB_Set_Part_Sizes(zoltan, 1, 1, &one, NULL, &share) == ZOLTAN_OK &&
              Valet_Attached_partition(attached, NULL, NULL) == VALET_SUCCESS,
          "a partition with part sizes");
  const double wanted = (double)all() * (double)share / (ranks + 2);
  const double count = (double)Valet_Attached_count(attached);
  require(count > wanted - 2 && count < wanted + 2, "part sizes are not obeyed");
  check_particles("particles in parts of different sizes");
  end(zoltan);
}

/* By place and weight, in cells, with options; the result tells of it. */
static void check_weights(void) {
  fill(most);
  Valet_Options migration = Valet_Options_default();
  migration.method = VALET_METHOD_PHASED;
  migration.verify = 1;
  Valet_Attached_options options = Valet_Attached_options_default();
  options.migration = &migration;
  options.granularity = 2;
  struct Zoltan_Struct* const zoltan = begin("HSFC", &options);
  give_numbers();
  int changes = -1;
  require(partition_by_zoltan(zoltan, &changes) == ZOLTAN_OK && changes == (ranks > 1),
          "Zoltan_LB_Partition");
  check_particles("particles that were partitioned by weight");
  Valet_Rebalance_result result = Valet_Rebalance_result_default();
  Valet_Report report = Valet_Report_default();
  require(Valet_Attached_result(attached, &result, &report) == VALET_SUCCESS, "a result");
  if (ranks > 1) {
    require(strcmp(report.method, "phased") == 0 && report.verified, "the options were not taken");
    require(result.count == Valet_Attached_count(attached) && result.required_slots == result.count,
            "the count of the result");
    require(result.count_imbalance_before > 1.3 && result.weight_imbalance_before > 1.3 &&
                result.weight_imbalance_after < 1.2 && result.partition_seconds > 0 &&
                result.migration_seconds > 0 && result.warning[0] == '\0',
            "the numbers of the result");
  }
  require(Valet_Attached_weights(attached, NULL) == VALET_SUCCESS &&
              Valet_Attached_partition(attached, &changes, NULL) == VALET_SUCCESS,
          "a partition without weights");
  check_particles("particles that were partitioned by number");
  end(zoltan);
}

/* Two parts for each rank. */
static void check_parts(void) {
  fill(most);
  struct Zoltan_Struct* const zoltan = begin("RCB", NULL);
  Zoltan_Set_Param(zoltan, "NUM_LOCAL_PARTS", "2");
  for (uint64_t s = 0; s < count_of(rank); ++s) part[s] = 2 * rank;
  give_numbers();
  require(Valet_Attached_parts(attached, part, slots) == VALET_SUCCESS, "parts");
  int changes = 0;
  require(Valet_Attached_partition(attached, &changes, NULL) == VALET_SUCCESS && changes == 1,
          "a partition in parts");
  int wrong = 0, upper = 0;
  for (uint64_t s = 0; s < Valet_Attached_count(attached); ++s) {
    wrong += part[s] / 2 != rank;
    upper += part[s] % 2;
  }
  require(wrong == 0 && upper > 0, "a particle is in a part of another rank");
  check_particles("particles in parts");
  end(zoltan);
}

static uint64_t asked_slots = 0;

/* Its data is what it is to return. */
static int grow(uint64_t required_slots, const uint64_t* required_bytes, void* data) {
  asked_slots = required_slots;
  if (*(int*)data != 0 || required_bytes != NULL) return *(int*)data + 1;
  slots = required_slots;
  particle = realloc(particle, slots * sizeof *particle);
  Valet_Storage* const storage = storage_of_particles();
  require(Valet_Attached_storage(attached, storage) == VALET_SUCCESS, "a larger storage");
  Valet_Storage_free(storage);
  give_numbers();
  return 0;
}

static void check_growth(void) {
  fill(count_of(rank));
  Valet_Attached_options options = Valet_Attached_options_default();
  options.when_infeasible = VALET_WHEN_INFEASIBLE_GROW;
  struct Zoltan_Struct* const zoltan = begin("CYCLIC", &options);
  int code = 6, changes = 0;
  require(Valet_Attached_grow(attached, grow, &code) == VALET_SUCCESS, "a function to grow");
  require(ranks == 1 || (Valet_Attached_partition(attached, NULL, NULL) == VALET_CALLBACK_FAILED &&
                         strstr(Valet_Error_message(), "Valet_Attached_grow() returned 7")),
          "a failure to grow is not that of all ranks");
  check_particles("particles without room");
  code = 0;
  asked_slots = 0;
  require(Valet_Attached_partition(attached, &changes, NULL) == VALET_SUCCESS, "growing");
  const uint64_t share = all() / (uint64_t)ranks;
  require(asked_slots == (share > count_of(rank) ? share : 0), "the slots that were asked for");
  check_particles("particles in arrays that grew");
  require(Valet_Attached_grow(attached, NULL, NULL) == VALET_SUCCESS &&
              Valet_Attached_partition(attached, NULL, NULL) == VALET_INVALID_ARGUMENT &&
              strstr(Valet_Error_message(), "when_infeasible is grow, but there is no"),
          "growing without a function is not refused");
  end(zoltan);
}

/* What dealing and `order` make of the blocks: their numbers. */
static uint64_t dealt_numbers(int order, uint64_t* numbers) {
  uint64_t counts[most_ranks], from_slots[most];
  int to[most], from_ranks[most];
  for (int r = 0; r < ranks; ++r) counts[r] = count_of(r);
  for (uint64_t number = 0; number < all(); ++number) to[number] = (int)(number % (uint64_t)ranks);
  const uint64_t count = oracle_blocks(ranks, counts, to, order, 1, rank, from_ranks, from_slots);
  for (uint64_t k = 0; k < count; ++k) numbers[k] = first_of(from_ranks[k]) + from_slots[k];
  return count;
}

static int longer(uint64_t blocks, const uint64_t* bytes, void* data) {
  uint64_t* const asked = data;
  asked[0] = blocks;
  asked[1] = bytes[0];
  return 1;
}

/* Block k has (number % 4) bytes of the number; dealt, and grown in vain. */
static void check_ragged(void) {
  uint64_t lengths[most], numbers[most], bytes = 0;
  unsigned char data[3 * most];
  const uint64_t before = count_of(rank);
  for (uint64_t k = 0; k < before; ++k) {
    const uint64_t number = first_of(rank) + k;
    lengths[k] = number % 4;
    memset(data + bytes, (int)(number % 251), lengths[k]);
    bytes += lengths[k];
  }
  struct Zoltan_Struct* const zoltan = Zoltan_Create(MPI_COMM_WORLD);
  Zoltan_Set_Param(zoltan, "DEBUG_LEVEL", "0");
  Zoltan_Set_Param(zoltan, "LB_METHOD", "CYCLIC");
  Zoltan_Set_Param(zoltan, "MIGRATE_ORDER", "STABLE");
  Zoltan_Set_Param(zoltan, "MIGRATE_WHEN_INFEASIBLE", "GROW");
  Valet_Ragged_storage *tight = Valet_Ragged_storage_create(),
                       *wide = Valet_Ragged_storage_create();
  Valet_Ragged_storage_add_field(tight, data, bytes, lengths, before, 1, "bytes");
  Valet_Ragged_storage_add_field(wide, data, sizeof data, lengths, most, 1, "bytes");
  require(Valet_Zoltan_attach_ragged(zoltan, before, tight, NULL, &attached) == VALET_SUCCESS,
          "Valet_Zoltan_attach_ragged");
  uint64_t asked[2] = {0, 0};
  Valet_Attached_grow(attached, longer, asked);
  require(ranks == 1 || Valet_Attached_partition(attached, NULL, NULL) == VALET_CALLBACK_FAILED,
          "arenas that do not grow");
  require(Valet_Attached_storage_ragged(attached, wide) == VALET_SUCCESS, "wider arenas");
  require(Valet_Attached_partition(attached, NULL, NULL) == VALET_SUCCESS, "ragged blocks");
  const uint64_t count = dealt_numbers(VALET_ORDER_STABLE, numbers);
  uint64_t wrong = Valet_Attached_count(attached) != count, begin_of_block = 0;
  for (uint64_t k = 0; k < count; ++k) {
    wrong += lengths[k] != numbers[k] % 4;
    for (uint64_t b = 0; b < lengths[k]; ++b) wrong += data[begin_of_block + b] != numbers[k] % 251;
    begin_of_block += lengths[k];
  }
  require(wrong == 0, "a block is not that of the layout");
  require(count <= before || (asked[0] == count && asked[1] == begin_of_block),
          "the room that was asked for");
  Valet_Ragged_storage_free(tight);
  Valet_Ragged_storage_free(wide);
  end(zoltan);
}

/* What one rank gives wrongly all ranks refuse, and nothing is attached. */
static void refuse_attaching(void) {
  struct Zoltan_Struct* zoltan = Zoltan_Create(MPI_COMM_WORLD);
  Valet_Storage* const storage = storage_of_particles();
  Valet_Attached_options options = Valet_Attached_options_default();
  const int is_last = rank == ranks - 1;
  Valet_Attached* made = NULL;
  require(refused(Valet_Zoltan_attach(NULL, 0, storage, NULL, &made), "null pointer") &&
              refused(Valet_Zoltan_attach(zoltan, 0, is_last ? NULL : storage, NULL, &made),
                      "the storage is a null pointer; make one by Valet_Storage_create()") &&
              refused(Valet_Zoltan_attach_ragged(zoltan, 0, NULL, NULL, &made),
                      "make one by Valet_Ragged_storage_create()") &&
              refused(Valet_Zoltan_attach(zoltan, 0, storage, NULL, is_last ? NULL : &made),
                      "the place for the handle is a null pointer"),
          "a null pointer is not refused");
  options.when_infeasible = is_last ? 3 : 0;
  require(refused(Valet_Zoltan_attach(zoltan, 0, storage, &options, &made),
                  "unknown when_infeasible 3 in Valet_Attached_options"),
          "an unknown choice is not refused");
  options.struct_size = 3;
  require(refused(Valet_Zoltan_attach(zoltan, 0, storage, &options, &made),
                  "start from Valet_Attached_options_default()"),
          "options without their size are not refused");
  require(made == NULL, "there is a handle");
  require(Valet_Zoltan_attach(zoltan, 0, storage, NULL, &made) == VALET_SUCCESS, "attaching");
  Valet_Attached* twice = NULL;
  require(
      refused(Valet_Zoltan_attach(zoltan, 0, storage, NULL, &twice), "attached") && twice == NULL,
      "storage that is attached twice is not refused");
  require(Valet_Attached_detach(made) == VALET_SUCCESS &&
              Valet_Zoltan_attach(zoltan, 0, storage, NULL, &twice) == VALET_SUCCESS,
          "attaching after detaching");
  Zoltan_Destroy(&zoltan);
  require(refused(Valet_Attached_partition(twice, NULL, NULL), "has been destroyed"),
          "a structure that is gone is not refused");
  Valet_Attached_free(made);
  Valet_Attached_free(twice);
  Valet_Storage_free(storage);
}

static void refuse_handles_and_numbers(void) {
  Valet_Numbers numbers = {particle, 17, 1, 0, slots};
  require(refused(Valet_Attached_partition(NULL, NULL, NULL), "the attached storage is a null") &&
              Valet_Attached_count(NULL) == 0 &&
              refused(Valet_Attached_set_count(NULL, 1), "null") &&
              refused(Valet_Attached_forget_layout(NULL), "the attached storage is a null"),
          "a handle that is NULL is not refused");
  fill(most);
  struct Zoltan_Struct* const zoltan = begin("RCB", NULL);
  require(refused(Valet_Attached_coordinates(attached, &numbers), "unknown type 17") &&
              refused(Valet_Attached_storage(attached, NULL), "the storage is a null pointer") &&
              refused(Valet_Attached_set_layout(attached, NULL), "the layout is a null pointer") &&
              refused(Valet_Attached_layout(attached, &numbers.type, NULL), "place for the layout"),
          "numbers of no type are not refused");
  numbers.type = VALET_NUMBERS_DOUBLE;
  numbers.components = 4;
  Valet_Attached_coordinates(attached, &numbers);
  require(refused(Valet_Attached_partition(attached, NULL, NULL), "an array of 4 values"),
          "four coordinates are not refused");
  give_numbers();
  Valet_Report report = Valet_Report_default();
  Valet_Rebalance_result result = Valet_Rebalance_result_default();
  if (rank == ranks - 1) report.struct_size = result.struct_size = 3;
  int changes = 4711;
  require(refused(Valet_Attached_partition(attached, &changes, &report), "Valet_Report_default()"),
          "a report of one rank without its size is not refused on all");
  require(changes == 4711 && Valet_Attached_count(attached) == count_of(rank), "something moved");
  require(Valet_Attached_result(attached, &result, NULL) ==
              (rank == ranks - 1 ? VALET_INVALID_ARGUMENT : VALET_SUCCESS),
          "a result without its size");
  require(Valet_Attached_set_count(attached, rank == 0 ? most + 1 : 0) == VALET_SUCCESS &&
              refused(Valet_Attached_partition(attached, NULL, NULL), "has 300 slots"),
          "more objects than slots are not refused");
  require(Valet_Attached_set_count(attached, count_of(rank)) == VALET_SUCCESS &&
              Valet_Attached_partition(attached, NULL, NULL) == VALET_SUCCESS,
          "a partition after errors");
  check_particles("particles after errors");
  end(zoltan);
}

/* Partitions and detaches where it must not. */
static void misuse(void* data, int gids, int lids, int imports, ZOLTAN_ID_PTR import_gids,
                   ZOLTAN_ID_PTR import_lids, int* import_procs, int* import_parts, int exports,
                   ZOLTAN_ID_PTR export_gids, ZOLTAN_ID_PTR export_lids, int* export_procs,
                   int* export_parts, int* error) {
  (void)gids, (void)lids, (void)imports, (void)import_gids, (void)import_lids, (void)import_procs;
  (void)import_parts, (void)exports, (void)export_gids, (void)export_lids, (void)export_procs;
  (void)export_parts;
  *error = ZOLTAN_OK;
  if (rank > 0) return;
  Valet_Attached* made = NULL;
  Valet_Storage* const storage = storage_of_particles();
  require(refused(Valet_Zoltan_attach(data, 0, storage, NULL, &made), "a callback of Zoltan's") &&
              refused(Valet_Attached_detach(attached), "a callback of Zoltan's"),
          "a callback that attaches or detaches is not refused");
  Valet_Storage_free(storage);
}

static void refuse_in_callbacks(void) {
  fill(most);
  struct Zoltan_Struct* const zoltan = begin("CYCLIC", NULL);
  Zoltan_Set_Pre_Migrate_PP_Fn(zoltan, misuse, zoltan);
  require(ranks == 1 || refused(Valet_Attached_partition(attached, NULL, NULL), "callback"),
          "misuse in a callback is not an error of all ranks");
  Zoltan_Set_Pre_Migrate_PP_Fn(zoltan, NULL, NULL);
  require(Valet_Attached_partition(attached, NULL, NULL) == VALET_SUCCESS,
          "a partition after that");
  check_particles("particles after misuse");
  end(zoltan);
}

int main(int argc, char** argv) {
  float version = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Zoltan_Initialize(argc, argv, &version);
  for (int by_zoltan = 0; by_zoltan < 2; ++by_zoltan) {
    check_layout("BLOCK", all() / (uint64_t)ranks, by_zoltan);
    check_layout("CYCLIC", 1, by_zoltan);
  }
  check_told_layouts();
  check_told_tiles();
  check_part_sizes();
  check_weights();
  check_parts();
  check_growth();
  check_ragged();
  refuse_attaching();
  refuse_handles_and_numbers();
  refuse_in_callbacks();
  free(particle);
  MPI_Finalize();
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
