// SPDX-License-Identifier: BSD-3-Clause
#include "problem.hpp"

#include "tools/text_file.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <random>

namespace valet::plan {
namespace {

using tools::refuse;
using tools::TextFile;

/// What the first lines of a Matrix Market file say.
struct Header {
  bool has_values = true;
  bool is_symmetric = false;
  std::uint32_t size = 0;
  std::uint64_t entries = 0;
};

Header read_header(TextFile& file, bool is_graph) {
  TextFile::Words words = file.next_words();
  for (std::string& word : words)
    std::ranges::transform(word, word.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (words.size() != 5 || words[0] != "%%matrixmarket" || words[1] != "matrix")
    file.fail("'%%MatrixMarket matrix coordinate integer general' is expected first");
  Header header;
  header.has_values = words[3] == "integer";
  header.is_symmetric = words[4] == "symmetric";
  if (words[2] != "coordinate") file.fail("format '", words[2], "' is not read: coordinate is");
  if (!header.has_values && !(is_graph && words[3] == "pattern"))
    file.fail("field '", words[3],
              "' is not read: ", (is_graph ? "pattern and integer are" : "integer is"));
  if (!header.is_symmetric && words[4] != "general")
    file.fail("symmetry '", words[4], "' is not read: general and symmetric are");

  file.skip_comments("%");
  words = file.next_words();
  if (words.size() != 3) file.fail("'rows columns entries' is expected");
  constexpr std::uint64_t most = std::uint64_t{1} << 24U;  // ranks of any machine, and no slip
  const std::uint64_t rows = file.number(words[0], "number of rows", 1, most);
  const std::uint64_t columns = file.number(words[1], "number of columns", 1, most);
  header.entries = file.number(words[2], "number of entries");
  if (rows != columns)
    file.fail("the matrix is not square: ", words[0], " rows and ", words[1],
              " columns; both are the number of ranks");
  header.size = static_cast<std::uint32_t>(rows);
  return header;
}

using schedule::TransferEntry;
using schedule::TransferMatrix;

Problem of_all_pairs(const PatternOptions& options, std::uint32_t ranks, std::uint64_t blocks) {
  std::mt19937_64 random(options.seed);
  std::vector<TransferEntry> transfers;
  for (std::uint32_t source = 0; source < ranks; ++source)
    for (std::uint32_t destination = 0; destination < ranks; ++destination) {
      if (options.name == "ring" && destination != (source + 1) % ranks) continue;
      std::uint64_t count = blocks;
      if (options.name == "random") {
        if (random() % 2 == 0) continue;
        count = std::uniform_int_distribution<std::uint64_t>(1, blocks)(random);
      }
      transfers.push_back({source, destination, count});
    }
  Problem problem{options.name, TransferMatrix(ranks, std::move(transfers)), {}};
  problem.free = schedule::least_free(problem.matrix, std::max<std::uint64_t>(1, blocks / 10));
  return problem;
}

/// Pairs of ranks that swap `blocks` blocks, and a last rank with `free` free slots.
Problem of_swaps(const PatternOptions& options, std::uint32_t ranks, std::uint64_t blocks,
                 std::uint64_t free) {
  if (ranks % 2 == 0 || ranks < 3)
    refuse("pattern '", options.name,
           "' is for pairs of ranks and one more: give an odd number of ranks from 3 on, not ",
           ranks);
  std::vector<TransferEntry> transfers;
  for (std::uint32_t rank = 0; rank + 1 < ranks; rank += 2) {
    transfers.push_back({rank, rank + 1, blocks});
    transfers.push_back({rank + 1, rank, blocks});
  }
  Problem problem{options.name, TransferMatrix(ranks, std::move(transfers)),
                  std::vector<std::uint64_t>(ranks, 0)};
  problem.free.back() = free;
  return problem;
}

std::vector<std::uint32_t> in_degrees(const TransferMatrix& graph) {
  std::vector<std::uint32_t> degrees(graph.ranks(), 0);
  for (const TransferEntry& edge : graph.transfers()) ++degrees[edge.destination];
  return degrees;
}

void check_graph(const TransferMatrix& graph, std::uint32_t start) {
  if (graph.ranks() < 2) refuse("the graph has fewer than 2 vertices: no circuit to look for");
  const std::vector<std::uint32_t> degrees = in_degrees(graph);
  for (std::size_t vertex = 0; vertex < degrees.size(); ++vertex)
    if (degrees[vertex] == 0)
      refuse("vertex ", vertex + 1, " has no edge into it: the graph has no Hamiltonian circuit");
  if (start >= graph.ranks())
    refuse("there is no vertex ", std::uint64_t{start} + 1, " to start from");
  if (degrees[start] != 1)
    refuse("start vertex ", start + 1, " has ", degrees[start],
           " edges into it: it must be 1, or graphs without a Hamiltonian circuit pass, too");
}

}  // namespace

schedule::TransferMatrix read_matrix(const std::string& path, bool is_graph) {
  TextFile file(path, "");
  const Header header = read_header(file, is_graph);
  const std::size_t words_per_line = header.has_values ? 3 : 2;
  std::vector<schedule::TransferEntry> transfers;
  for (std::uint64_t entry = 0; entry < header.entries; ++entry) {
    const TextFile::Words words = file.next_words();
    if (words.empty()) file.fail("the file ends after ", entry, " of ", header.entries, " entries");
    if (words.size() != words_per_line)
      file.fail(header.has_values ? "'row column blocks' is expected" : "'row column' is expected");
    const auto row = static_cast<std::uint32_t>(file.number(words[0], "row", 1, header.size) - 1);
    const auto column =
        static_cast<std::uint32_t>(file.number(words[1], "column", 1, header.size) - 1);
    const std::uint64_t blocks =
        header.has_values ? file.number(words[2], "number of blocks", 0, schedule::most_blocks) : 1;
    transfers.push_back({row, column, blocks});
    if (header.is_symmetric && row != column) transfers.push_back({column, row, blocks});
  }
  if (!file.next_words().empty())
    file.fail("there are more than the ", header.entries, " entries announced");
  return {header.size, std::move(transfers)};
}

std::vector<std::uint64_t> read_free(const std::string& text, std::uint32_t ranks) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && rest == end) return std::vector<std::uint64_t>(ranks, number);

