// SPDX-License-Identifier: BSD-3-Clause

// Graph files in the format of METIS and Chaco, and the graphs that the benchmark makes.

#include "temporary_file.hpp"

#include <bench/graph.hpp>

namespace valet::bench {
namespace {

using test::TemporaryFile;
using Neighbours = std::vector<std::vector<std::uint32_t>>;

Neighbours neighbours_of(const Graph& graph) {
  Neighbours result;
  for (std::uint32_t v = 0; v < graph.vertices(); ++v)
    result.emplace_back(graph.neighbours.begin() + graph.first[v],
                        graph.neighbours.begin() + graph.first[v + 1]);
  return result;
}

Neighbours neighbours_in(const std::string& text) {
  const TemporaryFile file(text);
  return neighbours_of(read_graph(file.path()));
}

/// A triangle, and a vertex without neighbours.
const Neighbours triangle{{1, 2}, {0, 2}, {0, 1}, {}};

TEST(GraphFile, ReadsNeighboursFromOne) {
  EXPECT_EQ(neighbours_in("4 3\n2 3\n1 3\n1 2\n\n"), triangle);
}

TEST(GraphFile, SkipsComments) {
  EXPECT_EQ(neighbours_in("% a triangle\n4 3\n%\n2 3\n% 7 8 9\n1 3\n1 2\n\n% the end\n"), triangle);
}

TEST(GraphFile, SkipsWeightsOfEdgesAndVertices) {
  EXPECT_EQ(neighbours_in("4 3 0\n2 3\n1 3\n1 2\n\n"), triangle);
  EXPECT_EQ(neighbours_in("4 3 1\n2 70 3 80\n1 70 3 90\n1 80 2 90\n\n"), triangle);
  EXPECT_EQ(neighbours_in("4 3 10\n5 2 3\n6 1 3\n7 1 2\n8\n"), triangle);
  EXPECT_EQ(neighbours_in("4 3 011 2\n5 5 2 70 3 80\n6 6 1 70 3 90\n7 7 1 80 2 90\n8 8\n"),
            triangle);
  EXPECT_EQ(neighbours_in("4 3 110 1\n4 5 2 3\n4 6 1 3\n4 7 1 2\n4 8\n"), triangle);
}

TEST(GraphFile, LinesBehindTheLastVertexMayBeEmpty) {
  EXPECT_EQ(neighbours_in("4 3\n2 3\n1 3\n1 2\n\n\n\n"), triangle);
}

TEST(GraphFile, SaysInWhichLineSomethingIsWrong) {
  const std::vector<std::pair<std::string, std::string>> files{
      {"", "line 1: the numbers of vertices and edges are expected"},
      {"% only a comment\n4\n", "line 2: the numbers of vertices and edges are expected"},
      {"4 3 0 1 1\n", "line 1: the numbers of vertices and edges are expected"},
      {"four 3\n", "line 1: 'four' is no number"},
      {"4 -3\n", "line 1: '-3' is no number"},
      {"0 0\n", "line 1: 0 vertices, but 1 to 2147483647 can be read"},
      {"5000000000 0\n", "line 1: 5000000000 vertices, but 1 to"},
      {"4 3 12\n", "line 1: '12' is no code for weights; 0, 1, 10, 11 or"},
      {"4 3 1111\n", "line 1: '1111' is no code for weights"},
      {"4 3 10 two\n", "line 1: 'two' is no number"},
      {"4 3\n2 3\n1 x\n1 2\n\n", "line 3: 'x' is no number"},
      {"4 3\n2 3\n1 3.5\n1 2\n\n", "line 3: '3.5' is no number"},
      {"4 3\n2 3\n%\n1 0\n1 2\n\n", "line 4: vertex 0, but they are 1 to 4"},
      {"4 3\n2 5\n1 3\n1 2\n\n", "line 2: vertex 5, but they are 1 to 4"},
      {"4 3\n2 3\n1 2\n1 2\n\n", "line 3: vertex 2 is its own neighbour"},
      {"4 3\n2 3\n1 3\n", "line 4: the file ends before vertex 3 of 4"},
      {"4 3\n2 3\n1 3\n1 2\n\n1 2\n", "line 6: more lines than 4 vertices"},
      {"4 3 1\n2 70 3\n1 70 3 90\n1 80 2 90\n\n", "line 2: a weight is missing"},
      {"4 3 10\n5 2 3\n6 1 3\n7 1 2\n\n", "line 5: a weight is missing"},
      {"4 3\n2 3\n1 3\n%\n2\n\n", "line 2: vertex 1 has the neighbour 3, which does not have it"},
      {"%\n4 5\n2 3\n1 3\n1 2\n\n", "line 2: 5 edges, but 3 are listed"},
  };
  for (const auto& [text, expected] : files) {
    const TemporaryFile file(text);
    SCOPED_TRACE(text);
    test::expect_thrown(ErrorCode::invalid_argument, {file.path() + ", " + expected},
                        [&] { static_cast<void>(read_graph(file.path())); });
  }
}

TEST(GraphFile, MayBeMissing) {
  test::expect_thrown(ErrorCode::invalid_argument, {"cannot read '/no/such.graph'"},
                      [] { static_cast<void>(read_graph("/no/such.graph")); });
}

void expect_both_ways(const Graph& graph) {
  const Neighbours neighbours = neighbours_of(graph);
  for (std::uint32_t v = 0; v < neighbours.size(); ++v)
    for (const std::uint32_t w : neighbours[v]) {
      EXPECT_NE(v, w);
      EXPECT_EQ(std::count(neighbours[w].begin(), neighbours[w].end(), v), 1) << v << " " << w;
    }
}

TEST(MadeGraphs, GridHasThreeDirections) {
  const Graph graph = grid_graph(4);
  EXPECT_EQ(graph.vertices(), 64U);
  EXPECT_EQ(graph.neighbours.size(), 2U * 3 * 4 * 4 * 3);
  expect_both_ways(graph);
}

TEST(MadeGraphs, GeometricHasTheDegreeThatIsAskedFor) {
  const Graph graph = geometric_graph(5000, 6, 3);
  EXPECT_EQ(graph.vertices(), 5000U);
  const double degree = static_cast<double>(graph.neighbours.size()) / graph.vertices();
  EXPECT_NEAR(degree, 6, 0.5) << "less at the boundary";
  expect_both_ways(graph);
  EXPECT_EQ(graph.neighbours, geometric_graph(5000, 6, 3).neighbours) << "the same seed";
  EXPECT_NE(graph.neighbours, geometric_graph(5000, 6, 4).neighbours);
}

}  // namespace
}  // namespace valet::bench
