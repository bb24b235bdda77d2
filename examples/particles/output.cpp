// SPDX-License-Identifier: BSD-3-Clause
#include "output.hpp"

#include "cloud.hpp"

namespace particles {

using namespace example;

namespace {

/// The files, in their order.
enum : std::size_t { rebalances_csv, migrations_csv };

}  // namespace

Output::Output(MPI_Comm communicator, const Options& options)
    : CsvOutput(
          communicator, options.output, options.quiet,
          {{"rebalances.csv",
            "rebalance,step,balanced_by,imbalance_before,imbalance_after,"
            "count_imbalance_after,fullest_percent,moved_bytes,partition_seconds,migration_seconds,"
            "extra_bytes,limit_bytes,out_of_place_bytes"},
           {"migrations.csv",
            "rank,rebalance,step,start_seconds,end_seconds,extra_bytes,limit_bytes,"
            "out_of_place_bytes,blocks_before,blocks_after,headroom_bytes"}}),
      options_(options) {}

void Output::head(std::uint64_t slots) {
  note(
      formatted("%llu particles of %zu bytes on %d ranks: %.1f MB; arrays for %llu on each rank, "
                "%.2f times the mean",
                static_cast<unsigned long long>(options_.particles), Cloud::bytes_each, size(),
                megabytes(options_.particles * Cloud::bytes_each),
                static_cast<unsigned long long>(slots), options_.capacity));
  note(formatted("Zoltan %s, Valet with %.4g KiB of scratch on each rank, order %s",
                 options_.method.c_str(),
                 static_cast<double>(options_.migration.budget_bytes) / 1024,
                 to_string(options_.migration.order)));
  if (options_.headroom > 0)
    note(formatted(
        "during a rebalance the system limits the growth of the data of each rank to %.0f %%",
        100 * options_.headroom));
  note("imbalance: largest over mean work of a rank; fullest: occupied slots of the fullest rank;");
  note("extra memory: most on any rank, of Valet beyond the particle arrays, and of packed send");
  note("and receive buffers for the same particles\n");
  note(
      "        imbalance       fullest   moved       time [s]       rate    extra memory [MB]  "
      "balanced");
  note(
      " step  before   after       [%]    [MB]   Zoltan   Valet   [GB/s]  Valet  out of place  "
      "by");
}

void Output::row(const Rebalance& r) {
  note(formatted("%5d  %6.3f  %6.3f    %6.1f  %6.1f  %7.3f %7.3f   %6.2f %6.2f  %12.2f  %s", r.step,
                 r.imbalance_before, r.imbalance_after, r.fullest_percent, megabytes(r.moved_bytes),
                 r.partition_seconds, r.migration_seconds,
                 static_cast<double>(r.moved_bytes) / r.migration_seconds / 1e9,
                 megabytes(r.extra_bytes), megabytes(r.out_of_place_bytes), r.balanced_by.c_str()));
  if (rank() != 0) return;
  file(rebalances_csv) << r.number << ',' << r.step << ',' << r.balanced_by << ','
                       << r.imbalance_before << ',' << r.imbalance_after << ','
                       << r.count_imbalance_after << ',' << r.fullest_percent << ','
                       << r.moved_bytes << ',' << r.partition_seconds << ',' << r.migration_seconds
                       << ',' << r.extra_bytes << ',' << r.limit_bytes << ','
                       << r.out_of_place_bytes << '\n';
}

void Output::memory(const std::vector<Migration>& migrations,
                    const std::vector<MemorySample>& samples) {
  for (const Migration& m : gather(communicator(), migrations))
    file(migrations_csv) << m.rank << ',' << m.number << ',' << m.step << ',' << m.start_seconds
                         << ',' << m.end_seconds << ',' << m.extra_bytes << ',' << m.limit_bytes
                         << ',' << m.out_of_place_bytes << ',' << m.blocks_before << ','
                         << m.blocks_after << ',' << m.headroom_bytes << '\n';
  CsvOutput::memory(samples);
}

}  // namespace particles
