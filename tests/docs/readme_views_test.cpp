// SPDX-License-Identifier: BSD-3-Clause

// The snippets of the README and of the guide that need Kokkos and Zoltan, word for word: see
// readme_test.cpp.

#include "kokkos_environment.hpp"
#include "test_comm.hpp"
#include <valet/kokkos/ragged.hpp>
#include <valet/zoltan/rebalancer.hpp>

#include <Kokkos_Core.hpp>
#include <Kokkos_DualView.hpp>
#include <zoltan.h>

namespace {

TEST(Guide, MovesDualViews) {
  using valet::test::rank;
  const MPI_Comm comm = MPI_COMM_WORLD;
  std::uint64_t count = 10;
  Kokkos::DualView<double* [3]> particles("particles", count);
  const Kokkos::View<int*> ids("ids", count);
  const std::vector<int> ranks(count, (rank() + 1) % valet::test::size());
  for (std::uint64_t k = 0; k < count; ++k) particles.view_host()(k, 2) = rank();

  particles.modify_host();  // the host has written
  count = valet::migrate(comm, valet::kokkos::blocks(particles, ids), count, ranks).blocks_after;
  particles.sync_host();  // when the host reads again

  long long wrong = 0;
  const int source = (rank() + valet::test::size() - 1) % valet::test::size();
  for (std::uint64_t k = 0; k < count; ++k) wrong += particles.view_host()(k, 2) != source;
  EXPECT_EQ(valet::test::sum_over_ranks(wrong), 0);
}

TEST(Guide, MovesNodeViews) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  const std::size_t slots = 10;
  std::uint64_t count = slots;
  const std::vector<int> ranks(count, (valet::test::rank() + 1) % valet::test::size());

  auto position = valet::kokkos::node_view<double* [3]>("position", slots, comm);
  auto id = valet::kokkos::node_view<std::int64_t*>("id", slots, comm);
  const valet::BlockStorage particles = valet::kokkos::blocks(valet::ref(position), valet::ref(id));

  Kokkos::deep_copy(id, valet::test::rank());
  count = valet::migrate(comm, particles, count, ranks).blocks_after;

  position.resize(2 * slots);  // not Kokkos::resize(), which would move it

  EXPECT_EQ(count, slots);
  EXPECT_EQ(position.extent(0), 2 * slots);
  const int source = (valet::test::rank() + valet::test::size() - 1) % valet::test::size();
  for (std::size_t k = 0; k < slots; ++k) EXPECT_EQ(id(k), source);
}

// What a code has before it moves to Valet: objects that are numbers, by Zoltan's callbacks.
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
  static_cast<std::vector<ZOLTAN_ID_TYPE>*>(mesh)->push_back(number);
  *error = ZOLTAN_OK;
}

TEST(Moving, FromCallbacksOfZoltan) {
  using valet::test::rank;
  using valet::test::size;
  std::vector<ZOLTAN_ID_TYPE> mesh;
  Zoltan_Struct* zz = Zoltan_Create(MPI_COMM_WORLD);
  Zoltan_Set_Param(zz, "DEBUG_LEVEL", "0");
  Zoltan_Set_Param(zz, "NUM_GID_ENTRIES", "1");
  Zoltan_Set_Param(zz, "NUM_LID_ENTRIES", "1");
  const int num_import = -1, num_export = 1;
  ZOLTAN_ID_TYPE gid = static_cast<ZOLTAN_ID_TYPE>(rank()), lid = 0;
  int to = (rank() + 1) % size(), part = to;
  ZOLTAN_ID_PTR export_gids = &gid, export_lids = &lid, import_gids = nullptr,
                import_lids = nullptr;
  int *export_procs = &to, *export_parts = &part, *import_procs = nullptr, *import_parts = nullptr;

  Zoltan_Set_Obj_Size_Fn(zz, object_size, &mesh);
  Zoltan_Set_Pack_Obj_Fn(zz, pack_object, &mesh);
  Zoltan_Set_Unpack_Obj_Fn(zz, unpack_object, &mesh);
  Zoltan_Migrate(zz, num_import, import_gids, import_lids, import_procs, import_parts, num_export,
                 export_gids, export_lids, export_procs, export_parts);

  EXPECT_EQ(mesh, std::vector<ZOLTAN_ID_TYPE>(
                      1, static_cast<ZOLTAN_ID_TYPE>((rank() + size() - 1) % size())));
  Zoltan_Destroy(&zz);
}

