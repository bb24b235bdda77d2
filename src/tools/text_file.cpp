// SPDX-License-Identifier: BSD-3-Clause
#include "tools/text_file.hpp"

#include <valet/error.hpp>

#include <charconv>
#include <sstream>

namespace valet::tools {

TextFile::TextFile(const std::string& path, std::string_view comments)
    : path_(path), comments_(comments), file_(path) {
  if (!file_)
    throw Error(ErrorCode::invalid_argument, "cannot read '" + path + "': is there such a file?");
}

std::optional<TextFile::Words> TextFile::next() {
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

TextFile::Words TextFile::next_words() {
  std::optional<Words> words = next();
  while (words && words->empty()) words = next();
  return words.value_or(Words());
}

std::uint64_t TextFile::number(const std::string& word, const std::string& what,
                               std::uint64_t least, std::uint64_t most) const {
  std::uint64_t value = 0;
  const char* const end = word.data() + word.size();
  const auto [rest, error] = std::from_chars(word.data(), end, value);
  if (rest != end || error == std::errc::invalid_argument)
    fail("'" + word + "' is no " + what + ": a whole number from " + std::to_string(least) +
         " on is expected");
  if (error != std::errc() || value < least || value > most)
    fail(what + " " + word + " is not within " + std::to_string(least) + " and " +
         std::to_string(most));
  return value;
}

void TextFile::fail(std::uint64_t line, const std::string& what) const {
  throw Error(ErrorCode::invalid_argument, path_ + ", line " + std::to_string(line) + ": " + what);
}

}  // namespace valet::tools
