// SPDX-License-Identifier: BSD-3-Clause
#include "input.hpp"

#include <valet/error.hpp>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fstream>
#include <limits>
#include <sstream>
#include <string_view>

namespace valet::plan {
namespace {

/// A text file, line by line, with what errors say about where they are.
class Lines {
 public:
  explicit Lines(const std::string& path) : path_(path), file_(path) {
    if (!file_)
      throw Error(ErrorCode::invalid_argument, "cannot read '" + path + "': is there such a file?");
  }

  /// The words of the next line that has any and is no comment; empty at the end of the file.
  std::vector<std::string> next(std::string_view comments) {
    std::string line;
    while (std::getline(file_, line)) {
      ++number_;
      if (!line.empty() && comments.find(line.front()) != std::string_view::npos) continue;
      std::istringstream stream(line);
      std::vector<std::string> words;
      for (std::string word; stream >> word;) words.push_back(word);
      if (!words.empty()) return words;
    }
    ++number_;
    return {};
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::invalid_argument,
                path_ + ", line " + std::to_string(number_) + ": " + what);
  }

  /// A number from `least` to `most`.
  [[nodiscard]] std::uint64_t number(const std::string& word, std::uint64_t least,
                                     std::uint64_t most, const std::string& what) const {
    std::uint64_t value = 0;
    const char* const end = word.data() + word.size();
    const auto [rest, error] = std::from_chars(word.data(), end, value);
    if (error == std::errc::result_out_of_range ||
        (error == std::errc() && rest == end && (value < least || value > most)))
      fail(what + " " + word + " is not within " + std::to_string(least) + " and " +
           std::to_string(most));
    if (error != std::errc() || rest != end)
      fail("'" + word + "' is no " + what + ": a whole number from " + std::to_string(least) +
           " on is expected");
    return value;
  }

 private:
  std::string path_;
  std::ifstream file_;
  std::uint64_t number_ = 0;
};

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// What the first lines of a Matrix Market file say.
struct Header {
  bool has_values = true;
  bool is_symmetric = false;
  std::uint32_t size = 0;
  std::uint64_t entries = 0;
};

Header read_header(Lines& lines, bool may_be_pattern) {
  std::vector<std::string> words = lines.next("");
  for (std::string& word : words) word = lower_case(word);
  if (words.size() != 5 || words[0] != "%%matrixmarket" || words[1] != "matrix")
    lines.fail("'%%MatrixMarket matrix coordinate integer general' is expected first");
  Header header;
  header.has_values = words[3] == "integer";
  header.is_symmetric = words[4] == "symmetric";
  if (words[2] != "coordinate") lines.fail("format '" + words[2] + "' is not read: coordinate is");
  if (!header.has_values && !(may_be_pattern && words[3] == "pattern"))
    lines.fail("field '" + words[3] +
               "' is not read: " + (may_be_pattern ? "pattern and integer are" : "integer is"));
  if (!header.is_symmetric && words[4] != "general")
    lines.fail("symmetry '" + words[4] + "' is not read: general and symmetric are");

  words = lines.next("%");
  if (words.size() != 3) lines.fail("'rows columns entries' is expected");
  constexpr std::uint64_t most = std::uint64_t{1} << 24U;  // ranks of any machine, and no slip
  const std::uint64_t rows = lines.number(words[0], 1, most, "number of rows");
  const std::uint64_t columns = lines.number(words[1], 1, most, "number of columns");
  header.entries =
      lines.number(words[2], 0, std::numeric_limits<std::uint64_t>::max(), "number of entries");
  if (rows != columns)
    lines.fail("the matrix is not square: " + words[0] + " rows and " + words[1] +
               " columns; both are the number of ranks");
  header.size = static_cast<std::uint32_t>(rows);
  return header;
}

/// Passes every entry to `sink(row, column, value)`, counted from 0.
template <class Sink>
std::uint32_t read_entries(const std::string& path, bool may_be_pattern, Sink&& sink) {
  Lines lines(path);
  const Header header = read_header(lines, may_be_pattern);
  const std::size_t words_per_line = header.has_values ? 3 : 2;
  for (std::uint64_t entry = 0; entry < header.entries; ++entry) {
    const std::vector<std::string> words = lines.next("%");
    if (words.empty())
      lines.fail("the file ends after " + std::to_string(entry) + " of " +
                 std::to_string(header.entries) + " entries");
    if (words.size() != words_per_line)
      lines.fail(header.has_values ? "'row column blocks' is expected"
                                   : "'row column' is expected");
    const auto row = static_cast<std::uint32_t>(lines.number(words[0], 1, header.size, "row") - 1);
    const auto column =
        static_cast<std::uint32_t>(lines.number(words[1], 1, header.size, "column") - 1);
    const std::uint64_t value =
        header.has_values ? lines.number(words[2], 0, schedule::most_blocks, "number of blocks")
                          : 1;
    sink(row, column, value);
    if (header.is_symmetric && row != column) sink(column, row, value);
  }
  if (!lines.next("%").empty())
    lines.fail("there are more than the " + std::to_string(header.entries) + " entries announced");
  return header.size;
}

}  // namespace

schedule::TransferMatrix read_matrix(const std::string& path) {
  std::vector<schedule::TransferEntry> transfers;
  const std::uint32_t ranks =
      read_entries(path, false, [&](std::uint32_t row, std::uint32_t column, std::uint64_t blocks) {
        transfers.push_back({row, column, blocks});
      });
  return {ranks, std::move(transfers)};
}

Graph read_graph(const std::string& path) {
  Graph graph;
  graph.vertices =
      read_entries(path, true, [&](std::uint32_t row, std::uint32_t column, std::uint64_t value) {
        if (row != column && value > 0) graph.edges.emplace_back(row, column);
      });
  std::sort(graph.edges.begin(), graph.edges.end());
  graph.edges.erase(std::unique(graph.edges.begin(), graph.edges.end()), graph.edges.end());
  return graph;
}

std::vector<std::uint64_t> read_free(const std::string& text, std::uint32_t ranks) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && rest == end) return std::vector<std::uint64_t>(ranks, number);

  Lines lines(text);
  std::vector<std::uint64_t> free;
  for (std::vector<std::string> words = lines.next("%#"); !words.empty(); words = lines.next("%#"))
    for (const std::string& word : words) {
      free.push_back(lines.number(word, 0, schedule::most_blocks, "number of free slots"));
      if (free.size() > ranks)
        lines.fail("more numbers than the matrix has ranks, " + std::to_string(ranks));
    }
  if (free.size() < ranks)
    lines.fail("the file ends after " + std::to_string(free.size()) +
               " numbers, but the matrix has " + std::to_string(ranks) + " ranks");
  return free;
}

}  // namespace valet::plan
