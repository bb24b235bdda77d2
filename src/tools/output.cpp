// SPDX-License-Identifier: BSD-3-Clause
#include "tools/output.hpp"

#include <valet/configuration.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace valet::tools {
namespace {

constexpr std::size_t widest_line = 120;
constexpr std::size_t gap = 2;  // behind each column

std::string formatted(const char* format, double value, const char* unit = "") {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), format, value, unit);
  return text.data();
}

std::string readable_seconds(double seconds) {
  if (seconds == 0 || seconds >= 1) return formatted("%.4g s", seconds);
  return seconds >= 1e-3 ? formatted("%.4g ms", seconds * 1e3)
                         : formatted("%.4g us", seconds * 1e6);
}

/// Whether a key, words joined by _, has this word.
bool has_word(const std::string& key, const std::string& word) {
  return ("_" + key + "_").find("_" + word + "_") != std::string::npos;
}

std::string cell(const std::string& key, const Case& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "NO";
  if (value.is_null()) return "-";
  if (has_word(key, "seconds")) return readable_seconds(value.get<double>());
  // A column that is called bytes says its unit itself.
  const bool has_bytes = (has_word(key, "bytes") && key != "bytes") || key == "memory";
  if (value.is_number_unsigned() && has_bytes) return readable_bytes(value.get<std::uint64_t>());
  return value.is_number_float() ? formatted("%.4g", value.get<double>()) : value.dump();
}

/// A value in a text, as print_filled() has it.
std::string in_text(const Case& value, std::string_view unit) {
  if (value.is_string()) return value.get<std::string>();
  if (unit == "B") return readable_bytes(value.get<std::uint64_t>());
  if (unit.empty() && value.is_number_float()) return formatted("%.6g", value.get<double>());
  if (unit.empty()) return value.dump();
  const double scale = unit == "m" ? 1e3 : unit == "u" ? 1e6 : 1e-9;
  return formatted("%.4g", value.get<double>() * scale);
}

/// The name of a column, then a cell for each row.
using Column = std::vector<std::string>;

std::size_t width_of(const Column& column) {
  return std::ranges::max(column, {}, &std::string::size).size() + gap;
}

void append_column(std::vector<std::string>& lines, const Column& column) {
  const std::size_t width = width_of(column);
  for (std::size_t row = 0; row < lines.size(); ++row)
    lines[row] +=
        std::string(width - gap - column[row].size(), ' ') + column[row] + std::string(gap, ' ');
}

std::size_t width_of(const std::vector<Column>& columns) {
  std::size_t width = 0;
  for (const Column& column : columns) width += width_of(column);
  return width;
}

/// What a line holds of `parts`, then the next.
void print_list(std::string line, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    if (line.size() + part.size() + 2 > widest_line) {
      std::printf("%s\n", line.c_str());
      line = " ";
    }
    line += " " + part + (&part == &parts.back() ? "" : ",");
  }
  if (!parts.empty()) std::printf("%s\n", line.c_str());
}

/// Side by side as many as a line holds, one at least, then the next ones below.
void print_columns(const std::vector<Column>& columns) {
  const std::size_t rows = columns.front().size();
  const std::size_t all = width_of(columns);
  Column numbers{"row"};
  for (std::size_t row = 1; row < rows; ++row) numbers.push_back(std::to_string(row));
  for (auto next = columns.begin(); next != columns.end();) {
    std::vector<std::string> lines(rows);
    if (all > widest_line && rows > 2) append_column(lines, numbers);
    do append_column(lines, *next++);
    while (next != columns.end() && lines.front().size() + width_of(*next) <= widest_line);
    for (const std::string& line : lines) std::printf("%s\n", line.c_str());
    if (next != columns.end()) std::printf("\n");
  }
  std::fflush(stdout);
}

}  // namespace

std::string readable_bytes(std::uint64_t bytes) {
  constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  constexpr std::uint64_t most_exact = 100'000;  // a setting such as 16000 stays as it was given
  if (bytes < 1024 || (bytes <= most_exact && bytes % 1024 != 0))
    return std::to_string(bytes) + " B";
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < units.size(); ++unit) value /= 1024;
  const bool is_whole = value == std::floor(value);
  return formatted(is_whole || value >= 100 ? "%.0f %s"
                   : value >= 10            ? "%.1f %s"
                                            : "%.2f %s",
                   value, units[unit]);
}

void print_table(const std::vector<Case>& cases) {
  if (cases.empty()) return;
  std::vector<Column> all;
  for (const auto& [key, unused] : cases.front().items()) {
    all.push_back({key});
    for (const Case& one : cases) all.back().push_back(cell(key, one.at(key)));
  }
  if (width_of(all) <= widest_line) {
    print_columns(all);
    return;
  }
  std::vector<std::string> alike;
  std::vector<Column> columns;
  for (Column& column : all) {
    const std::string& first = column[1];
    const bool is_alike =
        cases.size() > 1 &&
        std::all_of(column.begin() + 2, column.end(), [&](const auto& c) { return c == first; });
    if (!is_alike)
      columns.push_back(std::move(column));
    else if (!first.empty())
      alike.push_back(column[0] + " " + first);
  }
  print_list("in all rows:", alike);
  if (!columns.empty()) print_columns(columns);
}

void print_filled(std::string_view text, const Case& values) {
  std::string filled;
  for (std::size_t open = 0; (open = text.find('{')) != std::string_view::npos;) {
    const std::size_t close = text.find('}', open);
    const std::string_view field = text.substr(open + 1, close - open - 1);
    const std::size_t end = std::min(field.find(':'), field.size());
    const Case::json_pointer path("/" + std::string(field.substr(0, end)));
    filled.append(text.substr(0, open))
        .append(in_text(values.at(path), field.substr(std::min(end + 1, field.size()))));
    text.remove_prefix(close + 1);
  }
  std::printf("%s%.*s", filled.c_str(), static_cast<int>(text.size()), text.data());
  std::fflush(stdout);
}

int JsonFile::create(const std::string& path) {
  path_ = path;
  if (!path_.empty()) file_.create(path_);
  return file_.error();
}

std::string JsonFile::complaint(const std::string& path, int error) {
  return "cannot write '" + path + "' (" + std::strerror(error) +
         "); give a path in a directory with room for it that you can write";
}

void JsonFile::write(const Case& content) {
  if (path_.empty()) return;
  Case document = {{"version", version()},
                   {"configuration", Case::parse(configuration().to_json())}};
  document.update(content);
  file_.write(document.dump(2) + "\n");
  file_.publish();
  if (file_.error() != 0) throw std::runtime_error(complaint(path_, file_.error()));
}

}  // namespace valet::tools
