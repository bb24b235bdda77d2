// SPDX-License-Identifier: BSD-3-Clause

// The page on moving to Valet: what a code has before and what it has afterwards leave the same
// particles on every rank. What needs Kokkos and Zoltan is in readme_views_test.cpp.

#include "test_comm.hpp"

namespace {

struct Particle {
  double x[3];
  int id;
  bool operator<(const Particle& other) const { return id < other.id; }
  bool operator==(const Particle& other) const = default;
};

constexpr int particles_of_a_rank = 1000;

std::vector<Particle> make_particles(int rank) {
  std::vector<Particle> particles(particles_of_a_rank);
  for (int k = 0; k < particles_of_a_rank; ++k) {
    const int id = rank * particles_of_a_rank + k;
    particles[static_cast<std::size_t>(k)] = {{0.5 * id, -1.0 * id, 3}, id};
  }
  return particles;
}

// More to lower ranks, so that some must grow.
std::vector<int> draw_destinations(int rank, int ranks) {
  std::mt19937 generator(static_cast<std::uint32_t>(valet::test::seed() + rank));
  std::vector<int> destination(particles_of_a_rank);
  for (int& to : destination)
    to = std::min(static_cast<int>(generator() % ranks), static_cast<int>(generator() % ranks));
  return destination;
}

// The snippets have a program's usual conversions.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"

std::vector<Particle> moved_by_hand(MPI_Comm comm, std::vector<Particle> particles,
                                    const std::vector<int>& destination) {
  const int ranks = valet::test::size();
  MPI_Datatype particle_type = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(sizeof(Particle), MPI_BYTE, &particle_type);
  MPI_Type_commit(&particle_type);

  std::vector<int> send_counts(ranks), receive_counts(ranks), send_displs(ranks),
      receive_displs(ranks);
  for (const int to : destination) ++send_counts[to];
  MPI_Alltoall(send_counts.data(), 1, MPI_INT, receive_counts.data(), 1, MPI_INT, comm);
  std::exclusive_scan(send_counts.begin(), send_counts.end(), send_displs.begin(), 0);
  std::exclusive_scan(receive_counts.begin(), receive_counts.end(), receive_displs.begin(), 0);
  std::vector<Particle> packed(particles.size());
  std::vector<int> next = send_displs;
  for (std::size_t k = 0; k < particles.size(); ++k) packed[next[destination[k]]++] = particles[k];
  particles.resize(receive_displs.back() + receive_counts.back());
  MPI_Alltoallv(packed.data(), send_counts.data(), send_displs.data(), particle_type,
                particles.data(), receive_counts.data(), receive_displs.data(), particle_type,
                comm);

  MPI_Type_free(&particle_type);
  return particles;
}

#pragma GCC diagnostic pop

std::vector<Particle> moved_by_valet(MPI_Comm comm, std::vector<Particle> particles,
                                     const std::vector<int>& destination) {
  valet::Plan plan =
      valet::plan_to_ranks(comm, {valet::field(particles)}, particles.size(), destination);
  const std::uint64_t needed = std::max<std::uint64_t>(particles.size(), plan.required_slots());
  particles.resize(needed);
  const valet::Report report = valet::execute(plan, {valet::field(particles)});
  particles.resize(report.blocks_after);
  return particles;
}

TEST(Moving, FromAHandWrittenAlltoallv) {
  const int rank = valet::test::rank(), ranks = valet::test::size();
  const std::vector<int> destination = draw_destinations(rank, ranks);
  std::vector<Particle> before = moved_by_hand(MPI_COMM_WORLD, make_particles(rank), destination);
  std::vector<Particle> after = moved_by_valet(MPI_COMM_WORLD, make_particles(rank), destination);
  std::sort(before.begin(), before.end());
  std::sort(after.begin(), after.end());
  EXPECT_EQ(valet::test::sum_over_ranks(before == after ? 0 : 1), 0);
  EXPECT_EQ(valet::test::sum_over_ranks(static_cast<long long>(after.size())),
            static_cast<long long>(ranks) * particles_of_a_rank);
}

}  // namespace
