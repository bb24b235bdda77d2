// SPDX-License-Identifier: BSD-3-Clause

// The snippets of the adapters' group of the API reference, word for word, with what they need
// around them, and those of dropin.c. Kokkos is initialised by readme_views_test.cpp.

#include "reference_zoltan.h"

#include "test_comm.hpp"
#include <valet/plan.hpp>
#include <valet/zoltan/attached.hpp>
#include <valet/zoltan/rebalancer.hpp>

#include <Kokkos_Core.hpp>

#include <cstdlib>
#include <numeric>

namespace {

using valet::test::size;
using valet::test::sum_over_ranks;

int next() { return (valet::test::rank() + 1) % size(); }
int previous() { return (valet::test::rank() + size() - 1) % size(); }

struct Cell {
  double work = 1;
  int kind = 0;
};

TEST(Reference, PartitionsInTwoSteps) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  const int rank = valet::test::rank();
  const std::uint64_t capacity = 400;
  std::uint64_t count = rank == 0 ? 200 : 0;
  Kokkos::View<double* [3]> position("position", capacity);
  Kokkos::View<double* [3]> velocity("velocity", capacity);
  Kokkos::View<int*> id("id", capacity), part("part", capacity);
  std::vector<Cell> cells(capacity);
  for (std::uint64_t s = 0; s < count; ++s) {
    position(s, 0) = static_cast<double>(s);
    id(s) = static_cast<int>(s);
  }
  testing::internal::CaptureStdout();

  // Two parts for each rank, names for query functions, and a weight out of an array of structures.
  valet::zoltan::Rebalancer halves(comm,
                                   {.method = "RCB", .parameters = {{"NUM_LOCAL_PARTS", "2"}}});
  halves.coordinates(valet::ref(position));
  halves.global_ids(valet::ref(id));
  halves.weights([&] {
    valet::zoltan::Columns columns;
    columns.column[0] = valet::zoltan::column(&cells[0].work, sizeof(Cell));
    columns.size = 1;
    columns.slots = cells.size();
    return columns;
  });

  // The partition, looked at and changed before it is carried out.
  valet::zoltan::Partition partition = halves.partition(count);
  for (std::uint64_t s = 0; s < count; ++s) part(s) = partition.parts()[s];
  if (count > 0) partition.ranks()[0] = rank;  // this rank keeps its first object
  halves.evaluate(partition);
  if (partition.after().weight > 1.5 && rank == 0) std::cerr << "out of balance\n";
  std::cout << partition.required_slots() << " slots, " << partition.seconds() << " s\n";
  count = halves.migrate(std::move(partition), position, id, part).count;

  // From now on by the number of objects alone.
  halves.no_weights();

  EXPECT_NE(testing::internal::GetCapturedStdout().find(" slots, "), std::string::npos);
  EXPECT_EQ(halves.partition(count).count(), count);
  long long wrong = 0;
  for (std::uint64_t s = 0; s < count; ++s) {
    wrong += position(s, 0) != id(s);
    wrong += part(s) / 2 != rank && id(s) != 0;
  }
  EXPECT_EQ(sum_over_ranks(wrong), 0);
  EXPECT_EQ(sum_over_ranks(static_cast<long long>(count)), 200);

  valet::BlockStorage particles = valet::kokkos::blocks(position, velocity, id);

  // Always by kernels and staging memory, as where managed memory would migrate page by page.
  valet::BlockStorage managed = valet::kokkos::staged_blocks(position, velocity, id);

  // Tiles of 8 rows of each kind: row s is row s % 8 of tile s / 8.
  Kokkos::View<double* [8], Kokkos::LayoutRight> charge("charge", capacity / 8);
  valet::BlockStorage tiles = valet::kokkos::blocks(valet::kokkos::tiled(charge, capacity));
  EXPECT_EQ(tiles.slots(), capacity);
  EXPECT_EQ(managed.block_bytes(), particles.block_bytes());
  count = valet::migrate(comm, managed, count, std::vector<int>(count, next())).blocks_after;
  EXPECT_EQ(sum_over_ranks(static_cast<long long>(count)), 200);
}

