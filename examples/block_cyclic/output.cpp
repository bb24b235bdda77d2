// SPDX-License-Identifier: BSD-3-Clause
#include "output.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <stdexcept>
#include <utility>

namespace block_cyclic {
namespace {

class File {
 public:
  explicit File(std::filesystem::path path) : stream(path), path_(std::move(path)) {}
  void close() {
    stream.close();
    if (!stream) throw std::runtime_error("cannot write " + path_.string());
  }
  std::ofstream stream;

 private:
  std::filesystem::path path_;
};

}  // namespace

void write_blocks(const std::filesystem::path& directory,
                  const std::vector<std::pair<std::string, valet::GridLayout>>& layouts) {
  File file(directory / "blocks.csv");
  file.stream << "layout,row,column,rows,columns,rank\n";
  for (const auto& [name, grid] : layouts) {
    const valet::layout::Dimension& rows = grid.layout.dimension(0);
    const valet::layout::Dimension& columns = grid.layout.dimension(1);
    for (std::int64_t i = 0; i < rows.extent(); i += rows.block_size())
      for (std::int64_t j = 0; j < columns.extent(); j += columns.block_size())
        file.stream << name << ',' << i << ',' << j << ','
                    << std::min(rows.block_size(), rows.extent() - i) << ','
                    << std::min(columns.block_size(), columns.extent() - j) << ','
                    << grid.ranks[static_cast<std::size_t>(grid.layout.owner({i, j}))] << '\n';
  }
  file.close();
}

void write_transfers(const std::filesystem::path& directory, const valet::GridLayout& from,
                     const valet::GridLayout& to) {
  File file(directory / "transfers.csv");
  file.stream << "from,to,bytes\n";
  std::map<std::pair<int, int>, std::uint64_t> elements;
  const valet::layout::Dimension& rows = from.layout.dimension(0);
  const valet::layout::Dimension& columns = from.layout.dimension(1);
  for (std::int64_t i = 0; i < rows.extent(); ++i)
    for (std::int64_t j = 0; j < columns.extent(); ++j)
      ++elements[{from.layout.owner({i, j}), to.layout.owner({i, j})}];
  for (int producer = 0; producer < from.layout.ranks(); ++producer)
    for (int consumer = 0; consumer < to.layout.ranks(); ++consumer)
      file.stream << from.ranks[static_cast<std::size_t>(producer)] << ','
                  << to.ranks[static_cast<std::size_t>(consumer)] << ','
                  << elements[{producer, consumer}] * sizeof(double) << '\n';
  file.close();
}

}  // namespace block_cyclic
