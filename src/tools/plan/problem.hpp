// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tools/schedules.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace valet::plan {

/// A redistribution in numbers, and where it comes from.
struct Problem {
  std::string name;
  schedule::TransferMatrix matrix;
  std::vector<std::uint64_t> free;  ///< slots per rank, scratch included
};

/// What a pattern is made of.
struct PatternOptions {
  std::string name;
  /// 0: what the pattern is known for, 8 ranks and 100 blocks of a pair where it is for nothing.
  std::uint32_t ranks = 0;
  std::uint64_t blocks = 0;
  std::uint64_t seed = 1;
};

/// Names of the patterns that make_pattern() knows:
/// ring           every rank sends to the next
/// transpose      every rank sends the same to all others
/// random         each pair with probability 1/2, each with its own number of blocks
/// figure5        two ranks swap, a third has the memory (Pinar and Hendrickson Figure 5)
/// figure6        pairs swap a block, an odd rank has one free slot (Figure 6)
/// counterexample pairs swap a block, an odd rank has two free slots: with four pairs and more the
///                published bound of Theorem 4 does not hold
[[nodiscard]] const std::vector<std::string>& pattern_names();

/// A pattern with its free slots: those of the figures, otherwise a tenth of `blocks`, one at
/// least, on each rank beyond what it needs to be feasible.
/// @throws Error invalid_argument: unknown name, or a number of ranks that the pattern is not for.
[[nodiscard]] Problem make_pattern(const PatternOptions& options);

/// Pinar and Hendrickson's Figure 1: a redistribution that takes |V|+1 phases exactly if the graph
/// has a Hamiltonian circuit. Ranks: the vertices in order, the chain c_1 to c_|V|, the dummy d.
/// @param graph  An edge from i to j where it has blocks from i to j.
/// @param start  p*, the vertex that has the token at first. It must have one edge into it: with
///               more, p* needs no visit within |V| phases and graphs without a circuit pass, too.
/// @throws Error invalid_argument: fewer than 2 vertices, a vertex without an edge into it, a start
///         with another number of edges into it.
[[nodiscard]] Problem hamiltonian_gadget(const schedule::TransferMatrix& graph,
                                         std::uint32_t start);

/// The first vertex with one edge into it. @throws Error invalid_argument when there is none.
[[nodiscard]] std::uint32_t default_start(const schedule::TransferMatrix& graph);

/// T_ij, blocks from rank i to rank j, from a Matrix Market file: coordinate, integer, general or
/// symmetric, square. Entries on the diagonal stay where they are; equal pairs are added.
/// @param is_graph  The file may also be of the field pattern. An entry (i, j) is an edge from i to
///                  j, however many blocks it has.
/// @throws Error invalid_argument with file and line: not a Matrix Market file of this kind, not
///         square, an index or a number that does not parse or is out of range, too few entries.
[[nodiscard]] schedule::TransferMatrix read_matrix(const std::string& path, bool is_graph = false);

/// Free slots of every rank: `text` is a number, then for each rank alike, or the name of a file
/// with a number per rank, separated by white space; lines that begin with % or # are comments.
/// @throws Error invalid_argument with file and line: no such file, not a number, another count of
///         numbers than ranks.
[[nodiscard]] std::vector<std::uint64_t> read_free(const std::string& text, std::uint32_t ranks);

}  // namespace valet::plan
