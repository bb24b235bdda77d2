// SPDX-License-Identifier: BSD-3-Clause

// A Zoltan application that is not linked to Valet: migrates and prints a hash of its state on all
// ranks, and whether a Valet was in the process.

#include "application.hpp"
#include "lists.hpp"

#include <cstdio>
#include <dlfcn.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  float version = 0;
  Zoltan_Initialize(argc, argv, &version);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  Zoltan_Struct* zoltan = Zoltan_Create(MPI_COMM_WORLD);
  Zoltan_Set_Param(zoltan, "DEBUG_LEVEL", "0");
  const clients::Forms forms;
  clients::Application application(MPI_COMM_WORLD, clients::Behaviour::drop_in_pack, forms,
                                   static_cast<ZOLTAN_ID_TYPE>(400 * rank), 400);
  application.register_with(zoltan);
  clients::Partition lists = clients::partition(zoltan, forms, rank, "RCB", 0, false);
  const int code = clients::migrate(zoltan, lists, clients::Given::both, true);
  unsigned long long hash = 1469598103934665603ULL;
  for (const unsigned char byte : application.state()) hash = (hash ^ byte) * 1099511628211ULL;
  MPI_Allreduce(MPI_IN_PLACE, &hash, 1, MPI_UNSIGNED_LONG_LONG, MPI_BXOR, MPI_COMM_WORLD);

  // What the library has to say of this structure, if it is there and was asked.
  using GetReport = int (*)(Zoltan_Struct*, void*);
  auto* const get_report = reinterpret_cast<GetReport>(dlsym(RTLD_DEFAULT, "Valet_Get_Report"));
  std::vector<char> report(4096);
  const bool valet = get_report != nullptr && get_report(zoltan, report.data()) == ZOLTAN_OK;
  if (rank == 0) std::printf("state %llx valet %s\n", hash, valet ? "yes" : "no");
  Zoltan_Destroy(&zoltan);
  MPI_Finalize();
  return code == ZOLTAN_OK && application.complaint().empty() ? 0 : 1;
}
