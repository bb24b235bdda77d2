// SPDX-License-Identifier: BSD-3-Clause

// A program that knows nothing of Valet, for which libvalet_mpi.so serves all-to-alls in place: the
// results are those of MPI out of place, from a copy.

#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char* what, unsigned long long seed, long number) {
  fprintf(stderr, "%s: VALET_TEST_SEED=%llu, case %ld\n", what, seed, number);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static unsigned long long from_environment(const char* name, unsigned long long otherwise) {
  const char* const text = getenv(name);
  return text != NULL && *text != '\0' ? strtoull(text, NULL, 0) : otherwise;
}

// splitmix64: below `limit`.
static unsigned long long draw(unsigned long long* state, unsigned long long limit) {
  unsigned long long z = (*state += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return (z ^ (z >> 31)) % limit;
}

// All of integers but the first: with and without holes, out of order, away from their address,
// large.
enum { type_count = 12, large = 2000 };
static MPI_Datatype types[type_count];
static const int integers_of[type_count] = {0, 1, 3, 2, 1, 2, 1, 1, large, large, large, 3};

static void make_types(void) {
  const int ones[2] = {1, 1};
  const MPI_Aint backwards[2] = {4, 0}, behind[1] = {4}, before[1] = {-4};
  MPI_Datatype back, reversed;
  types[0] = MPI_BYTE;
  types[1] = MPI_INT;
  MPI_Type_contiguous(3, MPI_INT, &types[2]);
  MPI_Type_vector(2, 1, 2, MPI_INT, &types[3]);
  MPI_Type_create_resized(MPI_INT, 0, 12, &types[4]);
  MPI_Type_create_hindexed(2, ones, backwards, MPI_INT, &types[5]);
  MPI_Type_create_hindexed_block(1, 1, behind, MPI_INT, &types[6]);
  MPI_Type_create_hindexed_block(1, 1, before, MPI_INT, &types[7]);
  MPI_Type_contiguous(large, MPI_INT, &types[8]);
  MPI_Type_vector(large, 1, 3, MPI_INT, &types[9]);
  MPI_Type_create_resized(MPI_INT, 0, -4, &back);
  MPI_Type_contiguous(large, back, &reversed);
  MPI_Type_create_resized(reversed, 4 - 4 * large, 4 * large, &types[10]);
  MPI_Type_dup(types[2], &types[11]);
  MPI_Type_free(&back);
  MPI_Type_free(&reversed);
  for (int k = 2; k < type_count; ++k) MPI_Type_commit(&types[k]);
}

// One call, and what every rank has of it.
struct call {
  MPI_Comm comm;
  int rank, size, function, is_bytes;
  unsigned long long all, own;  // states: the same on all ranks, and this rank's
  int *counts, *displacements;
  MPI_Datatype* with;
  unsigned char *buffer, *copy, *expected;
  size_t bytes;
};

// What two ranks have for each other: integers, or bytes. The same for both.
static int amount(const struct call* c, int partner, int step, int most) {
  const int low = partner < c->rank ? partner : c->rank, high = low ^ partner ^ c->rank;
  unsigned long long state = c->all ^ (unsigned long long)(low * 4099 + high + 1) * 77777;
  if (c->function == 0) state = c->all;
  return step * (int)draw(&state, (unsigned long long)most + 1);
}

static MPI_Datatype choose_type(struct call* c, int step) {
  if (c->is_bytes) return types[0];
  return types[1 + draw(&c->own, step == 6 ? 7 : type_count - 1)];
}

static int integers(MPI_Datatype type) {
  for (int k = 1; k < type_count; ++k)
    if (types[k] == type) return integers_of[k];
  return 1;
}

// Segments in any order, with gaps, in bytes from a place that allows for types before theirs.
static void place(struct call* c, int step, int most) {
  const int margin = 4 * 4 * large;
  int* const order = malloc((size_t)c->size * sizeof *order);
  const MPI_Datatype one = choose_type(c, step);
  for (int r = 0; r < c->size; ++r) order[r] = r;
  for (int r = c->size - 1; r > 0 && c->function != 0; --r) {
    const int other = (int)draw(&c->own, (unsigned long long)r + 1), kept = order[r];
    order[r] = order[other];
    order[other] = kept;
  }
  MPI_Aint at = margin;
  for (int k = 0; k < c->size; ++k) {
    const int r = order[k];
    MPI_Aint lower, extent, first, span;
    c->with[r] = c->function == 2 ? choose_type(c, step) : one;
    c->counts[r] = amount(c, r, step, most) / integers(c->with[r]);
    MPI_Type_get_extent(c->with[r], &lower, &extent);
    MPI_Type_get_true_extent(c->with[r], &first, &span);
    // Those of MPI_Alltoallv are multiples of the extent, from `margin` on.
    const MPI_Aint unit = c->function == 2 ? 1 : extent;
    at += unit * (MPI_Aint)draw(&c->own, 3);
    if (c->function == 2) at = (at + span + 16) / 4 * 4;
    c->displacements[r] = (int)((at - (c->function == 2 ? 0 : margin)) / unit);
    at += extent * c->counts[r] + (c->function == 2 ? span : 0);
  }
  c->bytes = (size_t)(at + margin);
  free(order);
}

static int exchange(const struct call* c, const void* from, void* to) {
  unsigned char* const base = (unsigned char*)to + (c->function == 2 ? 0 : 4 * 4 * large);
  const unsigned char* source = from;
  if (from != MPI_IN_PLACE && c->function != 2) source += 4 * 4 * large;
  switch (c->function) {
    case 0:
      return MPI_Alltoall(source, c->counts[0], c->with[0], base, c->counts[0], c->with[0],
                          c->comm);
    case 1:
      return MPI_Alltoallv(source, c->counts, c->displacements, c->with[0], base, c->counts,
                           c->displacements, c->with[0], c->comm);
    default:
      return MPI_Alltoallw(source, c->counts, c->displacements, c->with, base, c->counts,
                           c->displacements, c->with, c->comm);
  }
}

static void run_case(MPI_Comm comm, unsigned long long seed, long number) {
  struct call c = {.comm = comm, .all = seed + (unsigned long long)number * 1000003};
  MPI_Comm_rank(comm, &c.rank);
  MPI_Comm_size(comm, &c.size);
  const size_t ranks = (size_t)c.size;
  // Of one rank Open MPI 4.1 takes displacements of MPI_Alltoallw for elements.
  c.function = (int)draw(&c.all, c.size == 1 ? 2 : 3);
  c.is_bytes = draw(&c.all, 4) == 0;
  // Small segments, such of large types, and some of many chunks.
  const int kind = (int)draw(&c.all, 8), step = kind < 5 ? 6 : 3 * large;
  const int most = kind < 5 ? 20 : kind < 7 ? 3 : 40;
  c.own = c.all + (unsigned long long)c.rank;
  c.counts = malloc(ranks * sizeof *c.counts);
  c.displacements = malloc(ranks * sizeof *c.displacements);
  c.with = malloc(ranks * sizeof(MPI_Datatype));
  place(&c, step, most);
  c.buffer = malloc(3 * c.bytes);
  c.copy = c.buffer + c.bytes;
  c.expected = c.copy + c.bytes;
  for (size_t k = 0; k < c.bytes; ++k) c.buffer[k] = (unsigned char)draw(&c.own, 256);
  memcpy(c.copy, c.buffer, c.bytes);
  memcpy(c.expected, c.buffer, c.bytes);
  if (exchange(&c, c.copy, c.expected) != MPI_SUCCESS ||
      exchange(&c, MPI_IN_PLACE, c.buffer) != MPI_SUCCESS)
    fail("a call fails", seed, number);
  if (memcmp(c.buffer, c.expected, c.bytes) != 0) fail("another result", seed, number);
  free(c.buffer);
  free(c.counts);
  free(c.displacements);
  free(c.with);
}

enum { comm_count = 6 };
static void make_communicators(MPI_Comm comms[comm_count]) {
  int rank, size, dimensions[2] = {0, 0};
  const int periods[2] = {0, 1};
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  comms[0] = MPI_COMM_WORLD;
  comms[1] = MPI_COMM_SELF;
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[2]);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &comms[3]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[4]);
  MPI_Dims_create(size, 2, dimensions);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dimensions, periods, 0, &comms[5]);
}

