// SPDX-License-Identifier: BSD-3-Clause
#include "output.hpp"

#include "memory.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>

namespace amr {

using namespace example;

namespace {

/// The files, in their order.
enum : std::size_t { regrids_csv, migrations_csv, leaves_csv };

/// All points with one coordinate, in edges of the cube.
struct Plane {
  int axis = 0;
  double place = 0.5;
  [[nodiscard]] bool cuts(const Leaf& leaf) const {
    return std::abs(leaf.centre(axis) - place) < 0.5 * leaf.length() / root_length;
  }
};

/// Among the planes through the middle of the smallest leaves, the one that cuts patches of
/// most ranks, and among these most that change their home, those with a front first.
Plane telling_plane(const Mesh& before, std::span<const int> home_after,
                    std::span<const std::uint8_t> has_front, int most_level) {
  const std::size_t planes = std::size_t{1} << most_level;
  std::vector<std::uint64_t> moving(3 * planes, 0), ranks(moving);
  for (LeafIndex leaf = 0; leaf < before.size(); ++leaf) {
    const bool moves = before.home[leaf] != home_after[leaf];
    const Leaf self = leaf_of(before.keys[leaf]);
    for (std::size_t d = 0; d < 3; ++d) {
      const auto first = std::size_t{self.corner[d]} >> (root_level - most_level);
      const auto size = std::size_t{self.length()} >> (root_level - most_level);
      for (std::size_t k = d * planes + first; k < d * planes + first + size; ++k) {
        moving[k] += !moves ? 0 : has_front[leaf] != 0 ? 100 : 1;
        ranks[k] |= std::uint64_t{1} << static_cast<unsigned>(home_after[leaf] % 64);
      }
    }
  }
  for (std::size_t k = 0; k < moving.size(); ++k)
    moving[k] += static_cast<std::uint64_t>(std::popcount(ranks[k])) << 48U;
  const auto most =
      static_cast<std::size_t>(std::max_element(moving.begin(), moving.end()) - moving.begin());
  return {static_cast<int>(most / planes),
          (static_cast<double>(most % planes) + 0.5) / static_cast<double>(planes)};
}

}  // namespace

Output::Output(MPI_Comm communicator, const Options& options)
    : CsvOutput(
          communicator, options.output, options.quiet,
          {{"regrids.csv",
            "regrid,step,balanced_by,patches,imbalance_before,imbalance_after,fullest_percent,"
            "moved_bytes,partition_seconds,migration_seconds,extra_bytes,limit_bytes,"
            "out_of_place_bytes,resident_ratio,alltoallv_all_seconds,alltoallv_leaving_seconds,"
            "compared_seconds"},
           {"migrations.csv",
            "rank,regrid,step,start_seconds,end_seconds,extra_bytes,limit_bytes,"
            "out_of_place_bytes,blocks_before,blocks_after,headroom_bytes,resident_bytes,"
            "resident_ratio,share_without,share_with"},
           {"leaves.csv", "regrid,axis,plane,u,v,length,rank_before,rank_after,front"}}),
      options_(options) {}

std::string Output::vtk_base(int step) const {
  return (std::filesystem::path(options_.output) / formatted("mesh_%06d", step)).string();
}

void Output::head(std::uint64_t leaves, std::uint64_t slots) {
  note(
      formatted("%llu patches of %zu bytes on %d ranks: %s; Views for %llu on each rank, %.2f "
                "times the mean",
                static_cast<unsigned long long>(leaves), Patches::block_bytes, size(),
                in_megabytes(leaves * Patches::block_bytes).c_str(),
                static_cast<unsigned long long>(slots), options_.capacity));
  note(formatted("levels %d to %d, %d x %d x %d cells per patch, %d variables",
                 options_.least_level, options_.most_level, edge_cells, edge_cells, edge_cells,
                 static_cast<int>(variables)));
  note(formatted("partition: %s; exchange: %s, order %s", to_string(options_.partitioner),
                 to_string(options_.exchange), valet::to_string(options_.migration.order)));
  if (options_.headroom_bytes > 0)
    note("the system refuses a rank more than " + in_megabytes(options_.headroom_bytes) +
         " beside the data that it has now; rank 0 has " + in_megabytes(data_bytes()));
  note("imbalance: largest over mean work of a rank; fullest: occupied slots of the fullest rank;");
  note("extra memory: most on any rank, beyond the Views and in packed send and receive buffers");
  note(
      "for the same patches; resident peak: over the resident size before, largest of the ranks\n");
  note(
      "                 imbalance      fullest   moved      time [s]        extra memory [MB]  "
      "resident  balanced");
  note(
      " step patches  before  after       [%]    [MB]  choose migrate    used  out of place      "
      "peak  by");
}

void Output::row(const Regrid& r) {
  note(
      formatted("%5d %7llu  %6.3f %6.3f    %6.1f  %6.1f  %6.3f %7.3f  %6.2f        %6.2f    %6.3f  "
                "%s",
                r.step, static_cast<unsigned long long>(r.patches), r.imbalance_before,
                r.imbalance_after, r.fullest_percent, megabytes(r.moved_bytes), r.partition_seconds,
                r.migration_seconds, megabytes(r.extra_bytes), megabytes(r.out_of_place_bytes),
                r.resident_ratio, r.balanced_by.c_str()));
  if (options_.compare)
    note(formatted(
        "       in place %.2f ms, of which %.2f between and %.2f within ranks; MPI_Alltoallv of "
        "all patches\n       %.2f ms (ratio %.2f), of those that leave %.2f ms (%.2f)",
        1e3 * r.comparison.in_place, 1e3 * r.comparison.between_ranks,
        1e3 * r.comparison.inside_ranks, 1e3 * r.comparison.alltoallv_all,
        r.comparison.in_place / r.comparison.alltoallv_all, 1e3 * r.comparison.alltoallv_leaving,
        r.comparison.in_place / r.comparison.alltoallv_leaving));
  if (rank() != 0) return;
  file(regrids_csv) << r.number << ',' << r.step << ',' << r.balanced_by << ',' << r.patches << ','
                    << r.imbalance_before << ',' << r.imbalance_after << ',' << r.fullest_percent
                    << ',' << r.moved_bytes << ',' << r.partition_seconds << ','
                    << r.migration_seconds << ',' << r.extra_bytes << ',' << r.limit_bytes << ','
                    << r.out_of_place_bytes << ',' << r.resident_ratio << ','
                    << r.comparison.alltoallv_all << ',' << r.comparison.alltoallv_leaving << ','
                    << r.comparison.in_place << '\n';
}

void Output::leaves(int number, const Mesh& before, std::span<const int> home_after,
                    std::span<const std::uint8_t> has_front) {
  if (rank() != 0) return;
  const Plane plane = telling_plane(before, home_after, has_front, options_.most_level);
  for (LeafIndex leaf = 0; leaf < before.size(); ++leaf) {
    const Leaf self = leaf_of(before.keys[leaf]);
    if (!plane.cuts(self)) continue;
    const double length = 1.0 * self.length() / root_length;
    file(leaves_csv) << number << ',' << "xyz"[plane.axis] << ',' << plane.place << ','
                     << self.centre(first_other(plane.axis)) - 0.5 * length << ','
                     << self.centre(second_other(plane.axis)) - 0.5 * length << ',' << length << ','
                     << before.home[leaf] << ',' << home_after[leaf] << ','
                     << static_cast<int>(has_front[leaf]) << '\n';
  }
}

void Output::memory(const std::vector<Migration>& migrations,
                    const std::vector<MemorySample>& samples) {
  for (const Migration& m : gather(communicator(), migrations))
    file(migrations_csv) << m.rank << ',' << m.number << ',' << m.step << ',' << m.start_seconds
                         << ',' << m.end_seconds << ',' << m.extra_bytes << ',' << m.limit_bytes
                         << ',' << m.out_of_place_bytes << ',' << m.blocks_before << ','
                         << m.blocks_after << ',' << m.headroom_bytes << ',' << m.resident_bytes
                         << ',' << m.resident_ratio << ',' << m.share_without << ',' << m.share_with
                         << '\n';
  CsvOutput::memory(samples);
}

}  // namespace amr
