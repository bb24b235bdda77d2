// SPDX-License-Identifier: BSD-3-Clause

// The four cases of Zhuang, Nakashima, Nagamochi 4: elements of 16 bytes between all ranks inside
// one buffer, beside MPI_Alltoallv into a second one; and their Table 1.

#include "block_comparison.hpp"

#include <cstdio>

namespace valet::bench {
namespace {

constexpr std::size_t element_bytes = 16;

/// Elements from rank i to rank j, when each rank has `elements`, a multiple of 4 times the ranks.
/// The last entry of cases 2 and 3 is what makes the paper's counts add up to all elements, for any
/// number of ranks: the share of those that get nothing.
std::uint64_t count_of(int paper_case, int i, int j, std::uint64_t elements) {
  const int ranks = world_size();
  const int distance = (j - i + ranks) % ranks;
  const std::uint64_t share = elements / static_cast<std::uint64_t>(ranks);
  const bool last = distance == ranks - 1;
  if (paper_case == 4) return last ? elements : 0;
  const int without = paper_case == 2 ? (ranks + 3) / 4 : paper_case == 3 ? (ranks + 1) / 2 : 0;
  if (distance < without) return 0;
  return share + (last ? share * static_cast<std::uint64_t>(without) : 0);
}

/// Elements of all ranks, those for rank 0 first.
Map make_map(int paper_case, std::uint64_t elements) {
  return {elements, [=](int) { return elements; },
          [=](int rank, std::uint64_t slot) {
            int to = 0;
            for (std::uint64_t end = 0;; ++to) {
              end += count_of(paper_case, rank, to, elements);
              if (slot < end) return Address{to, 0};
            }
          }};
}

class AlltoallBenchmark final : public Benchmark {
  using Benchmark::Benchmark;

  Jobs jobs() override {
    Jobs jobs;
    for (const int paper_case : cases_)
      for (const std::string& method : methods_) {
        auto options = common_options<AlltoallOptions>();
        options.any_order = any_order_;
        options.method = parse_alltoall_method(method);
        // The paper defines cases 2 and 3 from four ranks on.
        if (paper_case == 1 || paper_case == 4 || world_size() >= 4)
          jobs.emplace_back([=, this] { measure(paper_case, method, options); });
      }
    return jobs;
  }

  void measure(int paper_case, const std::string& method, const AlltoallOptions& options) {
    const std::uint64_t unit = 4 * static_cast<std::uint64_t>(world_size());
    const std::uint64_t elements = parse_bytes(bytes_) / element_bytes / unit * unit;
    std::vector<std::int64_t> send, receive;
    for (int j = 0; j < world_size(); ++j) {
      send.push_back(static_cast<std::int64_t>(count_of(paper_case, world_rank(), j, elements)));
      receive.push_back(static_cast<std::int64_t>(count_of(paper_case, j, world_rank(), elements)));
    }
    BlockComparison blocks(make_map(paper_case, elements), {element_bytes}, storage());
    const auto move = [&]() -> BlockComparison::Moved {
      const Report report = alltoallv_in_place(
          MPI_COMM_WORLD, {blocks.field(0), elements * element_bytes, element_bytes}, send, receive,
          options);
      const bool is_free = options.any_order && report.method == "stream";
      return {report, is_free ? Places::any : Places::in_order};
    };
    const Report report = compare(
        {{"case", paper_case},
         {"method", method},
         {"used", ""},
         {"order", any_order_ ? "any" : "kept"},
         {"ranks", world_size()},
         {"bytes", parse_bytes(bytes_)},
         {"memory", options.budget_bytes}},
        [&] { return blocks.run(move); }, blocks.peer());
    Case& row = rows_.back();
    row["used"] = report.method;
    row["swaps"] = report.swaps;
    row["seconds_alltoallv"] =
        row["seconds_median"].get<double>() / row["ratio_warm"].get<double>();
  }

  /// As Table 1 of the paper: seconds, a column for each case of each method. What MPI_Alltoallv
  /// took is that of the first method's turn.
  Case summary() override {
    Case table = {{"#proc", world_size()}};
    for (const std::string& method : methods_)
      for (const Case& row : rows_)
        // As text: GCC 14 warns of the comparison of two Json, falsely.
        if (row["method"].get<std::string>() == method)
          table[method + " case-" + row["case"].dump()] = row["seconds_median"];
    for (const Case& row : rows_)
      if (row["method"].get<std::string>() == methods_.front())
        table["MPI_Alltoallv case-" + row["case"].dump()] = row["seconds_alltoallv"];
    if (world_rank() == 0) {
      std::printf("\nExecution time in seconds\n");
      tools::print_table({table});
    }
    return Case::object();
  }

  Integers& cases_ = option<Integers>(
      "--case", {1, 2, 3, 4},
      "destinations of a rank (comma-separated): 1 all ranks equally, 2 three quarters of the "
      "ranks, 3 half of the ranks, 4 a single rank; 2 and 3 need 4 ranks or more",
      in_range(1, 4));
  Texts& methods_ =
      option<Texts>("--method", {"stream", "bitonic", "pairwise"},
                    "methods (comma-separated): auto, stream, swaps, bitonic, pairwise, direct");
  Text& bytes_ = option<Text>("--bytes", "64M", "bytes per rank (suffix K, M or G allowed)");
  bool& any_order_ = option("--any-order", false, "allow any order of the elements in the result");
};

}  // namespace

std::unique_ptr<Benchmark> make_alltoall_benchmark() {
  return std::make_unique<AlltoallBenchmark>(
      "alltoall",
      "All-to-all exchange of 16-byte elements inside one buffer. Compared with MPI_Alltoallv into "
      "an existing second buffer (ratio_warm) and into newly allocated memory (ratio_cold)",
      5, CommonOptions{.has_storage = true});
}

}  // namespace valet::bench
