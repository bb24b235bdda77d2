// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <fstream>
#include <limits>
#include <optional>
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
  TextFile(const std::string& path, std::string_view comments);

  /// From now on.
  void skip_comments(std::string_view comments) { comments_ = comments; }
  /// The words of the next line, which may be empty; nothing at the end of the file.
  std::optional<Words> next();
  /// The words of the next line that has any; none at the end of the file.
  Words next_words();
  /// The number of the line read last, or of the one behind the last.
  [[nodiscard]] std::uint64_t line() const { return line_; }

  /// A whole number from `least` to `most`. @throws Error that calls it `what`.
  [[nodiscard]] std::uint64_t number(
      const std::string& word, const std::string& what = "number", std::uint64_t least = 0,
      std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) const;
  /// Throws an error about the line read last.
  [[noreturn]] void fail(const std::string& what) const { fail(line_, what); }
  [[noreturn]] void fail(std::uint64_t line, const std::string& what) const;

 private:
  std::string path_;
  std::string_view comments_;
  std::ifstream file_;
  std::uint64_t line_ = 0;
};

}  // namespace valet::tools
