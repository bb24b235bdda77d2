// SPDX-License-Identifier: BSD-3-Clause

// The snippets of docs/p4est.md: they are compiled as they stand there, and do what it says.

#include "test_comm.hpp"
#include <valet/p4est/transfer.hpp>

#include <p4est_extended.h>

namespace valet::test {
namespace {

struct Cell {
  std::int64_t quadrant;
  double value;
};

struct Particle {
  double x, y, z;
};

TEST(ReadmeP4est, DataFollowTheirQuadrants) {
  sc_init(MPI_COMM_WORLD, 0, 0, nullptr, SC_LP_ERROR);
  p4est_init(nullptr, SC_LP_ERROR);
  p4est_connectivity_t* const connectivity = p4est_connectivity_new_unitsquare();
  // Made level by level, the quadrants are where those of the level above were: not evenly.
  p4est_t* const forest = p4est_new_ext(MPI_COMM_WORLD, connectivity, 0, 1, 1, 0, nullptr, nullptr);
  const auto refine_all = [](p4est_t*, p4est_topidx_t, p4est_quadrant_t*) { return 1; };
  for (int level = 0; level < 3; ++level) p4est_refine(forest, 0, refine_all, nullptr);
  const auto most_quadrants = static_cast<std::size_t>(forest->global_num_quadrants);
  const auto first = [forest] { return forest->global_first_quadrant[rank()]; };
  const auto count = [forest] { return static_cast<std::size_t>(forest->local_num_quadrants); };
  std::vector<Cell> cells(most_quadrants);
  std::vector<int> sizes(count());
  std::vector<char> bytes(3 * most_quadrants);
  std::vector<Particle> particles(3 * most_quadrants);
  auto end = bytes.begin();
  auto next = particles.begin();
  for (std::size_t k = 0; k < count(); ++k) {
    const auto quadrant = first() + static_cast<std::int64_t>(k);
    cells[k] = {quadrant, 0.5};
    sizes[k] = static_cast<int>(quadrant % 4);
    end = std::fill_n(end, sizes[k], static_cast<char>(quadrant % 100));
    next = std::fill_n(next, sizes[k], Particle{static_cast<double>(quadrant), 0, 0});
  }

  const std::vector<char> old_bytes = bytes;
  std::vector<double> pressure(most_quadrants, static_cast<double>(rank()));
  const std::vector<int>& counts = sizes;

  std::vector<p4est_gloidx_t> before(forest->global_first_quadrant,
                                     forest->global_first_quadrant + forest->mpisize + 1);
  p4est_partition(forest, 0, nullptr);

  valet::p4est::transfer_fixed(forest->global_first_quadrant, before.data(), forest->mpicomm,
                               cells.data(), cells.size() * sizeof(Cell), sizeof(Cell));

  std::vector<int> new_sizes = sizes;
  new_sizes.resize(most_quadrants);
  valet::p4est::transfer_fixed(forest->global_first_quadrant, before.data(), forest->mpicomm,
                               new_sizes.data(), new_sizes.size() * sizeof(int), sizeof(int));

  valet::p4est::transfer_custom(forest->global_first_quadrant, before.data(), forest->mpicomm,
                                bytes.data(), bytes.size(), sizes.data(), new_sizes.data());

  const std::vector<int>& new_counts = new_sizes;
  std::vector<char> marks = old_bytes;
  std::vector<Particle> tracers = particles;

  valet::p4est::transfer_items(forest->global_first_quadrant, before.data(), forest->mpicomm,
                               tracers.data(), tracers.size() * sizeof(Particle), counts.data(),
                               new_counts.data(), sizeof(Particle));

  const auto push = [](const std::vector<Cell>&) {};

  valet::Execution pressure_moves = valet::p4est::transfer_fixed_begin(
      forest->global_first_quadrant, before.data(), forest->mpicomm, pressure.data(),
      pressure.size() * sizeof(double), sizeof(double));
  valet::Execution particles_move = valet::p4est::transfer_items_begin(
      forest->global_first_quadrant, before.data(), forest->mpicomm, particles.data(),
      particles.size() * sizeof(Particle), counts.data(), new_counts.data(), sizeof(Particle));
  valet::Execution marks_move = valet::p4est::transfer_custom_begin(
      forest->global_first_quadrant, before.data(), forest->mpicomm, marks.data(), marks.size(),
      sizes.data(), new_sizes.data());
  push(cells);
  pressure_moves.wait();
  particles_move.wait();
  marks_move.wait();

  long long wrong = before[0] == 0 && first() == before[static_cast<std::size_t>(rank())] ? 0 : 1;
  const long long moved = sum_over_ranks(wrong);
  wrong = 0;
  auto byte = bytes.cbegin();
  auto mark = marks.cbegin();
  auto particle = particles.cbegin(), tracer = tracers.cbegin();
  std::size_t from = 0;
  for (std::size_t k = 0; k < count(); ++k) {
    const auto quadrant = first() + static_cast<std::int64_t>(k);
    if (cells[k].quadrant != quadrant || new_sizes[k] != quadrant % 4) ++wrong;
    for (int b = 0; b < new_sizes[k]; ++b)
      if (*mark++ != *byte || *byte++ != static_cast<char>(quadrant % 100) ||
          tracer++->x != particle->x || particle++->x != static_cast<double>(quadrant))
        ++wrong;
    while (before[from + 1] <= quadrant) ++from;
    if (pressure[k] != static_cast<double>(from)) ++wrong;
  }
  p4est_destroy(forest);
  p4est_connectivity_destroy(connectivity);
  sc_finalize();
  EXPECT_GT(moved, 0) << "ranks that begin with another quadrant";
  EXPECT_EQ(sum_over_ranks(wrong), 0);
}

}  // namespace
}  // namespace valet::test