TEST(ReferenceInC, PartitionsAttachedArrays) {
  const std::uint64_t slots = 400;
  const std::uint64_t count = valet::test::rank() == 0 ? 200 : 0;
  std::vector<double> position(3 * slots);
  std::vector<float> work(slots, 1);
  for (std::size_t s = 0; s < count; ++s) position[3 * s] = static_cast<double>(s);
  Zoltan_Struct* zoltan = Zoltan_Create(MPI_COMM_WORLD);
  Zoltan_Set_Param(zoltan, "DEBUG_LEVEL", "0");
  Valet_Storage* storage = Valet_Storage_create();
  Valet_Storage_add_field(storage, position.data(), slots, 24, 24, "position");
  Valet_Storage_add_field(storage, work.data(), slots, 4, 4, "work");

  const std::uint64_t now =
      partitioned(zoltan, storage, count, slots, position.data(), work.data());

  Valet_Storage_free(storage);
  Zoltan_Destroy(&zoltan);
  EXPECT_EQ(sum_over_ranks(static_cast<long long>(now)), 200);
  EXPECT_LT(now * static_cast<std::uint64_t>(size()), 260);
}

TEST(Reference, TellsWhatIsAttached) {
  std::uint64_t sent = 0;
  std::vector<int> id(210), part(210, valet::test::rank());
  std::iota(id.begin(), id.end(), 0);
  const std::uint64_t count = valet::test::rank() == 0 ? id.size() : 0;
  Zoltan_Struct* zz = Zoltan_Create(MPI_COMM_WORLD);
  Zoltan_Set_Param(zz, "DEBUG_LEVEL", "0");
  Valet_Set_Param(zz, "LB_METHOD", "CYCLIC");

  // Ids, which graphs need, and parts; the layout that dealing leaves, until the application itself
  // puts rows elsewhere; what the last call did; other arrays.
  valet::zoltan::Attached objects(zz, count, valet::ref(id));
  objects.ids(valet::array_columns(valet::ref(id), 1)).parts(valet::ref(part));
  if (objects.partition() && objects.layout()) sent = objects.result().report.blocks_sent;
  objects.forget_layout();
  objects.storage({valet::field(id, 1, "id")});

  EXPECT_EQ(objects.count(), 210 / static_cast<std::uint64_t>(size()));
  EXPECT_EQ(sum_over_ranks(static_cast<long long>(sent)), 210 - 210 / size());
  EXPECT_FALSE(objects.layout());
  Zoltan_Destroy(&zz);
}

// Rank 0 has all objects, so that the others must make room for theirs.
TEST(ReferenceInC, DealsIntoArraysThatGrow) {
  const std::uint64_t count = valet::test::rank() == 0 ? 210 : 0;
  room mine = {nullptr, static_cast<int*>(std::malloc((count + 1) * sizeof(int)))};
  std::iota(mine.id, mine.id + count, 0);
  Zoltan_Struct* zoltan = Zoltan_Create(MPI_COMM_WORLD);
  Zoltan_Set_Param(zoltan, "DEBUG_LEVEL", "0");
  Valet_Storage* storage = Valet_Storage_create();
  Valet_Storage_add_field(storage, mine.id, count, 4, 4, "id");

  const std::uint64_t now = dealt(zoltan, storage, count, count, &mine);

  Valet_Storage_free(storage);
  Zoltan_Destroy(&zoltan);
  EXPECT_EQ(now, 210 / static_cast<std::uint64_t>(size()));
  long long wrong = 0;
  for (std::uint64_t s = 0; s < now; ++s)
    wrong += mine.id[s] != valet::test::rank() + static_cast<int>(s) * size();
  std::free(mine.id);
  EXPECT_EQ(sum_over_ranks(wrong), 0);
}