static void test_random(unsigned long long seed) {
  const long cases = (long)from_environment("VALET_TEST_CASES", 150);
  MPI_Comm comms[comm_count];
  make_communicators(comms);
  for (long k = 0; k < cases; ++k) {
    unsigned long long state = seed + (unsigned long long)k;
    run_case(comms[draw(&state, comm_count)], seed, k);
    // Communicators come and go, with what hangs on them.
    if (k % 50 == 49) {
      for (int c = 2; c < comm_count; ++c) MPI_Comm_free(&comms[c]);
      make_communicators(comms);
    }
  }
  for (int c = 2; c < comm_count; ++c) MPI_Comm_free(&comms[c]);
}

// Both groups of an intercommunicator send one number to each rank of the other.
static void test_intercommunicator(void) {
  int rank, size, remote;
  MPI_Comm half, both;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size == 1) return;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &both);
  MPI_Comm_remote_size(both, &remote);
  int* const sent = malloc(2 * (size_t)remote * sizeof *sent);
  for (int k = 0; k < remote; ++k) sent[k] = rank;
  MPI_Alltoall(sent, 1, MPI_INT, sent + remote, 1, MPI_INT, both);
  for (int k = 0; k < remote; ++k)
    if (sent[remote + k] != 2 * k + 1 - rank % 2) fail("intercommunicator", 0, k);
  free(sent);
  MPI_Comm_free(&both);
  MPI_Comm_free(&half);
}

