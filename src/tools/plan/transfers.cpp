// SPDX-License-Identifier: BSD-3-Clause
#include "transfers.hpp"

#include "base/promise.hpp"
#include "tools/text_file.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace valet::plan {
namespace {

/// What a rank sends and gets, in blocks and in pairs with others.
struct RankTraffic {
  std::uint64_t sent = 0, received = 0, destinations = 0, sources = 0;
};

std::vector<RankTraffic> traffic_of(const schedule::TransferMatrix& matrix) {
  std::vector<RankTraffic> all(matrix.ranks());
  for (const schedule::TransferEntry& transfer : matrix.transfers()) {
    all[transfer.source].sent += transfer.blocks;
    ++all[transfer.source].destinations;
    all[transfer.destination].received += transfer.blocks;
    ++all[transfer.destination].sources;
  }
  return all;
}

/// A link carries both directions at the same time.
double seconds_of(const RankTraffic& rank, std::uint64_t block_bytes,
                  const TransferOptions& options) {
  const std::uint64_t messages = std::max(rank.destinations, rank.sources);
  const auto bytes =
      static_cast<double>(std::max(rank.sent, rank.received)) * static_cast<double>(block_bytes);
  return static_cast<double>(messages) * options.latency_seconds + bytes / options.bandwidth;
}

tools::Case memory_case(const std::vector<RankTraffic>& traffic,
                        const std::vector<RankFacts>& facts, const TransferOptions& options) {
  std::uint64_t bound = 0;
  for (std::size_t rank = 0; rank < traffic.size(); ++rank)
    bound = std::max(bound, detail::promised_bytes(
                                facts.empty() ? options.budget_bytes : facts[rank].budget_bytes,
                                traffic[rank].destinations + traffic[rank].sources, 0, false));
  tools::Case memory = {{"bound", bound}};
  if (facts.empty()) return memory;
  const auto most = std::ranges::max_element(facts, {}, &RankFacts::peak_extra_bytes);
  memory["peak"] = most->peak_extra_bytes;
  memory["rank"] = most - facts.begin();
  return memory;
}

/// Blocks from one group of ranks to another, in rows.
void draw_matrix(const schedule::TransferMatrix& matrix) {
  constexpr std::uint32_t most_rows = 50;
  const std::uint32_t group = (matrix.ranks() + most_rows - 1) / most_rows;
  const std::size_t rows = (matrix.ranks() + group - 1) / group;
  std::vector<std::uint64_t> cells(rows * rows, 0);
  for (const schedule::TransferEntry& transfer : matrix.transfers())
    cells[transfer.source / group * rows + transfer.destination / group] += transfer.blocks;
  const std::uint64_t most = std::max<std::uint64_t>(1, std::ranges::max(cells));
  const std::string shades = ".:-=+*%@";
  std::printf("\nfrom row to column, %u rank%s a cell; of %llu blocks at most: '%s'\n", group,
              group == 1 ? "" : "s", static_cast<unsigned long long>(most), shades.c_str());
  for (std::size_t row = 0; row < rows; ++row) {
    std::string line;
    for (std::size_t column = 0; column < rows; ++column) {
      const std::uint64_t blocks = cells[row * rows + column];
      const double part = static_cast<double>(blocks) / static_cast<double>(most);
      const auto shade =
          static_cast<std::size_t>(std::ceil(part * static_cast<double>(shades.size())));
      line.append(1, shade == 0 ? ' ' : shades[std::min(shade, shades.size()) - 1]).append(" ");
    }
    std::printf("  |%s|\n", line.c_str());
  }
  std::printf("\n");
}

}  // namespace

std::vector<RankFacts> read_facts(const std::string& path, std::uint32_t ranks) {
  tools::TextFile file(path, "");
  std::vector<RankFacts> facts;
  while (const auto words = file.next()) {
    if (words->empty()) continue;
    if ((*words)[0].front() != '%') break;  // the numbers of rows, columns and entries
    if ((*words)[0] != "%!") continue;
    if (words->size() != 6) file.fail("'%! rank free sent budget peak' is expected");
    facts.resize(ranks);
    RankFacts& one = facts[file.number((*words)[1], "rank", 1, ranks) - 1];
    one.free_blocks = file.number((*words)[2], "number of free slots", 0, schedule::most_blocks);
    one.bytes_sent = file.number((*words)[3], "number of bytes");
    one.budget_bytes = file.number((*words)[4], "budget");
    one.peak_extra_bytes = file.number((*words)[5], "peak");
  }
  return facts;
}

std::uint64_t mean_block_bytes(const schedule::TransferMatrix& matrix,
                               const std::vector<RankFacts>& facts,
                               const TransferOptions& options) {
  if (facts.empty() || matrix.volume() == 0) return std::max<std::uint64_t>(1, options.block_bytes);
  std::uint64_t bytes = 0;
  for (const RankFacts& one : facts) bytes += one.bytes_sent;
  return std::max<std::uint64_t>(1, bytes / matrix.volume());
}

std::vector<std::uint64_t> free_of(const std::vector<RankFacts>& facts, std::uint64_t block_bytes,
                                   std::uint64_t moving_blocks) {
  std::vector<std::uint64_t> free;
  free.reserve(facts.size());
  for (const RankFacts& one : facts)
    free.push_back(one.free_blocks +
                   std::clamp<std::uint64_t>(one.budget_bytes / block_bytes, 1,
                                             std::max<std::uint64_t>(1, moving_blocks)));
  return free;
}

tools::Case analyse_transfers(const schedule::TransferMatrix& matrix,
                              const std::vector<RankFacts>& facts, const TransferOptions& options) {
  const std::uint64_t block_bytes = mean_block_bytes(matrix, facts, options);
  const std::vector<RankTraffic> traffic = traffic_of(matrix);
  const auto seconds = [&](const RankTraffic& rank) {
    return seconds_of(rank, block_bytes, options);
  };
  const auto busiest = std::ranges::max_element(traffic, {}, seconds);
  return {{"block_bytes", block_bytes},
          {"bytes", matrix.volume() * block_bytes},
          {"busiest",
           {{"rank", busiest - traffic.begin()},
            {"bytes_sent", busiest->sent * block_bytes},
            {"bytes_received", busiest->received * block_bytes},
            {"destinations", busiest->destinations},
            {"sources", busiest->sources}}},
          {"seconds", seconds(*busiest)},
          {"latency", options.latency_seconds},
          {"bandwidth", options.bandwidth},
          {"memory", memory_case(traffic, facts, options)}};
}

void print_transfers(const tools::Case& analysis, const schedule::TransferMatrix& matrix) {
  tools::print_filled(
      "{bytes:B} leave their rank, {block_bytes:B} a block\n"
      "busiest rank: {busiest/rank} (of 0 to " +
          std::to_string(matrix.ranks() - 1) +
          "), which sends {busiest/bytes_sent:B} to {busiest/destinations} ranks and gets "
          "{busiest/bytes_received:B} from {busiest/sources}\n"
          "predicted time: {seconds:m} ms at {latency:u} us a message and {bandwidth:G} GB/s in "
          "each direction\n",
      analysis);
  if (analysis["memory"].contains("peak"))
    tools::print_filled("peak memory: {memory/peak:B} beyond the blocks, on rank {memory/rank}\n",
                        analysis);
  tools::print_filled(
      "bound of memory: {memory/bound:B} on a rank, and 8 to 16 bytes for each of its slots\n",
      analysis);
  draw_matrix(matrix);
  std::fflush(stdout);
}

}  // namespace valet::plan
