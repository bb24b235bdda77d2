// SPDX-License-Identifier: BSD-3-Clause

#include "problem.hpp"
#include "temporary_file.hpp"

namespace valet::plan {
namespace {

using test::TemporaryFile;

const std::string header = "%%MatrixMarket matrix coordinate integer general\n";

void expect_refused(const std::string& part, const std::function<void()>& call) {
  test::expect_thrown(ErrorCode::invalid_argument, {part}, call);
}
void expect_no_matrix(const std::string& text, const std::string& part) {
  const TemporaryFile file(text);
  expect_refused(part, [&] { (void)read_matrix(file.path()); });
}

TEST(MatrixFile, IsRead) {
  const TemporaryFile file(header + "% blocks\n\n3 3 4\n1 2 5\n3 1 7\n% more\n2 2 9\n1 2 1\n");
  const schedule::TransferMatrix matrix = read_matrix(file.path());
  EXPECT_EQ(matrix.ranks(), 3U);
  ASSERT_EQ(matrix.transfers().size(), 2U);
  EXPECT_EQ(matrix.transfers()[0], (schedule::TransferEntry{2, 0, 7}));
  EXPECT_EQ(matrix.transfers()[1], (schedule::TransferEntry{0, 1, 6}));
}

TEST(MatrixFile, SymmetricEntriesGoBothWays) {
  const TemporaryFile file("%%MatrixMarket MATRIX Coordinate Integer Symmetric\n2 2 1\n2 1 4\n");
  EXPECT_EQ(read_matrix(file.path()).volume(), 8U);
}

TEST(MatrixFile, ErrorsNameTheLine) {
  expect_no_matrix("1 1 0\n", "line 1: '%%MatrixMarket matrix coordinate integer");
  expect_no_matrix("%%MatrixMarket matrix array integer general\n",
                   "line 1: format 'array' is not read: coordinate is");
  expect_no_matrix("%%MatrixMarket matrix coordinate real general\n",
                   "line 1: field 'real' is not read: integer is");
  expect_no_matrix("%%MatrixMarket matrix coordinate integer hermitian\n",
                   "line 1: symmetry 'hermitian' is not read");
  expect_no_matrix(header + "%\n3 4 0\n", "line 3: the matrix is not square: 3 rows and 4 columns");
  expect_no_matrix(header + "3 3\n", "line 2: 'rows columns entries' is expected");
  expect_no_matrix(header + "2 2 2\n1 2 5\n1 x 5\n", "line 4: 'x' is no column: a whole number");
  expect_no_matrix(header + "2 2 1\n1 3 5\n", "line 3: column 3 is not within 1 and 2");
  expect_no_matrix(header + "2 2 1\n0 1 5\n", "line 3: row 0 is not within 1 and 2");
  expect_no_matrix(header + "2 2 1\n1 2 -5\n", "line 3: '-5' is no number of blocks");
  expect_no_matrix(header + "2 2 1\n1 2 5.5\n", "line 3: '5.5' is no number of blocks");
  expect_no_matrix(header + "2 2 1\n1 2 99999999999999999999\n",
                   "line 3: number of blocks 99999999999999999999 is not within");
  expect_no_matrix(header + "2 2 1\n1 2\n", "line 3: 'row column blocks' is expected");
  expect_no_matrix(header + "2 2 2\n1 2 5\n", "line 4: the file ends after 1 of 2 entries");
  expect_no_matrix(header + "2 2 1\n1 2 5\n2 1 5\n",
                   "line 4: there are more than the 1 entries announced");
  expect_no_matrix("", "line 1:");
  expect_refused("cannot read '/no/such/file'", [] { (void)read_matrix("/no/such/file"); });
}

TEST(FreeSlots, AreANumberOrAFile) {
  EXPECT_EQ(read_free("7", 3), (std::vector<std::uint64_t>{7, 7, 7}));
  const TemporaryFile file("# slots\n1 2\n% more\n\n3\n");
  EXPECT_EQ(read_free(file.path(), 3), (std::vector<std::uint64_t>{1, 2, 3}));
  expect_refused("line 6: the file ends after 3 numbers, but the matrix has 4 ranks",
                 [&] { (void)read_free(file.path(), 4); });
  expect_refused("line 5: more numbers than the matrix has ranks, 2",
                 [&] { (void)read_free(file.path(), 2); });
  const TemporaryFile bad("1\ntwo\n");
  expect_refused("line 2: 'two' is no number of free slots",
                 [&] { (void)read_free(bad.path(), 2); });
  expect_refused("cannot read '-4'", [] { (void)read_free("-4", 2); });
}

TEST(Patterns, AreFeasible) {
  for (const std::string& name : pattern_names())
    for (const std::uint32_t ranks : {3U, 7U, 9U}) {
      const Problem problem = make_pattern({.name = name, .ranks = ranks});
      EXPECT_NO_THROW(schedule::check_feasible(problem.matrix, problem.free)) << name;
      EXPECT_GT(problem.matrix.volume(), 0U) << name;
    }
}

TEST(Patterns, RefuseWhatTheyAreNotFor) {
  expect_refused(
      "unknown pattern 'star'; known: ring, transpose, random, figure5, figure6, "
      "counterexample",
      [] { (void)make_pattern({.name = "star"}); });
  expect_refused("give an odd number of ranks from 3 on, not 8",
                 [] { (void)make_pattern({.name = "figure6", .ranks = 8}); });
  expect_refused("needs 2 ranks at least",
                 [] { (void)make_pattern({.name = "ring", .ranks = 1}); });
}

TEST(Gadget, RefusesGraphsThatItIsNotFor) {
  const schedule::TransferMatrix open(3, {{0, 1, 1}, {1, 2, 1}});
  expect_refused("vertex 1 has no edge into it", [&] { (void)hamiltonian_gadget(open, 1); });
  const schedule::TransferMatrix dense(
      3, {{0, 1, 1}, {1, 2, 1}, {2, 0, 1}, {1, 0, 1}, {2, 1, 1}, {0, 2, 1}});
  expect_refused("start vertex 3 has 2 edges into it: it must be 1",
                 [&] { (void)hamiltonian_gadget(dense, 2); });
  expect_refused("no vertex has exactly one edge into it", [&] { (void)default_start(dense); });
  expect_refused("fewer than 2 vertices",
                 [&] { (void)hamiltonian_gadget(schedule::TransferMatrix(1, {}), 0); });
  expect_refused("there is no vertex 4", [&] { (void)hamiltonian_gadget(dense, 3); });
}

}  // namespace
}  // namespace valet::plan
