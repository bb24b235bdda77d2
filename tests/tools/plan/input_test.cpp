// SPDX-License-Identifier: BSD-3-Clause

#include "problem.hpp"

#include "temporary_file.hpp"

namespace valet::plan {
namespace {

using test::TemporaryFile;

const std::string header = "%%MatrixMarket matrix coordinate integer general\n";

/// The text of the error that `call` throws.
std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
    return error.what();
  }
  return "accepted";
}

std::string matrix_refusal(const std::string& text) {
  const TemporaryFile file(text);
  return refusal([&] { (void)read_matrix(file.path()); });
}

#define VALET_EXPECT_PART(text, part) \
  EXPECT_NE(std::string(text).find(part), std::string::npos) << (text)

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
  VALET_EXPECT_PART(matrix_refusal("1 1 0\n"), "line 1: '%%MatrixMarket matrix coordinate integer");
  VALET_EXPECT_PART(matrix_refusal("%%MatrixMarket matrix array integer general\n"),
                    "line 1: format 'array' is not read: coordinate is");
  VALET_EXPECT_PART(matrix_refusal("%%MatrixMarket matrix coordinate real general\n"),
                    "line 1: field 'real' is not read: integer is");
  VALET_EXPECT_PART(matrix_refusal("%%MatrixMarket matrix coordinate integer hermitian\n"),
                    "line 1: symmetry 'hermitian' is not read");
  VALET_EXPECT_PART(matrix_refusal(header + "%\n3 4 0\n"),
                    "line 3: the matrix is not square: 3 rows and 4 columns");
  VALET_EXPECT_PART(matrix_refusal(header + "3 3\n"), "line 2: 'rows columns entries' is expected");
  VALET_EXPECT_PART(matrix_refusal(header + "2 2 2\n1 2 5\n1 x 5\n"),
                    "line 4: 'x' is no column: a whole number");
  VALET_EXPECT_PART(matrix_refusal(header + "2 2 1\n1 3 5\n"),
                    "line 3: column 3 is not within 1 and 2");
  VALET_EXPECT_PART(matrix_refusal(header + "2 2 1\n0 1 5\n"),
                    "line 3: row 0 is not within 1 and 2");
  VALET_EXPECT_PART(matrix_refusal(header + "2 2 1\n1 2 -5\n"),
                    "line 3: '-5' is no number of blocks");
  VALET_EXPECT_PART(matrix_refusal(header + "2 2 1\n1 2 5.5\n"),
                    "line 3: '5.5' is no number of blocks");
  VALET_EXPECT_PART(matrix_refusal(header + "2 2 1\n1 2 99999999999999999999\n"),
                    "line 3: number of blocks 99999999999999999999 is not within");
  VALET_EXPECT_PART(matrix_refusal(header + "2 2 1\n1 2\n"),
                    "line 3: 'row column blocks' is expected");
  VALET_EXPECT_PART(matrix_refusal(header + "2 2 2\n1 2 5\n"),
                    "line 4: the file ends after 1 of 2 entries");
  VALET_EXPECT_PART(matrix_refusal(header + "2 2 1\n1 2 5\n2 1 5\n"),
                    "line 4: there are more than the 1 entries announced");
  VALET_EXPECT_PART(matrix_refusal(""), "line 1:");
  VALET_EXPECT_PART(refusal([] { (void)read_matrix("/no/such/file"); }),
                    "cannot read '/no/such/file'");
}

TEST(FreeSlots, AreANumberOrAFile) {
  EXPECT_EQ(read_free("7", 3), (std::vector<std::uint64_t>{7, 7, 7}));
  const TemporaryFile file("# slots\n1 2\n% more\n\n3\n");
  EXPECT_EQ(read_free(file.path(), 3), (std::vector<std::uint64_t>{1, 2, 3}));
  VALET_EXPECT_PART(refusal([&] { (void)read_free(file.path(), 4); }),
                    "line 6: the file ends after 3 numbers, but the matrix has 4 ranks");
  VALET_EXPECT_PART(refusal([&] { (void)read_free(file.path(), 2); }),
                    "line 5: more numbers than the matrix has ranks, 2");
  const TemporaryFile bad("1\ntwo\n");
  VALET_EXPECT_PART(refusal([&] { (void)read_free(bad.path(), 2); }),
                    "line 2: 'two' is no number of free slots");
  VALET_EXPECT_PART(refusal([] { (void)read_free("-4", 2); }), "cannot read '-4'");
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
  VALET_EXPECT_PART(refusal([] { (void)make_pattern({.name = "star"}); }),
                    "unknown pattern 'star'; known: ring, transpose, random, figure5, figure6, "
                    "counterexample");
  VALET_EXPECT_PART(refusal([] { (void)make_pattern({.name = "figure6", .ranks = 8}); }),
                    "give an odd number of ranks from 3 on, not 8");
  VALET_EXPECT_PART(refusal([] { (void)make_pattern({.name = "ring", .ranks = 1}); }),
                    "needs 2 ranks at least");
}

TEST(Gadget, RefusesGraphsThatItIsNotFor) {
  const schedule::TransferMatrix open(3, {{0, 1, 1}, {1, 2, 1}});
  VALET_EXPECT_PART(refusal([&] { (void)hamiltonian_gadget(open, 1); }),
                    "vertex 1 has no edge into it");
  const schedule::TransferMatrix dense(
      3, {{0, 1, 1}, {1, 2, 1}, {2, 0, 1}, {1, 0, 1}, {2, 1, 1}, {0, 2, 1}});
  VALET_EXPECT_PART(refusal([&] { (void)hamiltonian_gadget(dense, 2); }),
                    "start vertex 3 has 2 edges into it: it must be 1");
  VALET_EXPECT_PART(refusal([&] { (void)default_start(dense); }),
                    "no vertex has exactly one edge into it");
  VALET_EXPECT_PART(refusal([&] { (void)hamiltonian_gadget(schedule::TransferMatrix(1, {}), 0); }),
                    "fewer than 2 vertices");
  VALET_EXPECT_PART(refusal([&] { (void)hamiltonian_gadget(dense, 3); }), "there is no vertex 4");
}

}  // namespace
}  // namespace valet::plan
