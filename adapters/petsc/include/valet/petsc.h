/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VALET_PETSC_H
#define VALET_PETSC_H

/**
 * @file
 * Particles of a PETSc DMSwarm, moved to their ranks in place. For C and C++, and PETSc 3.18 or
 * later: the application compiles this header against its own PETSc.
 */

#include <valet/valet.h>

#include <petscdmswarm.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/** @cond */
enum { VALET_PETSC_FIELDS = 64, VALET_PETSC_NAME_BYTES = 128, VALET_PETSC_TEXT_BYTES = 1024 };

typedef struct Valet_Petsc_swarm {
  DM dm;
  struct {
    int registered, listed; /* the same if all that PETSc prints was understood */
    size_t row_bytes[VALET_PETSC_FIELDS];
    char name[VALET_PETSC_FIELDS][VALET_PETSC_NAME_BYTES];
  } fields;
  int accessed; /* of the fields */
  PetscInt points, *ranks;
  Valet_Storage* storage;                  /* all fields but DMSwarm_rank */
  char error_text[VALET_PETSC_TEXT_BYTES]; /* PETSc's last one */
  PetscErrorCode (*realloc)(size_t, int, const char[], const char[], void**); /* PETSc's */
} Valet_Petsc_swarm;

/* The swarm under way, for functions that PETSc calls. */
static inline Valet_Petsc_swarm* valet_petsc_swarm(void) {
  static Valet_Petsc_swarm swarm;
  return &swarm;
}

/* In place of PETSc's output. With -history each line comes a second time. */
static inline PetscErrorCode valet_petsc_read(FILE* file, const char format[], va_list arguments) {
  Valet_Petsc_swarm* const swarm = valet_petsc_swarm();
  int* const listed = &swarm->fields.listed;
  char line[VALET_PETSC_TEXT_BYTES], name[VALET_PETSC_NAME_BYTES], *end = NULL;
  size_t row_bytes = 0;
  if (file != PETSC_STDOUT) return (PetscErrorCode)0;
  PetscCall(PetscVSNPrintf(line, sizeof line, format, NULL, arguments));
  if (sscanf(line, " [%*d] %127[^\n]", name) == 1) end = strstr(name, " : Mem. usage");
  if (end != NULL && *listed < VALET_PETSC_FIELDS) {
    *end = 0;
    memcpy(swarm->fields.name[(*listed)++], name, sizeof name);
  } else if (sscanf(line, " atomic size = %zu", &row_bytes) == 1 && *listed > 0) {
    swarm->fields.row_bytes[*listed - 1] = row_bytes;
  } else {
    (void)sscanf(line, " nfields registered = %d", &swarm->fields.registered);
  }
  return (PetscErrorCode)0;
}

/* In place of PETSc's, which forgets the rows of a field that it cannot enlarge. */
static inline PetscErrorCode valet_petsc_realloc(size_t bytes, int line, const char function[],
                                                 const char file[], void** memory) {
  void* const before = *memory;
  const PetscErrorCode error = valet_petsc_swarm()->realloc(bytes, line, function, file, memory);
  if (error && *memory == NULL) *memory = before;
  return error;
}

/* In place of PETSc's, which prints: all ranks are told first. */
static inline PetscErrorCode valet_petsc_error(MPI_Comm comm, int line, const char* function,
                                               const char* file, PetscErrorCode code,
                                               PetscErrorType type, const char* text, void* kept) {
  (void)comm, (void)line, (void)function, (void)file;
  if (type == PETSC_ERROR_INITIAL && text != NULL)
    (void)snprintf((char*)kept, VALET_PETSC_TEXT_BYTES, "%s", text);
  return code;
}

/* The error of some rank, on all of them. */
static inline PetscErrorCode valet_petsc_agree(MPI_Comm comm, PetscErrorCode error,
                                               Valet_Petsc_swarm* swarm) {
  int worst = (int)error;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_INT, MPI_MAX, comm));
  if (worst && !error)
    (void)snprintf(swarm->error_text, VALET_PETSC_TEXT_BYTES,
                   "PETSc has failed on another rank, whose message says why");
  return (PetscErrorCode)worst;
}

/* No version of PETSc has a function that lists the fields of a swarm or tells the size of a
 * struct. DMView() prints both, on rank 0, in the same words from 3.18 to 3.25. */
