// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Instances of A. Pinar, B. Hendrickson, "Interprocessor Communication with Limited Memory", IEEE
/// TPDS 15(7), 2004, section 7: vertices of a graph go from a partition by Zoltan to one whose
/// overlapped subdomains are balanced. As there, one graph gives many instances: its partitions
/// differ by their seed.

#include "graph.hpp"
#include "patterns.hpp"
#include "tools/schedules.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace valet::bench {

/// A partition and the one that it is to become. A part is a processor; there may be more of them
/// than ranks.
struct Instance {
  /// Where the new partition comes from. "diffuse": the old one, adjusted as in the paper; a few
  /// blocks move, most of them one way. "scratch": another one of Zoltan, adjusted, parts numbered
  /// to keep what they can; much moves both ways, and many phases are needed where memory is tight.
  std::string remap;
  std::uint64_t number = 0;
  int parts = 0;
  std::vector<int> before, after;  ///< part of each vertex

  [[nodiscard]] schedule::TransferMatrix matrix() const;
  /// The same vertices on as many processors as there are ranks: part p on rank p mod P.
  [[nodiscard]] Instance folded() const;
  /// A block for each vertex, and slots for those before and those after. Parts are ranks.
  [[nodiscard]] Map map() const;
};

/// Memory of a processor beyond what it needs in the end, if it is one `part`th of the most that
/// one receives, which one phase needs; at least one block.
[[nodiscard]] std::uint64_t memory_of(const schedule::TransferMatrix& matrix, std::uint64_t part);

/// `count` instances of each remap. Collective over MPI_COMM_WORLD; every rank gets all.
/// @throws std::runtime_error when Zoltan fails.
[[nodiscard]] std::vector<Instance> make_instances(const Graph& graph, int parts, int layers,
                                                   const std::vector<std::string>& remaps,
                                                   std::uint64_t count, std::uint64_t seed);

}  // namespace valet::bench