  TextFile file(text, "%#");
  std::vector<std::uint64_t> free;
  while (const auto words = file.next())
    for (const std::string& word : *words) {
      free.push_back(file.number(word, "number of free slots", 0, schedule::most_blocks));
      if (free.size() > ranks) file.fail("more numbers than the matrix has ranks, ", ranks);
    }
  if (free.size() < ranks)
    file.fail("the file ends after ", free.size(), " numbers, but the matrix has ", ranks,
              " ranks");
  return free;
}

const std::vector<std::string>& pattern_names() {
  static const std::vector<std::string> names{"ring",    "transpose", "random",
                                              "figure5", "figure6",   "counterexample"};
  return names;
}

Problem make_pattern(const PatternOptions& options) {
  const auto blocks_or = [&](std::uint64_t usual) {
    return options.blocks > 0 ? options.blocks : usual;
  };
  if (options.name == "figure5") {
    Problem problem = of_swaps(options, 3, blocks_or(100), blocks_or(100));
    problem.free[0] = 1;
    problem.free[1] = 1;
    return problem;
  }
  const auto ranks_or = [&](std::uint32_t usual) {
    return options.ranks > 0 ? options.ranks : usual;
  };
  if (options.name == "figure6") return of_swaps(options, ranks_or(7), blocks_or(1), 1);
  if (options.name == "counterexample") return of_swaps(options, ranks_or(9), blocks_or(1), 2);
  if (options.name != "ring" && options.name != "transpose" && options.name != "random")
    refuse("unknown pattern '", options.name, "'; known: ", tools::listed(pattern_names()));
  if (ranks_or(8) < 2) refuse("pattern '", options.name, "' needs 2 ranks at least");
  return of_all_pairs(options, ranks_or(8), blocks_or(100));
}

std::uint32_t default_start(const TransferMatrix& graph) {
  const std::vector<std::uint32_t> degrees = in_degrees(graph);
  const auto found = std::find(degrees.begin(), degrees.end(), 1U);
  if (found == degrees.end())
    refuse(
        "no vertex has exactly one edge into it, as the start of the gadget must: add a vertex on "
        "an edge that every circuit takes, or try another graph");
  return static_cast<std::uint32_t>(found - degrees.begin());
}

Problem hamiltonian_gadget(const TransferMatrix& graph, std::uint32_t start) {
  check_graph(graph, start);
  const std::uint32_t vertices = graph.ranks();
  const std::uint64_t surplus = graph.transfers().size() - vertices;
  const std::vector<std::uint32_t> degrees = in_degrees(graph);
  const std::uint32_t first_of_chain = vertices;
  const std::uint32_t last_of_chain = 2 * vertices - 1;
  const std::uint32_t dummy = 2 * vertices;
  std::vector<TransferEntry> transfers;
  for (const TransferEntry& edge : graph.transfers())
    transfers.push_back({edge.source, edge.destination, 1});
  for (std::uint32_t vertex = 0; vertex < vertices; ++vertex)
    transfers.push_back({vertex, last_of_chain, degrees[vertex] - std::uint64_t{1}});
  for (std::uint32_t rank = first_of_chain; rank < last_of_chain; ++rank)
    transfers.push_back({rank + 1, rank, surplus});
  transfers.push_back({dummy, start, 1});
  Problem problem{"hamiltonian gadget", TransferMatrix(dummy + 1, std::move(transfers)),
                  std::vector<std::uint64_t>(dummy + 1, 0)};
  problem.free[first_of_chain] = surplus;
  problem.free[start] = 1;
  return problem;
}

}  // namespace valet::plan
