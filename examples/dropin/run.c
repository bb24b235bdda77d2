/* SPDX-License-Identifier: BSD-3-Clause */

/* The rounds, and what they cost: the same for both programs. */

#include "mesh.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A line of /proc/self/status in bytes; 0 where there is none. */
static long long status_bytes(const char* key) {
  char line[256];
  long long kib = 0;
  FILE* file = fopen("/proc/self/status", "r");
  if (file == NULL) return 0;
  while (fgets(line, sizeof line, file) != NULL)
    if (strncmp(line, key, strlen(key)) == 0) kib = atoll(line + strlen(key) + 1);
  fclose(file);
  return kib * 1024;
}

/* The peak of the resident memory begins anew. */
static void reset_peak(void) {
  FILE* file = fopen("/proc/self/clear_refs", "w");
  malloc_trim(0);
  if (file == NULL) return;
  fputs("5", file);
  fclose(file);
}

static long long exported_bytes(const Mesh* mesh, const Lists* lists) {
  long long bytes = 0;
  int k;
  for (k = 0; k < lists->exports; ++k) bytes += cell_bytes(&mesh->cell[lists->export_lids[k]]);
  return bytes;
}

static int one_round(FILE* file, Mesh* mesh, struct Zoltan_Struct* zoltan, Migrate* migrate) {
  Lists lists;
  long long before, sent, peak;
  double start, seconds;
  int rank, code;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (Zoltan_LB_Partition(zoltan, &lists.changes, &lists.gids, &lists.lids, &lists.imports,
                          &lists.import_gids, &lists.import_lids, &lists.import_procs,
                          &lists.import_parts, &lists.exports, &lists.export_gids,
                          &lists.export_lids, &lists.export_procs, &lists.export_parts) < 0)
    return ZOLTAN_FATAL;
  sent = exported_bytes(mesh, &lists);
  reset_peak();
  before = status_bytes("VmRSS");
  MPI_Barrier(MPI_COMM_WORLD);
  start = MPI_Wtime();
  code = migrate(zoltan, &lists);
  seconds = MPI_Wtime() - start;
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  peak = status_bytes("VmHWM");
  malloc_trim(0); /* what the migration has given back is no data */
  fprintf(file, "%d,%d,%.6f,%lld,%lld,%lld,%lld\n", mesh->round, rank, seconds, sent, peak - before,
          before, status_bytes("VmRSS"));
  Zoltan_LB_Free_Part(&lists.import_gids, &lists.import_lids, &lists.import_procs,
                      &lists.import_parts);
  Zoltan_LB_Free_Part(&lists.export_gids, &lists.export_lids, &lists.export_procs,
                      &lists.export_parts);
  return code;
}

Arguments mesh_arguments(int argc, char** argv, const char* label) {
  Arguments arguments = {NULL, 500, 6, -1};
  int rank, help, version, wrong;
  char end = 0;
  const char* program = strrchr(argv[0], '/');
  program = program == NULL ? argv[0] : program + 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  help = argc > 1 && (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0);
  version = argc > 1 && strcmp(argv[1], "--version") == 0;
  arguments.label = argc > 1 ? argv[1] : label;
  wrong = argc > 4 || (argc > 2 && sscanf(argv[2], "%d%c", &arguments.side, &end) != 1) ||
          (argc > 3 && sscanf(argv[3], "%d%c", &arguments.rounds, &end) != 1);
  if (!help && !wrong && arguments.label[0] != '-' && arguments.side > 0 && arguments.rounds > 0)
    return arguments;
  arguments.code = help || version ? 0 : 2;
  if (rank == 0 && version)
    printf("%s (Valet) " EXAMPLE_VERSION "\n", program);
  else if (rank == 0)
    fprintf(
        help ? stdout : stderr,
        "Usage: %s [label [side [rounds]]]\n"
        "Migrates an unstructured mesh with a moving hot region, and writes <label>.<rank>.csv.\n"
        "  label   prefix of the output files (default: %s)\n"
        "  side    cells along a side of the square mesh, at least 1 (default: 500)\n"
        "  rounds  number of partitions and migrations, at least 1 (default: 6)\n",
        argv[0], label);
  return arguments;
}

int mesh_run(const Arguments* arguments, Mesh* mesh, struct Zoltan_Struct* zoltan,
             Migrate* migrate) {
  char path[512];
  FILE* file;
  int rank;
  int code = ZOLTAN_OK;
  const char* label = arguments->label;
  unsigned long long sum;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  snprintf(path, sizeof path, "%s.%d.csv", label, rank);
  file = fopen(path, "w");
  if (file == NULL) {
    fprintf(stderr, "cannot write %s\n", path);
    return ZOLTAN_FATAL;
  }
  fputs("round,rank,seconds,sent_bytes,peak_extra_bytes,resident_before,resident_after\n", file);
  for (mesh->round = 0; mesh->round < arguments->rounds && code >= 0; ++mesh->round)
    code = one_round(file, mesh, zoltan, migrate);
  fclose(file);
  sum = mesh_checksum(mesh);
  if (rank == 0) printf("%s: checksum %016llx\n", label, sum);
  return code;
}
