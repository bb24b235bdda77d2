// SPDX-License-Identifier: BSD-3-Clause

// The snippets of the README and of the guide that need Kokkos and Zoltan, word for word: see
// readme_test.cpp.

#include "../zoltan/mesh.hpp"
#include "kokkos_environment.hpp"
#include "test_comm.hpp"
#include <valet/zoltan/lists.hpp>
#include <valet/zoltan/rebalancer.hpp>

#include <Kokkos_Core.hpp>
#include <gtest/gtest.h>

#include <cstdint>

namespace {

const auto* const environment = ::testing::AddGlobalTestEnvironment(new KokkosEnvironment);

TEST(Readme, PartitionsAndMovesViews) {
  using valet::test::rank;
  using valet::test::size;
  const std::uint64_t capacity = 200;
  std::uint64_t count = rank() == 0 ? 100 : 0;

  Kokkos::View<double*[3]> position("position", capacity), velocity("velocity", capacity);
  Kokkos::View<double*> work("work", capacity);
  for (std::uint64_t s = 0; s < count; ++s) {
    position(s, 0) = static_cast<double>(s);
    velocity(s, 1) = -static_cast<double>(s);
    work(s) = 1;
  }

  valet::zoltan::Rebalancer rebalancer(MPI_COMM_WORLD, {.method = "RCB"});
  rebalancer.coordinates(position);
  rebalancer.weights(work);
  count = rebalancer.rebalance(count, position, velocity, work).count;  // partitioned and moved

  long long wrong = 0;
  for (std::uint64_t s = 0; s < count; ++s)
    wrong += velocity(s, 1) != -position(s, 0) || work(s) != 1;
  EXPECT_EQ(valet::test::sum_over_ranks(wrong), 0);
  EXPECT_EQ(valet::test::sum_over_ranks(static_cast<long long>(count)), 100);
  EXPECT_LE(valet::test::max_over_ranks(static_cast<long long>(count)), 100 / size() + 6);
}

TEST(Readme, MovesViewsByListsOfZoltan) {
  const valet::test::Mesh mesh(20, 10, valet::test::seed());
  valet::test::MeshClient client(mesh, {}, false);
  const valet::test::MeshZoltan zoltan(client, {{"GRAPH_PACKAGE", "PHG"}});
  Zoltan_Struct* const zz = zoltan.get();
  Kokkos::View<double*[2]> position("position", mesh.size()), velocity("velocity", mesh.size());
  Kokkos::View<std::uint32_t*> number("number", mesh.size());
  std::uint64_t count = client.mine().size();
  for (std::uint64_t s = 0; s < count; ++s) {
    number(s) = client.mine()[s];
    position(s, 0) = mesh.centre(number(s), 0);
    velocity(s, 1) = -mesh.centre(number(s), 1);
  }

  Zoltan_Set_Param(zz, "LB_METHOD", "GRAPH");  // or any other
  Zoltan_Set_Param(zz, "RETURN_LISTS", "ALL");
  int changes, gid_entries, lid_entries, num_import, num_export;
  int *import_procs, *import_parts, *export_procs, *export_parts;
  ZOLTAN_ID_PTR import_gids, import_lids, export_gids, export_lids;
  Zoltan_LB_Partition(zz, &changes, &gid_entries, &lid_entries, &num_import, &import_gids,
                      &import_lids, &import_procs, &import_parts, &num_export, &export_gids,
                      &export_lids, &export_procs, &export_parts);

  valet::zoltan::PartitionLists lists;
  lists.gid_entries = gid_entries;
  lists.lid_entries = lid_entries;
  lists.imports = {num_import, import_gids, import_lids, import_procs, import_parts};
  lists.exports = {num_export, export_gids, export_lids, export_procs, export_parts};
  count = valet::zoltan::migrate(MPI_COMM_WORLD, lists, count, position, velocity, number).count;

  EXPECT_EQ(count, client.mine().size() + static_cast<std::uint64_t>(num_import) -
                       static_cast<std::uint64_t>(num_export));
  long long wrong = 0;
  for (std::uint64_t s = 0; s < count; ++s)
    wrong +=
        position(s, 0) != mesh.centre(number(s), 0) || velocity(s, 1) != -mesh.centre(number(s), 1);
  EXPECT_EQ(valet::test::sum_over_ranks(wrong), 0);
  EXPECT_EQ(valet::test::sum_over_ranks(static_cast<long long>(count)), mesh.size());
  Zoltan_LB_Free_Part(&import_gids, &import_lids, &import_procs, &import_parts);
  Zoltan_LB_Free_Part(&export_gids, &export_lids, &export_procs, &export_parts);
}

}  // namespace
