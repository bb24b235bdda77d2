// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Where the instances of the phases benchmark come from (Pinar and Hendrickson section 7): a graph
/// is partitioned by Zoltan, then vertices move until the subdomains that are extended by the
/// vertices next to them are balanced.

#include "graph.hpp"

#include <vector>

namespace valet::bench {

/// A part, which is a rank, for every vertex, by Zoltan's hypergraph partitioner. Collective over
/// MPI_COMM_WORLD; every rank gets all.
/// @throws std::runtime_error when Zoltan fails.
[[nodiscard]] std::vector<int> partition(const Graph& graph, std::uint64_t seed);

/// Vertices of each part and those of other parts next to them.
[[nodiscard]] std::vector<std::uint64_t> overlapped_sizes(const Graph& graph,
                                                          const std::vector<int>& parts,
                                                          int part_count);

/// Moves vertices from parts whose overlapped size is above the mean to adjacent ones with a
/// smaller one, as long as the largest shrinks. The same on all ranks.
[[nodiscard]] std::vector<int> balance_overlap(const Graph& graph, const std::vector<int>& parts,
                                               int part_count);

}  // namespace valet::bench
