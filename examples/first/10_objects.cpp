// SPDX-License-Identifier: BSD-3-Clause

// Cells of a hash map, with a vector in each, go to the next rank, in steps within the budget:
// functions of the application pack, free and unpack them.
//
//   mpirun -n 4 10_objects
//   200 cells are on the next of 4 ranks

#include <valet/valet.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <unordered_map>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const MPI_Comm comm = MPI_COMM_WORLD;
  int rank = 0, size = 1, right = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);

  std::unordered_map<std::uint64_t, std::vector<double>> cells;  // by name
  std::vector<std::uint64_t> name;                               // cell k of the call
  std::vector<int> ranks;                                        // and where it goes

  // Cell k has k values, which are the number of its rank, as is its name but for the last digits.
  for (std::uint64_t k = 0; k < 50; ++k) {
    name.push_back(100 * static_cast<std::uint64_t>(rank) + k);
    cells[name[k]].assign(k, rank);
    ranks.push_back((rank + 1) % size);
  }

  valet::ObjectFunctions functions;
  functions.size = [&](std::uint64_t k) { return 8 + 8 * cells.at(name[k]).size(); };
  functions.pack = [&](std::uint64_t k, std::span<std::byte> packed) {
    std::memcpy(packed.data(), &name[k], 8);
    std::ranges::copy(std::as_bytes(std::span(cells.at(name[k]))), packed.begin() + 8);
  };
  functions.unpack = [&](int, std::span<const std::byte> packed) {
    std::uint64_t arrived = 0;
    std::memcpy(&arrived, packed.data(), 8);
    std::vector<double>& cell = cells[arrived];
    cell.resize(packed.size() / 8 - 1);
    std::ranges::copy(packed.subspan(8), std::as_writable_bytes(std::span(cell)).begin());
  };
  functions.left = [&](std::uint64_t k) { cells.erase(name[k]); };

  valet::migrate_objects(comm, name.size(), ranks, functions);

  const auto source = static_cast<unsigned>((rank + size - 1) % size);
  for (const auto& [own, values] : cells)
    if (own / 100 == source && values == std::vector<double>(own % 100, source)) ++right;
  MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_SUM, comm);
  if (rank == 0) std::printf("%d cells are on the next of %d ranks\n", right, size);
  MPI_Finalize();
  return right == 50 * size ? 0 : 1;
}
