// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Where the instances of the phases benchmark come from (Pinar and Hendrickson section 7): a graph
/// is partitioned by Zoltan, then vertices move until the subdomains that are extended by the
/// vertices next to them are balanced.

#include "graph.hpp"

#include <vector>

namespace valet::bench {

/// One of `part_count` parts for every vertex, by Zoltan's hypergraph partitioner. Collective over
/// MPI_COMM_WORLD; every rank gets all.
/// @throws std::runtime_error when Zoltan fails.
[[nodiscard]] std::vector<int> partition(const Graph& graph, int part_count, std::uint64_t seed);

/// The same parts with other numbers: those that have most vertices in common with a part of before
/// get its number, greedily. Local.
[[nodiscard]] std::vector<int> renamed_to_stay(const std::vector<int>& parts,
                                               const std::vector<int>& before, int part_count);

/// Vertices of each part, and those of other parts that are `layers` edges away from it at most.
[[nodiscard]] std::vector<std::uint64_t> overlapped_sizes(const Graph& graph,
                                                          const std::vector<int>& parts,
                                                          int part_count, int layers);

/// Moves vertices between adjacent parts, from larger to smaller overlapped sizes, and returns the
/// partition whose largest is least. Local; the same on all ranks.
[[nodiscard]] std::vector<int> balance_overlap(const Graph& graph, const std::vector<int>& parts,
                                               int part_count, int layers);

}  // namespace valet::bench
