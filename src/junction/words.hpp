// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Descriptions and indices of files as words: what comes from elsewhere may end anywhere.

#include <valet/ledger.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

namespace valet::junction {

/// Takes words off the front. Functions throw std::out_of_range where they are too few.
class WordReader {
 public:
  explicit WordReader(std::span<const std::int64_t> words) : words_(words) {}

  std::int64_t next() { return next_words(1).front(); }
  int next_int() { return static_cast<int>(next()); }
  std::uint64_t next_size() { return static_cast<std::uint64_t>(next()); }
  /// Of what has a word each, at least.
  std::size_t next_count() {
    const std::uint64_t count = next_size();
    require(count);
    return static_cast<std::size_t>(count);
  }
  std::span<const std::int64_t> next_words(std::size_t count) {
    require(count);
    const auto taken = words_.first(count);
    words_ = words_.subspan(count);
    return taken;
  }
  std::string next_text() {
    std::string text(next_count(), ' ');
    for (char& letter : text) letter = static_cast<char>(next());
    return text;
  }

 private:
  void require(std::uint64_t count) const {
    if (count > words_.size()) throw std::out_of_range("there are too few words");
  }

  std::span<const std::int64_t> words_;
};

/// For next_text().
inline void write_text(Vector<std::int64_t>& words, const std::string& text) {
  words.push_back(static_cast<std::int64_t>(text.size()));
  words.insert(words.end(), text.begin(), text.end());
}

}  // namespace valet::junction
