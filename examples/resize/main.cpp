// SPDX-License-Identifier: BSD-3-Clause

// A job that starts as many ranks again, goes on with all of them, and gives the new ones back: the
// particles move in the arrays of both, and pages that a leaving rank has emptied go back to the
// system while others are still on their way. Start it with mpirun -n 2.

#include <valet/valet.hpp>

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

constexpr std::uint64_t each = 100'000;  // particles of a rank at the start

struct Particle {
  double position[3], velocity[3];
  std::uint64_t id;
};

/// This rank's particles, in slots 0 to count - 1.
struct Cloud {
  std::vector<Particle> particles;
  std::uint64_t count = 0;

  [[nodiscard]] valet::BlockStorage storage() { return {valet::field(particles, 1, "particle")}; }
};

/// Whether every particle is there once, as far as sums of ids tell. Collective.
bool is_complete(MPI_Comm communicator, const Cloud& cloud, std::uint64_t total) {
  std::uint64_t sums[2] = {cloud.count, 0};
  for (std::uint64_t k = 0; k < cloud.count; ++k) sums[1] += cloud.particles[k].id;
  MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_UINT64_T, MPI_SUM, communicator);
  return sums[0] == total && sums[1] == total * (total - 1) / 2;
}

/// Goes from `before` to `after` ranks of a communicator. Collective.
bool go_on(MPI_Comm communicator, Cloud& cloud, int before, int after, std::uint64_t total) {
  valet::ResizeOptions options;
  options.released = [&](std::uint64_t first, std::uint64_t slots) {
    valet::give_back(cloud.particles.data(), sizeof(Particle), first, slots);
  };
  const valet::ResizeResult result =
      valet::resize(communicator, cloud.storage(), cloud.count, before, after, options);
  cloud.count = result.count;
  return is_complete(communicator, cloud, total);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const std::uint64_t total = each * static_cast<std::uint64_t>(ranks);

  // New ranks are started by the old ones, and come behind them in `all`.
  MPI_Comm between = MPI_COMM_NULL, all = MPI_COMM_NULL;
  MPI_Comm_get_parent(&between);
  const bool is_new = between != MPI_COMM_NULL;
  if (!is_new)
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, ranks, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between,
                   MPI_ERRCODES_IGNORE);
  MPI_Intercomm_merge(between, is_new ? 1 : 0, &all);

  // They have room and no particles.
  Cloud cloud{std::vector<Particle>(each), is_new ? 0 : each};
  for (std::uint64_t k = 0; k < cloud.count; ++k)
    cloud.particles[k].id = each * static_cast<std::uint64_t>(rank) + k;

  const bool has_grown = go_on(all, cloud, ranks, 2 * ranks, total);
  if (rank == 0 && !is_new && has_grown)
    std::printf("%llu particles on %d ranks, rank 0 has %llu of them\n",
                static_cast<unsigned long long>(total), 2 * ranks,
                static_cast<unsigned long long>(cloud.count));
  const bool has_shrunk = go_on(all, cloud, 2 * ranks, ranks, total);
  if (rank == 0 && !is_new && has_shrunk) std::printf("again on %d ranks, none is lost\n", ranks);

  // The new ranks are empty and leave.
  MPI_Comm_free(&all);
  MPI_Comm_disconnect(&between);
  MPI_Finalize();
  return has_grown && has_shrunk ? 0 : 1;
}
