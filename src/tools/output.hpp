// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "observe/file.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace valet::tools {

/// One row of a table and one case of a JSON file: names and values, in order.
using Case = nlohmann::ordered_json;

/// Such as 4 MiB, 1.31 MiB and 16000 B.
[[nodiscard]] std::string readable_bytes(std::uint64_t bytes);

/// Prints a table with a column for every key of the first case, with units where the key has the
/// word seconds or bytes. If that is wider than 120 characters, what is the same in all rows is in
/// a line of its own, and columns that are left over follow below, with the numbers of the rows.
void print_table(const std::vector<Case>& cases);

/// Prints a text in which {part/key}, the path of one of the values, stands for it. :B behind the
/// path asks for readable bytes, :m, :u and :G for thousandths, millionths and billions of a unit.
void print_filled(std::string_view text, const Case& values);

/// A JSON file, which is there as a whole or not at all.
class JsonFile {
 public:
  /// Makes it, before there is anything to write; nothing where the path is empty. Local.
  /// @return 0, or the error.
  [[nodiscard]] int create(const std::string& path);
  /// What is wrong where it cannot be made or written.
  [[nodiscard]] static std::string complaint(const std::string& path, int error);
  /// Writes {"version": ..., "configuration": {...}} with the keys of `content` behind it.
  /// @throws std::runtime_error when it cannot be written.
  void write(const Case& content);

 private:
  std::string path_;
  observe::File file_;
};

}  // namespace valet::tools
