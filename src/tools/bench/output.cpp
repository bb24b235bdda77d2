// SPDX-License-Identifier: BSD-3-Clause
#include "output.hpp"

#include "measure.hpp"
#include <valet/version.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <stdexcept>

namespace valet::bench {
namespace {

std::string cell(const Case& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "NO";
  if (!value.is_number_float()) return value.dump();
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g", value.get<double>());
  return text.data();
}

}  // namespace

void print_table(const std::vector<Case>& cases) {
  if (world_rank() != 0 || cases.empty()) return;
  std::vector<std::vector<std::string>> columns;
  for (const auto& [key, unused] : cases.front().items()) {
    std::vector<std::string> column{key};
    for (const Case& one : cases) column.push_back(cell(one.at(key)));
    columns.push_back(std::move(column));
  }
  for (std::size_t row = 0; row <= cases.size(); ++row) {
    for (const auto& column : columns) {
      const auto widest = std::max_element(
          column.begin(), column.end(),
          [](const std::string& a, const std::string& b) { return a.size() < b.size(); });
      std::printf("%*s  ", static_cast<int>(widest->size()), column[row].c_str());
    }
    std::printf("\n");
  }
  std::fflush(stdout);
}

void write_json(const std::string& path, const std::vector<Case>& cases, const Case& more) {
  if (path.empty() || world_rank() != 0) return;
  const std::string version = std::to_string(VALET_VERSION_MAJOR) + "." +
                              std::to_string(VALET_VERSION_MINOR) + "." +
                              std::to_string(VALET_VERSION_PATCH);
  Case document = {{"version", version}, {"cases", cases}};
  document.update(more);
  std::ofstream file(path);
  file << document.dump(2) << "\n";
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace valet::bench
