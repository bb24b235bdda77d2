// SPDX-License-Identifier: BSD-3-Clause
#include "input.hpp"

#include "tools/text_file.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace valet::plan {
namespace {

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
  if (words[2] != "coordinate") file.fail("format '" + words[2] + "' is not read: coordinate is");
  if (!header.has_values && !(is_graph && words[3] == "pattern"))
    file.fail("field '" + words[3] +
              "' is not read: " + (is_graph ? "pattern and integer are" : "integer is"));
  if (!header.is_symmetric && words[4] != "general")
    file.fail("symmetry '" + words[4] + "' is not read: general and symmetric are");

  file.skip_comments("%");
  words = file.next_words();
  if (words.size() != 3) file.fail("'rows columns entries' is expected");
  constexpr std::uint64_t most = std::uint64_t{1} << 24U;  // ranks of any machine, and no slip
  const std::uint64_t rows = file.number(words[0], "number of rows", 1, most);
  const std::uint64_t columns = file.number(words[1], "number of columns", 1, most);
  header.entries = file.number(words[2], "number of entries");
  if (rows != columns)
    file.fail("the matrix is not square: " + words[0] + " rows and " + words[1] +
              " columns; both are the number of ranks");
  header.size = static_cast<std::uint32_t>(rows);
  return header;
}

}  // namespace

schedule::TransferMatrix read_matrix(const std::string& path, bool is_graph) {
  TextFile file(path, "");
  const Header header = read_header(file, is_graph);
  const std::size_t words_per_line = header.has_values ? 3 : 2;
  std::vector<schedule::TransferEntry> transfers;
  for (std::uint64_t entry = 0; entry < header.entries; ++entry) {
    const TextFile::Words words = file.next_words();
    if (words.empty())
      file.fail("the file ends after " + std::to_string(entry) + " of " +
                std::to_string(header.entries) + " entries");
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
    file.fail("there are more than the " + std::to_string(header.entries) + " entries announced");
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
      if (free.size() > ranks)
        file.fail("more numbers than the matrix has ranks, " + std::to_string(ranks));
    }
  if (free.size() < ranks)
    file.fail("the file ends after " + std::to_string(free.size()) +
              " numbers, but the matrix has " + std::to_string(ranks) + " ranks");
  return free;
}

}  // namespace valet::plan
