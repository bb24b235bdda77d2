// SPDX-License-Identifier: BSD-3-Clause

// Writes a file of a step and is killed at one of its writes, or tells which step the file has: for
// file_kill.sh.
//
//     file_kill_program PATH write STEP      prints how often rank 0 has written
//     file_kill_program PATH write STEP N R  is killed at the Nth write of rank R
//     file_kill_program PATH read            prints the step

#include <valet/junction.hpp>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

int writes = 0, fatal_write = 0;

constexpr std::size_t blocks = 400'000;  // some MiB a rank

void write(const char* path, int step) {
  std::vector<int> values(blocks, step);
  valet::Junction file = valet::Junction::create(MPI_COMM_WORLD, path);
  for (int k = 0; k < 3; ++k) file.put({valet::field(values)}, blocks).wait();
  file.close();
}

/// The step, if all of it is there.
int read(const char* path) {
  valet::Junction file = valet::Junction::open(MPI_COMM_WORLD, path);
  int step = 0;
  for (int k = 0; k < 3; ++k) {
    std::vector<int> values;
    file.get([&](std::uint64_t count) {
          values.resize(count);
          return valet::BlockStorage{valet::field(values)};
        })
        .wait();
    for (const int value : values) {
      if (step == 0) step = value;
      if (value != step) return -1;
    }
  }
  return step;
}

}  // namespace

extern "C" int MPI_File_write_at(MPI_File file, MPI_Offset offset, const void* bytes, int count,
                                 MPI_Datatype type, MPI_Status* status) {
  if (++writes == fatal_write) static_cast<void>(raise(SIGKILL));
  return PMPI_File_write_at(file, offset, bytes, count, type, status);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, code = argc < 3 ? 2 : 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  try {
    if (argc >= 4) {
      if (argc >= 6 && std::atoi(argv[5]) == rank) fatal_write = std::atoi(argv[4]);
      write(argv[1], std::atoi(argv[3]));
      if (rank == 0) std::printf("%d\n", writes);
    } else if (argc == 3) {
      const int step = read(argv[1]);
      if (rank == 0) std::printf("%d\n", step);
    }
  } catch (const valet::Error& error) {
    if (rank == 0) std::printf("%s\n", error.what());
    code = 1;
  }
  MPI_Finalize();
  return code;
}
