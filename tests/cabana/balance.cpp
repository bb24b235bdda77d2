// SPDX-License-Identifier: BSD-3-Clause

// What a balance takes with Cabana and with Valet: `mpirun -n 4 balance WAY MAP [PARTICLES]`.
//
//   WAY        cabana, distributor (one of Cabana, and Valet), or ranks (Valet alone)
//   MAP        ranges (rank r begins with r + 1 parts of the particles, all end with the same
//   number,
//              ascending) or random (every particle goes anywhere)
//   PARTICLES  of all ranks; 1000000
//
// Prints the most memory that a rank had beyond what it had before, as the system sees it, the
// seconds of the slowest rank, and a sum that all ways must have in common.

#include <valet/cabana/migrate.hpp>

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>

namespace {

using Members = Cabana::MemberTypes<double[3], double[3], double, std::int64_t>;
using AoSoA = Cabana::AoSoA<Members, Kokkos::HostSpace, 16>;
using Ranks = Kokkos::View<int*, Kokkos::HostSpace>;
using Distributor = Cabana::Distributor<Kokkos::HostSpace>;

/// "VmRSS:" or "VmHWM:", in KiB.
long of_this_process(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (long value = 0; word == name && status >> value) return value;
  return 0;
}

template <class Map>
void move_by(const std::string& way, AoSoA& particles, const Map& map) {
  if (way == "ranks") {
    valet::cabana::migrate(MPI_COMM_WORLD, particles, map);
    return;
  }
  const Distributor distributor(MPI_COMM_WORLD, map);
  if (way == "cabana")
    Cabana::migrate(distributor, particles);
  else
    valet::cabana::migrate(distributor, particles);
}

void measure(const std::string& way, bool random, std::int64_t total) {
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const std::int64_t parts = size * (size + 1) / 2;
  const std::int64_t first = total * (rank * (rank + 1) / 2) / parts;
  const std::int64_t end = total * ((rank + 1) * (rank + 2) / 2) / parts;
  const auto count = static_cast<std::size_t>(end - first);
  AoSoA particles("particles", count);
  particles.reserve(std::max(count, static_cast<std::size_t>(total / size + total / 50)));
  const auto number = Cabana::slice<3>(particles);
  Ranks map("ranks", count);
  std::mt19937 numbers(static_cast<unsigned>(rank));
  for (std::size_t k = 0; k < count; ++k) {
    number(k) = first + static_cast<std::int64_t>(k);
    map(k) = random ? static_cast<int>(numbers() % static_cast<unsigned>(size))
                    : static_cast<int>(number(k) * size / total);
  }
  // All of the memory that is reserved has been touched, and the peak is what there is now.
  std::fill_n(reinterpret_cast<char*>(particles.data() + particles.numSoA()),
              (particles.capacity() / 16 - particles.numSoA()) * sizeof(AoSoA::soa_type), '\0');
  std::ofstream("/proc/self/clear_refs") << 5;
  const long before = of_this_process("VmRSS:");
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  move_by(way, particles, map);
  double worst[] = {MPI_Wtime() - start,
                    static_cast<double>(of_this_process("VmHWM:") - before) / 1024};
  MPI_Allreduce(MPI_IN_PLACE, worst, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  const auto after = Cabana::slice<3>(particles);
  std::int64_t sum = 0;
  for (std::size_t k = 0; k < particles.size(); ++k) sum += after(k) * (rank + 1);
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0)
    std::printf("%-11s %-6s %5.1f MiB %6.3f s, sum %lld\n", way.c_str(),
                random ? "random" : "ranges", worst[1], worst[0], static_cast<long long>(sum));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Kokkos::initialize();
  if (argc > 2)
    measure(argv[1], std::string(argv[2]) == "random", argc > 3 ? std::atoll(argv[3]) : 1'000'000);
  Kokkos::finalize();
  MPI_Finalize();
  return argc > 2 ? 0 : 1;
}
