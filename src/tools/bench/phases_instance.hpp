// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Instances of A. Pinar, B. Hendrickson, "Interprocessor Communication with Limited Memory", IEEE
/// TPDS 15(7), 2004, section 7: vertices of a graph go from a partition by Zoltan to one whose
/// overlapped subdomains are balanced. As there, one graph gives many instances: its partitions
/// differ by their seed.

#include "graph.hpp"
#include "schedule/transfer_matrix.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace valet::bench {

/// Where the new partition comes from.
enum class Remap {
  diffuse,  ///< the old one, adjusted as in the paper: a few blocks move, most of them one way
  scratch,  ///< another one of Zoltan, adjusted, parts numbered to keep what they can: much moves
            ///< both ways, and many phases are needed where memory is tight
};
[[nodiscard]] const char* to_string(Remap remap);
/// @throws Error invalid_argument that lists the known names.
[[nodiscard]] Remap parse_remap(const std::string& name);

/// A partition and the one that it is to become. A part is a processor; there may be more of them
/// than ranks.
struct Instance {
  std::string remap;
  std::uint64_t number = 0;
  int parts = 0;
  std::vector<int> before, after;  ///< part of each vertex

  [[nodiscard]] schedule::TransferMatrix matrix() const;
  /// Free blocks of every part: `extra` more than it needs for what it has in the end.
  [[nodiscard]] std::vector<std::uint64_t> free(std::uint64_t extra) const;
  /// The most that a part receives: with so much memory one phase is enough.
  [[nodiscard]] std::uint64_t most_received() const;
  /// The same vertices on fewer processors: part p becomes part p mod `count`.
  [[nodiscard]] Instance folded(int count) const;
};

/// `count` instances of each kind. Collective over MPI_COMM_WORLD; every rank gets all.
/// @throws std::runtime_error when Zoltan fails.
[[nodiscard]] std::vector<Instance> make_instances(const Graph& graph, int parts, int layers,
                                                   const std::vector<Remap>& remaps,
                                                   std::uint64_t count, std::uint64_t seed);

}  // namespace valet::bench