static inline PetscErrorCode valet_petsc_list(Valet_Petsc_swarm* swarm, MPI_Comm comm) {
  PetscErrorCode (*const print)(FILE*, const char[], va_list) = PetscVFPrintf;
  PetscViewer viewer;
  PetscErrorCode error;
  swarm->fields.registered = -1;
  PetscCall(PetscViewerASCIIGetStdout(comm, &viewer));
  PetscCall(PetscViewerPushFormat(viewer, PETSC_VIEWER_ASCII_INFO_DETAIL));
  PetscVFPrintf = valet_petsc_read;
  error = DMView(swarm->dm, viewer);
  PetscVFPrintf = print;
  PetscCall(PetscViewerPopFormat(viewer));
  PetscCall(valet_petsc_agree(comm, error, swarm));
  PetscCallMPI(MPI_Bcast(&swarm->fields, (int)sizeof swarm->fields, MPI_BYTE, 0, comm));
  PetscCheck(swarm->fields.registered == swarm->fields.listed, comm, PETSC_ERR_SUP,
             "Valet knows %d of the %d fields that DMView() prints: it moves up to %d, with names "
             "of up to 100 characters",
             swarm->fields.listed, swarm->fields.registered, (int)VALET_PETSC_FIELDS);
  return (PetscErrorCode)0;
}

static inline void valet_petsc_close(Valet_Petsc_swarm* swarm) {
  while (swarm->accessed > 0)
    (void)DMSwarmRestoreField(swarm->dm, swarm->fields.name[--swarm->accessed], NULL, NULL, NULL);
  Valet_Storage_free(swarm->storage);
  swarm->storage = NULL;
}

/* Without memory for a text: a storage that does not exist is refused as well. */
static inline void valet_petsc_refuse(Valet_Petsc_swarm* swarm) {
  if (Valet_Storage_refuse(swarm->storage, swarm->error_text) == VALET_SUCCESS) return;
  Valet_Storage_free(swarm->storage);
  swarm->storage = NULL;
}

/* Goes on after an error of this rank. */
static inline PetscErrorCode valet_petsc_open(Valet_Petsc_swarm* swarm, PetscErrorCode error) {
  swarm->storage = Valet_Storage_create();
  PetscCall(error);
  PetscCall(DMSwarmGetLocalSize(swarm->dm, &swarm->points));
  PetscCheck(swarm->points >= 0, PETSC_COMM_SELF, PETSC_ERR_ORDER,
             "Local sizes must be set via DMSwarmSetLocalSizes()");
  for (int f = 0; f < swarm->fields.listed; ++f) {
    const char* const name = swarm->fields.name[f];
    const size_t row_bytes = swarm->fields.row_bytes[f];
    size_t bytes = 0;
    void* rows = NULL;
    PetscInt entries;
    PetscDataType type;
    PetscCall(DMSwarmGetField(swarm->dm, name, &entries, &type, &rows));
    ++swarm->accessed;
    if (type != PETSC_STRUCT && type != PETSC_DATATYPE_UNKNOWN)
      PetscCall(PetscDataTypeGetSize(type, &bytes));
    bytes *= (size_t)entries;
    PetscCheck(
        bytes == 0 || bytes == row_bytes, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
        "Field %s has %zu bytes per point here, and %zu on rank 0; register the same on all ranks",
        name, bytes, row_bytes);
    if (strcmp(name, DMSwarmField_rank) == 0)
      swarm->ranks = (PetscInt*)rows;
    else if (row_bytes > 0)
      PetscCheck(Valet_Storage_add_field(swarm->storage, rows, (uint64_t)swarm->points, row_bytes,
                                         (ptrdiff_t)row_bytes, name) == VALET_SUCCESS,
                 PETSC_COMM_SELF, PETSC_ERR_MEM, "No memory to describe field %s", name);
  }
  for (PetscInt k = 0; k < swarm->points; ++k)
    PetscCheck((int)swarm->ranks[k] == swarm->ranks[k], PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "%s of point %" PetscInt_FMT " is no rank", DMSwarmField_rank, k);
  return (PetscErrorCode)0;
}

/* Not to more than a PetscInt counts: Valet then refuses to move. */
static inline PetscErrorCode valet_petsc_grow(Valet_Petsc_swarm* swarm, uint64_t points) {
  const PetscInt after = (PetscInt)points, before = swarm->points;
  PetscErrorCode error;
  if (after <= before) return (PetscErrorCode)0;
  valet_petsc_close(swarm);
  swarm->realloc = PetscTrRealloc;
  PetscTrRealloc = valet_petsc_realloc;
  error = DMSwarmAddNPoints(swarm->dm, after - before);
  PetscTrRealloc = swarm->realloc;
  if (error)
    (void)snprintf(swarm->error_text, VALET_PETSC_TEXT_BYTES,
                   "PETSc has no memory to enlarge the swarm to %" PetscInt_FMT " points", after);
  return valet_petsc_open(swarm, error);
}

/* The points that remain are the first ones, all at their rank. */
static inline PetscErrorCode valet_petsc_settle(DM dm, PetscInt points, int rank) {
  void* ranks = NULL;
  PetscCall(DMSwarmSetLocalSizes(dm, points, -1));
  PetscCall(DMSwarmGetField(dm, DMSwarmField_rank, NULL, NULL, &ranks));
  for (PetscInt k = 0; k < points; ++k) ((PetscInt*)ranks)[k] = rank;
  return DMSwarmRestoreField(dm, DMSwarmField_rank, NULL, NULL, &ranks);
}

