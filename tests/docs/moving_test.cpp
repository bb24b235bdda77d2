// SPDX-License-Identifier: BSD-3-Clause

// The page on moving to Valet: what a code has before and what it has afterwards leave the same
// particles on every rank; and what a code with another partitioner does. What needs Kokkos and
// Zoltan is in readme_views_test.cpp.

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
  const valet::Report report =
      valet::migrate(comm, {valet::growing(particles, 1)}, particles.size(), destination);
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

struct Tile {
  double mass[16];
  float charge[16];
};
struct Node {
  Node* next;
  double value[3];
};

TEST(Moving, RowsThatAreNotOneArray) {
  constexpr std::uint64_t slots = 20;
  std::vector<Tile> tiles(2);
  std::vector<std::vector<int>> level{std::vector<int>(5), std::vector<int>(15)};
  std::vector<Node> nodes(slots);
  std::vector<double*> value_of;
  for (Node& node : nodes) value_of.push_back(node.value);

  // A member of structures of arrays with 16 slots, an array for each level, a pointer per slot.
  const std::vector<void*> cells{level[0].data(), level[1].data()};
  const std::vector<std::uint64_t> cells_of_level{level[0].size(), level[1].size()};
  const valet::BlockStorage storage{
      valet::in_tiles(valet::field(tiles[0].mass, slots), 16, sizeof(Tile)),
      valet::in_segments(valet::field(level[0].data(), slots), cells, cells_of_level),
      valet::pointed_field(std::span<double* const>(value_of), 3)};

  const int from = valet::test::rank();
  const int next = (from + 1) % valet::test::size();
  for (std::uint64_t slot = 0; slot < slots; ++slot) {
    tiles[slot / 16].mass[slot % 16] = nodes[slot].value[2] = from;
    level[slot < 5 ? 0 : 1][slot < 5 ? slot : slot - 5] = from;
  }
  valet::migrate(MPI_COMM_WORLD, storage, slots, std::vector<int>(slots, next));
  const int before = (from + valet::test::size() - 1) % valet::test::size();
  for (std::uint64_t slot = 0; slot < slots; ++slot) {
    EXPECT_EQ(tiles[slot / 16].mass[slot % 16], before);
    EXPECT_EQ(nodes[slot].value[2], before);
  }
  EXPECT_EQ(std::ranges::count(level[0], before) + std::ranges::count(level[1], before), 20);

  // The last five belong to the first level; level_of[slot] tells it of each.
  std::vector<std::uint32_t> level_of(slots, 1);
  std::fill_n(level_of.end() - 5, 5, 0);
  const auto cells_now = valet::group(storage, slots, level_of, cells_of_level);
  EXPECT_EQ(cells_now, cells_of_level);
}

// The page on executions: odd particles change places with those of the next rank, the others are
// pushed in each step.
TEST(Guide, PushesWhatStaysWhileTheRestTravels) {
  const int rank = valet::test::rank();
  std::vector<double> value(100);
  std::vector<int> ranks(value.size(), rank);
  std::vector<std::uint64_t> staying;
  for (std::uint64_t slot = 0; slot < value.size(); ++slot) {
    if (slot % 2 == 0)
      staying.push_back(slot);
    else
      ranks[slot] = (rank + 1) % valet::test::size();
  }
  const valet::BlockStorage particles{valet::field(value)};
  valet::Plan plan = valet::plan_to_ranks(MPI_COMM_WORLD, particles, value.size(), ranks);
  const auto push = [&](std::uint64_t slot) { value[slot] += 1; };
  std::uint64_t count = 0;
  for (int repeated = 0; repeated < 3; ++repeated) {
    valet::Execution migration = valet::start(plan, particles);
    for (const std::uint64_t slot : staying) {  // ranks[slot] is the own rank
      push(slot);
      migration.progress();
    }
    count = migration.wait().blocks_after;
  }
  const int steps = 5;
  plan.bind(particles);
  for (int step = 0; step < steps; ++step) valet::execute(plan);  // or valet::start(plan)
  EXPECT_EQ(count, value.size());
  EXPECT_EQ(std::ranges::count(value, 3), static_cast<std::ptrdiff_t>(staying.size()));
}

// ParMETIS as it is called; this one gives all vertices of a rank to the next one.
using idx_t = std::int64_t;
using real_t = float;
int ParMETIS_V3_PartKway(idx_t* vtxdist, idx_t*, idx_t*, idx_t*, idx_t*, idx_t*, idx_t*, idx_t*,
                         idx_t* nparts, real_t*, real_t*, idx_t*, idx_t*, idx_t* part, MPI_Comm*) {
  const int rank = valet::test::rank();
  std::fill_n(part, vtxdist[rank + 1] - vtxdist[rank], (rank + 1) % *nparts);
  return 1;
}

TEST(Guide, MovesByThePartsOfParMetis) {
  MPI_Comm comm = MPI_COMM_WORLD;
  const int rank = valet::test::rank();
  std::uint64_t count = static_cast<std::uint64_t>(rank) + 1;
  std::vector<int> owner(count, rank);
  const valet::BlockStorage cells{valet::growing(owner, 1)};
  idx_t no_weights = 0, from_0 = 0, one_weight = 1, parts = valet::test::size(), edges_cut = 0;
  std::vector<idx_t> vertices{0}, first_edge(count + 1), neighbour(1), defaults(3);
  for (idx_t r = 0; r < parts; ++r) vertices.push_back(vertices.back() + r + 1);
  std::vector<real_t> shares(static_cast<std::size_t>(parts), 1.0F), tolerances(1, 1.05F);

  std::vector<idx_t> part(count);
  ParMETIS_V3_PartKway(vertices.data(), first_edge.data(), neighbour.data(), nullptr, nullptr,
                       &no_weights, &from_0, &one_weight, &parts, shares.data(), tolerances.data(),
                       defaults.data(), &edges_cut, part.data(), &comm);

  const std::vector<int> ranks(part.begin(), part.end());  // a part for each rank
  count = valet::migrate(comm, cells, count, ranks).blocks_after;

  const int source = (rank + valet::test::size() - 1) % valet::test::size();
  EXPECT_TRUE(valet::test::all_ranks(count == static_cast<std::uint64_t>(source) + 1));
  owner.resize(count);
  EXPECT_TRUE(valet::test::all_ranks(std::count(owner.begin(), owner.end(), source) == source + 1));
}

}  // namespace
