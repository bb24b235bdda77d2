// SPDX-License-Identifier: BSD-3-Clause
#include "output.hpp"

namespace species {

using namespace example;

namespace {

/// The files, in their order.
enum : std::size_t { steps_csv, migrations_csv, lengths_csv };

}  // namespace

Output::Output(MPI_Comm communicator, const Options& options)
    : CsvOutput(communicator, options.output, options.quiet,
                {{"steps.csv",
                  "step,imbalance_before,imbalance_after,fullest_percent,moved_bytes,"
                  "partition_seconds,migration_seconds,extra_bytes,bound_bytes"},
                 {"migrations.csv",
                  "rank,step,start_seconds,end_seconds,sent_bytes,extra_bytes,limit_bytes"},
                 {"lengths.csv", "step,column,row,species,rank"}}),
      options_(options) {}

void Output::head(std::uint64_t records, const Cells& cells) const {
  note(
      formatted("%llu cells with %llu species of %zu bytes on %d ranks: %.1f MB; an arena of "
                "%.1f MB on each rank,\n%.2f times the mean",
                static_cast<unsigned long long>(options_.chamber.cells()),
                static_cast<unsigned long long>(records), sizeof(Record), size(),
                megabytes(records * sizeof(Record)),
                megabytes(cells.records.size() * sizeof(Record)), options_.capacity));
  note(formatted("Zoltan %s, cells move %s", options_.method.c_str(),
                 options_.exchange == "packed"   ? "packed, by MPI_Alltoallv"
                 : options_.exchange == "zoltan" ? "by Zoltan_Migrate"
                                                 : "in place"));
  if (options_.headroom_bytes > 0)
    note(formatted("the system limits the growth of the data of each rank to %.1f MB",
                   megabytes(options_.headroom_bytes)));
  note("imbalance: largest over mean number of species of a rank; fullest: occupied part of the");
  note("fullest rank's arena; extra memory: most on any rank beyond the arrays of the cells\n");
  note("         imbalance      fullest    moved        time [s]         extra memory [MB]");
  note("  step  before   after      [%]     [MB]  partition  migration    used     bound");
}

void Output::row(const Step& s) {
  const auto known = [](std::uint64_t bytes) {
    return bytes > 0 ? formatted("%.2f", megabytes(bytes)) : std::string("-");
  };
  // Some twelve rows; the file has all.
  const int between = options_.steps < 12 ? 1 : options_.steps / 12;
  if (s.step % between == 0)
    note(formatted("%6d  %6.3f  %6.3f   %6.1f  %7.1f  %9.3f  %9.3f  %6s  %8s", s.step,
                   s.imbalance_before, s.imbalance_after, s.fullest_percent,
                   megabytes(s.moved_bytes), s.partition_seconds, s.migration_seconds,
                   known(s.extra_bytes).c_str(), known(s.bound_bytes).c_str()));
  if (rank() != 0) return;
  file(steps_csv) << s.step << ',' << s.imbalance_before << ',' << s.imbalance_after << ','
                  << s.fullest_percent << ',' << s.moved_bytes << ',' << s.partition_seconds << ','
                  << s.migration_seconds << ',' << s.extra_bytes << ',' << s.bound_bytes << '\n';
}

void Output::lengths(int step, const Cells& cells) {
  struct Length {
    std::uint32_t cell;
    std::uint32_t species;
    int rank;
  };
  std::vector<Length> own;
  own.reserve(cells.count);
  for (std::uint64_t k = 0; k < cells.count; ++k)
    own.push_back({static_cast<std::uint32_t>(cells.id[k]),
                   static_cast<std::uint32_t>(cells.species(k)), rank()});
  const std::uint64_t columns = options_.chamber.columns;
  for (const Length& one : gather(communicator(), own))
    file(lengths_csv) << step << ',' << one.cell % columns << ',' << one.cell / columns << ','
                      << one.species << ',' << one.rank << '\n';
}

void Output::memory(const std::vector<Migration>& migrations,
                    const std::vector<MemorySample>& samples) {
  for (const Migration& m : gather(communicator(), migrations))
    file(migrations_csv) << m.rank << ',' << m.step << ',' << m.start_seconds << ','
                         << m.end_seconds << ',' << m.sent_bytes << ',' << m.extra_bytes << ','
                         << m.limit_bytes << '\n';
  CsvOutput::memory(samples);
}

}  // namespace species
