// SPDX-License-Identifier: BSD-3-Clause
#include "csv_output.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <utility>

namespace example {

CsvOutput::CsvOutput(MPI_Comm communicator, std::string directory, bool quiet,
                     std::initializer_list<File> files)
    : communicator_(communicator), directory_(std::move(directory)), quiet_(quiet) {
  MPI_Comm_rank(communicator, &rank_);
  MPI_Comm_size(communicator, &size_);
  files_.resize(files.size() + 1);
  if (rank_ == 0) {
    const std::filesystem::path path(directory_);
    std::error_code ignored;  // opening the file reports the failure
    std::filesystem::create_directories(path, ignored);
    const auto open = [&](std::ofstream& file, const File& what) {
      file.open(path / what.name);
      file << what.columns << '\n';
      file.precision(9);
    };
    std::size_t place = 0;
    for (const File& what : files) open(files_[place++], what);
    open(files_[place], {"memory.csv", "rank,seconds,step,phase,resident_bytes,data_bytes"});
  }
  check();
}

void CsvOutput::check() const {
  int failed = rank_ == 0 && !std::ranges::all_of(files_, &std::ofstream::good) ? 1 : 0;
  MPI_Bcast(&failed, 1, MPI_INT, 0, communicator_);
  if (failed != 0)
    throw OutputError("cannot write CSV files into the directory '" + directory_ + "' (--output)");
}

void CsvOutput::note(const std::string& line) const {
  if (rank_ != 0 || quiet_) return;
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

void CsvOutput::note_node_storage(bool is_shared) const {
  int all_share = is_shared ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &all_share, 1, MPI_INT, MPI_MIN, communicator_);
  note(all_share != 0 ? "node storage: the ranks of a node share the arrays"
                      : "node storage: there is no memory to share, so the arrays are ordinary");
}

void CsvOutput::memory(const std::vector<MemorySample>& samples) {
  struct Ranked {
    MemorySample sample;
    int rank;
  };
  std::vector<Ranked> ranked;
  ranked.reserve(samples.size());
  for (const MemorySample& sample : samples) ranked.push_back({sample, rank_});
  for (const auto& [sample, rank] : gather(communicator_, ranked))
    files_.back() << rank << ',' << sample.seconds << ',' << sample.step << ','
                  << to_string(sample.phase) << ',' << sample.resident_bytes << ','
                  << sample.data_bytes << '\n';
}

void CsvOutput::close() {
  for (std::ofstream& file : files_) file.flush();
  check();
}

}  // namespace example