TEST(ReferenceInC, MovesByLists) {
  const auto first = static_cast<ZOLTAN_ID_TYPE>(10 * valet::test::rank());
  std::vector<ZOLTAN_ID_TYPE> ids(10);
  for (ZOLTAN_ID_TYPE k = 0; k < 10; ++k) ids[k] = first + k;
  const std::vector<ZOLTAN_ID_TYPE> gids = ids;
  const std::vector<int> procs(10, next());
  Valet_Storage* storage = Valet_Storage_create();
  Valet_Storage_add_field(storage, ids.data(), 10, sizeof ids[0], sizeof ids[0], "id");

  EXPECT_EQ(moved_by_lists(MPI_COMM_WORLD, storage, 10, first, 10, gids.data(), procs.data()), 10);

  Valet_Storage_free(storage);
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(ids[0], static_cast<ZOLTAN_ID_TYPE>(10 * previous()));
}

TEST(ReferenceInC, PartitionsAttachedStorageInAnyLinkOrder) {
  std::vector<int> id(200);
  std::iota(id.begin(), id.end(), 0);
  const std::uint64_t count = valet::test::rank() == 0 ? id.size() : 0;
  Zoltan_Struct* zoltan = Zoltan_Create(MPI_COMM_WORLD);
  Valet_Set_Param(zoltan, "DEBUG_LEVEL", "0");
  Valet_Set_Param(zoltan, "LB_METHOD", "BLOCK");
  const valet::zoltan::Attached objects(zoltan, count, valet::ref(id));

  EXPECT_EQ(partitioned_twice(zoltan), size() > 1 ? 2 : 0);

  EXPECT_EQ(sum_over_ranks(static_cast<long long>(objects.count())), 200);
  EXPECT_LE(valet::test::max_over_ranks(static_cast<long long>(objects.count())), 200 / size() + 1);
  Zoltan_Destroy(&zoltan);
}

// Objects that are numbers, in a list that is the mesh.
using Mesh = std::vector<ZOLTAN_ID_TYPE>;

int object_size(void*, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int* error) {
  *error = ZOLTAN_OK;
  return sizeof(ZOLTAN_ID_TYPE);
}

void pack_object(void*, int, int, ZOLTAN_ID_PTR gid, ZOLTAN_ID_PTR, int, int, char* packed,
                 int* error) {
  std::memcpy(packed, gid, sizeof(ZOLTAN_ID_TYPE));
  *error = ZOLTAN_OK;
}

void unpack_object(void* mesh, int, ZOLTAN_ID_PTR, int, char* packed, int* error) {
  ZOLTAN_ID_TYPE number = 0;
  std::memcpy(&number, packed, sizeof number);
  static_cast<Mesh*>(mesh)->push_back(number);
  *error = ZOLTAN_OK;
}

void free_object(void* mesh, int, int, ZOLTAN_ID_PTR gid, ZOLTAN_ID_PTR, int* error) {
  Mesh& numbers = *static_cast<Mesh*>(mesh);
  numbers.erase(std::find(numbers.begin(), numbers.end(), *gid));
  *error = ZOLTAN_OK;
}

std::uint64_t free_bytes(void*, int* error) {
  *error = ZOLTAN_OK;
  return 64;
}

TEST(ReferenceInC, MovesObjectsInSteps) {
  Mesh mesh(10);
  for (ZOLTAN_ID_TYPE k = 0; k < 10; ++k)
    mesh[k] = static_cast<ZOLTAN_ID_TYPE>(10 * valet::test::rank()) + k;
  Mesh gids = mesh, lids(10);
  std::vector<int> procs(10, next());
  Zoltan_Struct* zoltan = Zoltan_Create(MPI_COMM_WORLD);
  Zoltan_Set_Param(zoltan, "DEBUG_LEVEL", "0");
  Zoltan_Set_Obj_Size_Fn(zoltan, object_size, &mesh);
  Zoltan_Set_Pack_Obj_Fn(zoltan, pack_object, &mesh);
  Zoltan_Set_Unpack_Obj_Fn(zoltan, unpack_object, &mesh);

  moved_objects(zoltan, 10, gids.data(), lids.data(), procs.data(), free_object, free_bytes, &mesh);

  Zoltan_Destroy(&zoltan);
  std::sort(mesh.begin(), mesh.end());
  ASSERT_EQ(mesh.size(), 10);
  EXPECT_EQ(mesh[0], static_cast<ZOLTAN_ID_TYPE>(10 * previous()));
}

}  // namespace
