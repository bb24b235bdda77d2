// SPDX-License-Identifier: BSD-3-Clause
#include "tools/output.hpp"

#include "observe/file.hpp"
#include <valet/configuration.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace valet::tools {
namespace {

std::string cell(const Case& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "NO";
  if (value.is_null()) return "-";
  if (!value.is_number_float()) return value.dump();
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g", value.get<double>());
  return text.data();
}

}  // namespace

void print_table(const std::vector<Case>& cases) {
  if (cases.empty()) return;
  std::vector<std::string> lines(cases.size() + 1);
  for (const auto& [key, unused] : cases.front().items()) {
    std::vector<std::string> column{key};
    for (const Case& one : cases) column.push_back(cell(one.at(key)));
    const std::size_t width = std::ranges::max(column, {}, &std::string::size).size();
    for (std::size_t row = 0; row < lines.size(); ++row)
      lines[row] += std::string(width - column[row].size(), ' ') + column[row] + "  ";
  }
  for (const std::string& line : lines) std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

void write_json(const std::string& path, const Case& content) {
  if (path.empty()) return;
  Case document = {{"version", version()},
                   {"configuration", Case::parse(configuration().to_json())}};
  document.update(content);
  observe::File file;
  file.create(path);
  file.write(document.dump(2) + "\n");
  file.publish();
  if (file.error() != 0)
    throw std::runtime_error("cannot write '" + path + "' (" + std::strerror(file.error()) +
                             "); give a path in a directory with room for it that you can write");
}

}  // namespace valet::tools
