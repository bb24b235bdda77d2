// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tools/errors.hpp"

#include <charconv>
#include <cstdint>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace valet::tools {

/// A text file, line by line, and errors that say where they are. All errors are invalid_argument.
class TextFile {
 public:
  using Words = std::vector<std::string>;

  /// @param comments  Lines that begin with one of these are skipped.
  /// @throws Error where it cannot be read.
  TextFile(const std::string& path, std::string_view comments)
      : path_(path), comments_(comments), file_(path) {
    if (!file_) refuse("cannot read '", path, "': is there such a file?");
  }

  /// From now on.
  void skip_comments(std::string_view comments) { comments_ = comments; }
  /// The words of the next line, which may be empty; nothing at the end of the file.
  std::optional<Words> next() {
    std::string line;
    do {
      ++line_;
      if (!std::getline(file_, line)) return std::nullopt;
    } while (!line.empty() && comments_.find(line.front()) != std::string_view::npos);
    std::istringstream stream(line);
    Words words;
    for (std::string word; stream >> word;) words.push_back(word);
    return words;
  }
  /// The words of the next line that has any; none at the end of the file.
  Words next_words() {
    std::optional<Words> words = next();
    while (words && words->empty()) words = next();
    return words.value_or(Words());
  }
  /// The number of the line read last, or of the one behind the last.
  [[nodiscard]] std::uint64_t line() const { return line_; }

  /// A whole number from `least` to `most`. @throws Error that calls it `what`.
  [[nodiscard]] std::uint64_t number(
      const std::string& word, const std::string& what = "number", std::uint64_t least = 0,
      std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) const {
    std::uint64_t value = 0;
    const char* const end = word.data() + word.size();
    const auto [rest, error] = std::from_chars(word.data(), end, value);
    if (rest != end || error == std::errc::invalid_argument)
      fail("'", word, "' is no ", what, ": a whole number from ", least, " on is expected");
    if (error != std::errc() || value < least || value > most)
      fail(what, " ", word, " is not within ", least, " and ", most);
    return value;
  }
  /// Throws an error about the line read last.
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... what) const {
    fail_at(line_, what...);
  }
  template <class... Parts>
  [[noreturn]] void fail_at(std::uint64_t line, const Parts&... what) const {
    refuse(path_, ", line ", line, ": ", what...);
  }

 private:
  std::string path_;
  std::string_view comments_;
  std::ifstream file_;
  std::uint64_t line_ = 0;
};

}  // namespace valet::tools