TEST(Moving, FromADistributorOfCabana) {
  using valet::test::rank;
  using valet::test::size;
  const MPI_Comm comm = MPI_COMM_WORLD;
  std::uint64_t count = 10;
  Kokkos::View<double*[3]> position("position", count), velocity("velocity", count);
  Kokkos::View<int*> id("id", count);
  const Kokkos::View<int*> export_ranks("export_ranks", count);  // all to rank 0, one to nobody
  export_ranks(9) = -1;
  for (std::uint64_t k = 0; k < count; ++k) {
    id(k) = 10 * rank() + static_cast<int>(k);
    position(k, 2) = id(k);
  }

  const auto particles =
      valet::kokkos::blocks(valet::growing(position), valet::growing(velocity), valet::growing(id));
  const valet::Options options{.negative_rank = valet::NegativeRank::drop};
  count = valet::migrate(comm, particles, count, std::span(export_ranks.data(), count), options)
              .blocks_after;

  long long wrong = 0, sum = 0;
  for (std::uint64_t k = 0; k < count; ++k) {
    wrong += position(k, 2) == id(k) ? 0 : 1;
    sum += id(k);
  }
  const long long ranks = size();
  EXPECT_EQ(count, rank() == 0 ? 9 * static_cast<std::uint64_t>(ranks) : 0);
  EXPECT_EQ(valet::test::sum_over_ranks(wrong), 0);
  EXPECT_EQ(valet::test::sum_over_ranks(sum), 45 * ranks * (ranks - 1) + 36 * ranks);
}

/// The rank whose range, from first[rank] on, has the block.
int owner_of(int block, const int* first) {
  int owner = 0;
  while (first[owner + 1] <= block) ++owner;
  return owner;
}

TEST(Inside, MovesMeshblocksToTheRowsOfTheirNumbers) {
  using valet::test::rank;
  using valet::test::size;
  const MPI_Comm comm = MPI_COMM_WORLD;
  const int most = 8;
  Kokkos::View<double*****> u0("u0", most, 2, 3, 3, 3);
  Kokkos::View<double****> face("face", most, 3, 3, 4);
  // Four on each rank; then none on the first of several and eight on the last.
  std::vector<int> equal, shifted;
  for (int r = 0; r <= size(); ++r) {
    equal.push_back(4 * r);
    shifted.push_back(r == size() ? 4 * r : 4 * std::max(0, r - 1));
  }
  const int *const first = equal.data(), *const new_first = shifted.data();
  for (int k = 0; k < 4; ++k) {
    Kokkos::deep_copy(Kokkos::subview(u0, k, Kokkos::ALL, Kokkos::ALL, Kokkos::ALL, Kokkos::ALL),
                      first[rank()] + k);
    Kokkos::deep_copy(Kokkos::subview(face, k, Kokkos::ALL, Kokkos::ALL, Kokkos::ALL),
                      -first[rank()] - k);
  }

  std::vector<valet::Address> addresses;
  for (int block = first[rank()]; block < first[rank() + 1]; ++block) {
    const int owner = owner_of(block, new_first);
    addresses.push_back({owner, static_cast<std::uint64_t>(block - new_first[owner])});
  }
  valet::migrate(comm, valet::kokkos::blocks(u0, face), addresses.size(), addresses);

  long long wrong = 0;
  for (int block = new_first[rank()]; block < new_first[rank() + 1]; ++block) {
    const int row = block - new_first[rank()];
    wrong += u0(row, 0, 0, 0, 0) == block && u0(row, 1, 2, 2, 2) == block ? 0 : 1;
    wrong += face(row, 0, 0, 0) == -block && face(row, 2, 2, 3) == -block ? 0 : 1;
  }
  EXPECT_EQ(valet::test::sum_over_ranks(wrong), 0);
}