/* Given the error of this rank so far, returns one of all ranks. */
static inline PetscErrorCode valet_petsc_move(Valet_Petsc_swarm* swarm, MPI_Comm comm,
                                              PetscErrorCode error, const Valet_Options* options,
                                              Valet_Report* report) {
  Valet_Plan* plan = NULL;
  PetscInt before, k;
  int rank = 0, code, to = 0;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  error = valet_petsc_open(swarm, error);
  if (error) valet_petsc_refuse(swarm);
  before = error ? 0 : swarm->points;
  /* As int, in the memory of the field, and back: a PetscInt may have 64 bits. */
  for (k = 0; k < before; ++k) {
    to = (int)swarm->ranks[k];
    memcpy((int*)(void*)swarm->ranks + k, &to, sizeof to);
  }
  code = Valet_Plan_to_ranks(comm, swarm->storage, (uint64_t)before, NULL,
                             (const int*)(void*)swarm->ranks, options, &plan);
  while (k-- > 0) {
    memcpy(&to, (int*)(void*)swarm->ranks + k, sizeof to);
    swarm->ranks[k] = to;
  }
  if (code == VALET_SUCCESS) {
    const uint64_t points = Valet_Plan_required_slots(plan);
    if (points > (uint64_t)before && valet_petsc_grow(swarm, points)) valet_petsc_refuse(swarm);
    code = Valet_Execute(plan, swarm->storage, report);
  }
  valet_petsc_close(swarm);
  if (code == VALET_SUCCESS || code == VALET_CORRUPTED || code == VALET_CALLBACK_FAILED)
    error = valet_petsc_agree(
        comm, valet_petsc_settle(swarm->dm, (PetscInt)Valet_Plan_blocks_after(plan), rank), swarm);
  else /* not by DMSwarmSetLocalSizes(), which sets DMSwarm_rank from 3.23 on */
    for (; plan != NULL && swarm->points > before; --swarm->points)
      (void)DMSwarmRemovePoint(swarm->dm);
  Valet_Plan_free(plan);
  if (code == VALET_SUCCESS) return error;
  (void)snprintf(swarm->error_text, VALET_PETSC_TEXT_BYTES, "%s", Valet_Error_message());
  return PETSC_ERR_LIB;
}
/** @endcond */

/** @ingroup adapters
 * Moves the points of a swarm to the ranks that its field DMSwarm_rank names, in place: what
 * DMSwarmMigrate(swarm, PETSC_TRUE) does for a swarm of type DMSWARM_BASIC, but for the order of
 * the points, which is that of Valet_Options::order. Collective over the swarm's communicator,
 * blocking.
 *
 * A DMSWARM_PIC moves by DMSwarm_rank, too: the cells and ranks of its points must be known. During
 * the call no field may be accessed; afterwards pointers to fields are invalid.
 * @param dm       A DMSWARM, of at most 64 fields.
 * @param options  NULL for the defaults.
 * @param report   NULL, or receives the report of this rank.
 * @return 0, or an error that all ranks raise. Nothing has moved unless the text says so.
 *         PETSC_ERR_SUP: too many fields. PETSC_ERR_LIB, with the text of Valet: a field that is
 *         accessed or differs between ranks, local sizes that are not set, a rank that does not
 *         exist, memory that the system refuses, and what valet::execute() throws.
 *
 * Memory beyond the swarm: budget + 64 KiB + 256*neighbours + c*points bytes, where c = 8 or as for
 * valet::execute(), for the most points before or after. Where PETSc cannot enlarge a field in
 * place, it takes a second copy of this field for a time. */
static inline PetscErrorCode ValetDMSwarmMigrate(DM dm, const Valet_Options* options,
                                                 Valet_Report* report) {
  Valet_Petsc_swarm* const swarm = valet_petsc_swarm();
  PetscBool is_swarm = PETSC_FALSE;
  PetscErrorCode error, set_up;
  MPI_Comm comm;
  PetscFunctionBegin;
  PetscCheck(dm != NULL, PETSC_COMM_SELF, PETSC_ERR_ARG_NULL, "The DM is NULL");
  PetscCall(PetscObjectGetComm((PetscObject)dm, &comm));
  PetscCall(PetscObjectTypeCompare((PetscObject)dm, DMSWARM, &is_swarm));
  PetscCheck(is_swarm, comm, PETSC_ERR_ARG_WRONG, "A DM of type " DMSWARM " is needed");
  memset(swarm, 0, sizeof *swarm);
  swarm->dm = dm;
  PetscCall(PetscPushErrorHandler(valet_petsc_error, swarm->error_text));
  set_up = DMSetUp(dm);
  error = valet_petsc_list(swarm, comm);
  if (!error) error = valet_petsc_move(swarm, comm, set_up, options, report);
  PetscCall(PetscPopErrorHandler());
  PetscCheck(!error, comm, error, "%s", swarm->error_text);
  PetscCall(DMClearGlobalVectors(dm));
  PetscFunctionReturn((PetscErrorCode)0);
}

#endif