struct thread {
  MPI_Comm comm;
  unsigned long long seed;
};
static void* run_thread(void* argument) {
  const struct thread* const thread = argument;
  for (long k = 0; k < 20; ++k) run_case(thread->comm, thread->seed, k);
  return NULL;
}
static void test_threads(unsigned long long seed) {
  struct thread two[2] = {{MPI_COMM_NULL, seed + 1}, {MPI_COMM_NULL, seed + 2}};
  pthread_t other;
  for (int k = 0; k < 2; ++k) MPI_Comm_dup(MPI_COMM_WORLD, &two[k].comm);
  pthread_create(&other, NULL, run_thread, &two[0]);
  run_thread(&two[1]);
  pthread_join(other, NULL);
  for (int k = 0; k < 2; ++k) MPI_Comm_free(&two[k].comm);
}

static int told;
static void tell(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  (void)code;
  ++told;
}
static void expect_error(int code, int expected, const char* what) {
  int class = MPI_SUCCESS;
  MPI_Error_class(code, &class);
  if (class != expected || told != 1) {
    fprintf(stderr, "class %d, not %d; the handler was called %d times; ", class, expected, told);
    fail(what, 0, 0);
  }
  told = 0;
}
static void test_errors(void) {
  int rank, size, *const counts = calloc(64, sizeof(int)), *const at = calloc(64, sizeof(int));
  int data[256] = {0};
  MPI_Comm comm;
  MPI_Errhandler handler;
  MPI_Datatype uncommitted;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Comm_create_errhandler(tell, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  MPI_Type_contiguous(2, MPI_INT, &uncommitted);
  expect_error(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, data, -1, MPI_INT, comm), MPI_ERR_COUNT,
               "a count below 0");
  expect_error(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, data, 1, MPI_DATATYPE_NULL, comm),
               MPI_ERR_TYPE, "no type");
  expect_error(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, data, 1, uncommitted, comm), MPI_ERR_TYPE,
               "a type that is not committed");
  counts[size - 1] = -1;
  expect_error(MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_INT, data, counts, at, MPI_INT, comm),
               MPI_ERR_COUNT, "one count below 0");
#ifdef OPEN_MPI
  // Rank 0 sends more than the last one expects: that is found while the data move. MPICH ends the
  // job for an error in MPI_Wait, whatever the communicator's handler.
  counts[size - 1] = rank == 0 ? 2 : 0;
  counts[0] = size > 1 && rank == size - 1 ? 1 : 0;
  const int code =
      MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_INT, data, counts, at, MPI_INT, comm);
  if (size > 1 && rank == size - 1) expect_error(code, MPI_ERR_TRUNCATE, "too much");
#else
  (void)rank;
#endif
  MPI_Type_free(&uncommitted);
  MPI_Errhandler_free(&handler);
  free(counts);
  free(at);
}

// A value of /proc/self/status in bytes.
static long long status_bytes(const char* name) {
  char line[256];
  long long kibibytes = -1;
  FILE* const file = fopen("/proc/self/status", "r");
  while (file != NULL && kibibytes < 0 && fgets(line, sizeof line, file) != NULL)
    if (strncmp(line, name, strlen(name)) == 0) kibibytes = atoll(line + strlen(name) + 1);
  if (file != NULL) fclose(file);
  return kibibytes * 1024;
}

// With VALET_ALLTOALL_MEMORY=1M: MPI itself would take a segment, 8 MiB or more.
static void test_memory(void) {
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const size_t segment = (size_t)8 << 20, bytes = segment * (size_t)size;
  char* const data = malloc(bytes);
  memset(data, 1, bytes);
  // Has MPI make its connections.
  MPI_Alltoall(MPI_IN_PLACE, 0, MPI_CHAR, data, 256 * 1024, MPI_CHAR, MPI_COMM_WORLD);
  const long long before = status_bytes("VmRSS");
  FILE* const peak = fopen("/proc/self/clear_refs", "w");
  const int is_cleared = peak != NULL && fputs("5", peak) >= 0;
  if (peak != NULL && fclose(peak) == 0 && is_cleared) {
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_CHAR, data, (int)segment, MPI_CHAR, MPI_COMM_WORLD);
    const long long more = status_bytes("VmHWM") - before;
    if (size > 1 && more > (3 << 20)) fail("memory", (unsigned long long)more, size);
  }
  free(data);
}

int main(int argc, char** argv) {
  int provided, rank;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const unsigned long long seed = from_environment("VALET_TEST_SEED", 20260101);
  if (rank == 0) printf("VALET_TEST_SEED=%llu\n", seed);
  make_types();
  test_memory();
  test_intercommunicator();
  test_random(seed);
  if (provided == MPI_THREAD_MULTIPLE) test_threads(seed);
  test_errors();
  for (int k = 2; k < type_count; ++k) MPI_Type_free(&types[k]);
  MPI_Finalize();
  return 0;
}
