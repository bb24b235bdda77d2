// SPDX-License-Identifier: BSD-3-Clause

// Particles in slabs, one for each rank. In each step those near the sides of a slab are pushed
// first, and what has left travels while the others are pushed. Each second step does one after the
// other, for comparison.

#include <valet/valet.hpp>

#include <mpi.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

namespace {

constexpr std::uint64_t particles = 200'000, slots = particles + particles / 4;
constexpr double side = 0.2, time_step = 0.2;  // of a slab of width 1
constexpr int steps = 40, forces = 3;

/// Positions along x count in slabs of all ranks, which are a ring.
struct Particle {
  double x = 0, velocity = 0, phase = 0;
  std::uint64_t id = 0;
  std::array<double, 12> history{};
};

class Slab {
 public:
  Slab(int rank, int ranks) : rank_(rank), ranks_(ranks), all_(slots) {
    for (std::uint64_t k = 0; k < particles; ++k) {
      const double place = (static_cast<double>(k) + 0.5) / static_cast<double>(particles);
      all_[k] = {.x = rank + place,
                 .velocity = std::sin(1000 * place),
                 .id = static_cast<std::uint64_t>(rank) * particles + k};
    }
  }

  /// @return Seconds.
  double step(bool overlaps, const std::string& trace) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    std::vector<int> ranks(count_, rank_);
    std::vector<std::uint64_t> inner;
    for (std::uint64_t k = 0; k < count_; ++k) {
      const double place = all_[k].x - rank_;
      if (place > side && place < 1 - side) {
        inner.push_back(k);
        continue;
      }
      push(all_[k]);
      ranks[k] = static_cast<int>(std::floor(all_[k].x) + ranks_) % ranks_;
      all_[k].x += ranks[k] - std::floor(all_[k].x);
    }
    valet::Options options;
    options.trace = trace;
    const valet::BlockStorage storage{valet::field(all_)};
    valet::Plan plan = valet::plan_to_ranks(MPI_COMM_WORLD, storage, count_, ranks, options);
    if (overlaps) {
      valet::Execution migration = valet::start(plan, storage);
      for (std::size_t k = 0; k < inner.size(); ++k) {
        push(all_[inner[k]]);
        if (k % 64 == 0) migration.progress();
      }
      count_ = migration.wait().blocks_after;
    } else {
      for (const std::uint64_t k : inner) push(all_[k]);
      count_ = valet::execute(plan, storage).blocks_after;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Wtime() - start;
  }

  /// Number and sum of ids over all ranks, and whether all particles are in their slabs.
  [[nodiscard]] std::array<std::uint64_t, 3> checked() const {
    std::array<std::uint64_t, 3> sums{count_, 0, 0};
    for (std::uint64_t k = 0; k < count_; ++k) {
      sums[1] += all_[k].id;
      if (all_[k].x < rank_ || all_[k].x > rank_ + 1) ++sums[2];
    }
    MPI_Allreduce(MPI_IN_PLACE, sums.data(), 3, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    return sums;
  }

 private:
  static void push(Particle& particle) {
    for (int k = 0; k < forces; ++k) particle.phase += std::sin(particle.phase + k) * time_step;
    particle.history[particle.id % particle.history.size()] = particle.phase;
    particle.x += particle.velocity * time_step;
  }

  int rank_, ranks_;
  std::uint64_t count_ = particles;
  std::vector<Particle> all_;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const std::string directory = argc > 1 ? argv[1] : ".";
  if (argc > 2 || directory.starts_with('-')) {
    if (rank == 0) std::puts("Usage: mpirun -n 4 overlap [folder for trace.json, here by default]");
    MPI_Finalize();
    return directory == "--help" || directory == "-h" ? 0 : 2;
  }
  Slab slab(rank, ranks);
  const auto before = slab.checked();
  std::array<double, 2> seconds{};
  for (int step = 0; step < steps; ++step)
    (step % 2 == 0 ? seconds[0] : seconds[1]) += slab.step(step % 2 == 1, "");
  // Again with a picture of where time goes: plot.py overlap DIRECTORY.
  slab.step(true, directory + "/trace.json");
  const bool is_right = slab.checked() == before;
  if (rank == 0)
    std::printf("%s: a step takes %.1f ms one after the other, %.1f ms at the same time\n",
                is_right ? "All particles are there" : "WRONG RESULT", 2e3 * seconds[0] / steps,
                2e3 * seconds[1] / steps);
  MPI_Finalize();
  return is_right ? 0 : 1;
}