TEST(Guide, PartitionsAndMovesBlocksOfDifferentSizes) {
  using valet::test::rank;
  const MPI_Comm comm = MPI_COMM_WORLD;
  const std::uint64_t most = 100, most_records = 1000;
  std::uint64_t count = rank() == 0 ? most : 0;

  std::vector<double> place(3 * most), records(most_records);
  std::vector<std::uint64_t> id(most), lengths(most);  // lengths in bytes
  const auto storage = [&] {
    return valet::RaggedStorage({valet::ragged_field(std::span(records), std::span(lengths))},
                                {valet::field(place, 3), valet::field(id)});
  };
  const auto records_of = [](std::uint64_t number) { return number % 11; };
  for (std::uint64_t k = 0, next = 0; k < count; ++k) {
    id[k] = k;
    place[3 * k] = static_cast<double>(k);
    lengths[k] = records_of(k) * sizeof(double);
    for (std::uint64_t r = 0; r < records_of(k); ++r) records[next++] = static_cast<double>(k);
  }

  valet::zoltan::Rebalancer rebalancer(comm, {.method = "RCB"});
  rebalancer.coordinates(valet::zoltan::array_columns(place.data(), most, 3));
  rebalancer.weights(valet::zoltan::block_bytes(storage().fields()[0]));  // or work of your own
  count = rebalancer.rebalance(count, storage()).count;

  valet::zoltan::Partition partition = rebalancer.partition(count);
  const valet::zoltan::RaggedRoom room = rebalancer.required_room(partition, storage());
  EXPECT_LE(room.blocks, most);
  EXPECT_LE(room.bytes.at(0), most_records * sizeof(double));
  count = rebalancer.migrate(std::move(partition), storage()).count;

  long long wrong = 0;
  for (std::uint64_t k = 0, next = 0; k < count; ++k) {
    wrong += place[3 * k] == static_cast<double>(id[k]) ? 0 : 1;
    wrong += lengths[k] == records_of(id[k]) * sizeof(double) ? 0 : 1;
    for (std::uint64_t r = 0; r < records_of(id[k]); ++r)
      wrong += records[next++] == static_cast<double>(id[k]) ? 0 : 1;
  }
  EXPECT_EQ(valet::test::sum_over_ranks(wrong), 0);
  EXPECT_EQ(valet::test::sum_over_ranks(static_cast<long long>(count)), 100);
  EXPECT_LE(valet::test::max_over_ranks(static_cast<long long>(count)),
            100 / valet::test::size() + 12);
}

TEST(Readme, MovesViewsOfBlocksOfDifferentSizes) {
  using valet::test::rank;
  const MPI_Comm comm = MPI_COMM_WORLD;
  const std::uint64_t most = 10, most_values = 45;
  std::uint64_t count = 10;
  const std::vector<int> ranks(count, 0);

  Kokkos::View<double*> spectra("spectra", most_values);
  Kokkos::View<std::uint64_t*> lengths("lengths", most);  // in bytes

  for (std::uint64_t k = 0; k < count; ++k) lengths(k) = k * sizeof(double);
  Kokkos::deep_copy(spectra, rank());

  valet::RaggedStorage storage{valet::kokkos::ragged_field(spectra, lengths)};
  valet::RaggedPlan plan = valet::plan_to_ranks(comm, storage, count, ranks);
  const std::uint64_t values = plan.required_bytes() / sizeof(double);
  if (values > spectra.extent(0)) Kokkos::resize(spectra, values);
  if (plan.blocks_after() > lengths.extent(0)) Kokkos::resize(lengths, plan.blocks_after());
  storage = {valet::kokkos::ragged_field(spectra, lengths)};  // of the Views as they are now
  count = valet::execute(plan, storage, ranks).blocks_after;

  long long wrong = 0;
  for (std::uint64_t k = 0; k < count; ++k) wrong += lengths(k) != k % 10 * sizeof(double);
  for (std::uint64_t v = 0; v < values; ++v) wrong += spectra(v) != static_cast<double>(v / 45);
  EXPECT_EQ(valet::test::sum_over_ranks(wrong), 0);
  EXPECT_EQ(valet::test::sum_over_ranks(static_cast<long long>(count)), 10 * valet::test::size());
}

TEST(Readme, MovesARowMapOfValues) {
  using valet::test::rank;
  const MPI_Comm comm = MPI_COMM_WORLD;
  std::uint64_t rows = 10;
  const std::vector<int> row_ranks(rows, (rank() + 1) % valet::test::size());
  const Kokkos::View<double*> entries("entries", 45);
  const Kokkos::View<std::uint64_t*> row_map("row_map", rows + 1);
  for (std::uint64_t k = 0; k < rows; ++k) row_map(k + 1) = row_map(k) + k;
  Kokkos::deep_copy(entries, rank());

  valet::kokkos::values_to_bytes<double>(row_map);
  const valet::RaggedStorage matrix{valet::kokkos::ragged_field_by_offsets(entries, row_map)};
  rows = valet::migrate(comm, matrix, rows, row_ranks).blocks_after;
  valet::kokkos::bytes_to_values<double>(row_map);

  long long wrong = rows == 10 ? 0 : 1;
  for (std::uint64_t k = 0; k < rows; ++k) wrong += row_map(k + 1) - row_map(k) != k;
  const double from = (rank() + valet::test::size() - 1) % valet::test::size();
  for (std::uint64_t v = 0; v < 45; ++v) wrong += entries(v) != from;
  EXPECT_EQ(valet::test::sum_over_ranks(wrong), 0);
}

}  // namespace
