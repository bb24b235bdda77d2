// SPDX-License-Identifier: BSD-3-Clause
#include "junction.hpp"

#include "base/promise.hpp"
#include "engine/array_exchange.hpp"
#include "schedule/stream_sizes.hpp"
#include "tools/errors.hpp"
#include "tools/layouts.hpp"
#include <valet/intersect.hpp>
#include <valet/junction.hpp>
#include <valet/mpi.hpp>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <vector>

namespace valet::plan {
namespace {

/// What all ranks of both sides agree on: the least of each.
struct AgreedSizes {
  bool at_once = true;
  std::uint64_t chunk_elements = std::numeric_limits<std::uint64_t>::max();
};

/// A rank and what it shares with the other side.
struct Rank {
  std::uint64_t bytes;
  std::uint64_t described;   ///< bytes that tell what it shares
  double seconds;            ///< to find it
  std::uint64_t neighbours;  ///< with which it shares something
  /// How many neighbours it shares so many elements with: few entries, as most shares are alike.
  std::map<std::uint64_t, std::uint64_t> shares;
};

std::vector<Rank> ranks_of(const BlockCyclic& mine, const BlockCyclic& theirs,
                           std::uint64_t element_bytes) {
  std::vector<Rank> ranks;
  for (int rank = 0; rank < mine.ranks(); ++rank) {
    Ledger ledger;
    const auto start = std::chrono::steady_clock::now();
    const layout::Intersection shared(ledger, mine, rank, theirs);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    ranks.push_back({static_cast<std::uint64_t>(mine.local_elements(rank)) * element_bytes,
                     ledger.current_bytes(),
                     seconds.count(),
                     0,
                     {}});
    for (int p = shared.next_peer(0); p < theirs.ranks(); p = shared.next_peer(p + 1)) {
      ++ranks.back().neighbours;
      ++ranks.back().shares[static_cast<std::uint64_t>(shared.elements(p))];
    }
  }
  return ranks;
}

/// @param sends  Whether this side does.
void agree(AgreedSizes& agreed, const std::vector<Rank>& ranks, bool sends,
           std::uint64_t element_bytes, std::uint64_t budget_bytes) {
  for (const Rank& rank : ranks) {
    if (rank.bytes == 0) continue;
    const std::uint64_t rest = budget_bytes - std::min(budget_bytes, rank.described);
    const auto chunk = static_cast<std::uint64_t>(
        layout::choose_chunk_elements(rest, static_cast<std::size_t>(element_bytes)));
    if (chunk == 0)
      tools::refuse("--budget ", budget_bytes, " does not hold what rank ", &rank - ranks.data(),
                    " shares with the other side, ", rank.described, " bytes, and two elements");
    agreed.chunk_elements = std::min(agreed.chunk_elements, chunk);
    agreed.at_once = agreed.at_once && rank.bytes <= rest &&
                     (!sends || rank.bytes <= schedule::most_bytes_at_once);
  }
}

/// A side in numbers; those of the rank that has most, but for "bytes" and "messages", which are of
/// all.
/// @param all_ranks  Of both sides.
tools::Case side_case(const std::vector<Rank>& ranks, const AgreedSizes& agreed,
                      std::uint64_t all_ranks, std::uint64_t budget_bytes) {
  const auto most = [&](const auto& number) {
    return (*std::ranges::max_element(ranks, {}, number)).*number;
  };
  std::uint64_t bytes = 0, messages = 0;
  for (const Rank& rank : ranks) {
    bytes += rank.bytes;
    for (const auto& [elements, neighbours] : rank.shares)
      messages +=
          neighbours *
          (agreed.at_once ? 1 : (elements + agreed.chunk_elements - 1) / agreed.chunk_elements);
  }
  return {{"ranks", ranks.size()},
          {"bytes", bytes},
          {"most_bytes", most(&Rank::bytes)},
          {"most_neighbours", most(&Rank::neighbours)},
          {"messages", messages},
          {"described_bytes", most(&Rank::described)},
          {"index_seconds", most(&Rank::seconds)},
          {"extra_bytes_bound",
           detail::promised_bytes(budget_bytes, most(&Rank::neighbours), all_ranks, false)}};
}

const char* name_of(JunctionRecord::Kind kind) {
  switch (kind) {
    case JunctionRecord::Kind::array: return "array";
    case JunctionRecord::Kind::blocks: return "blocks";
    case JunctionRecord::Kind::numbered_blocks: return "numbered blocks";
    case JunctionRecord::Kind::ragged_blocks: return "blocks of different sizes";
  }
  return "";
}

/// The shape of an array, or the fields of a block with their bytes.
std::string shape_of(const JunctionRecord& record) {
  std::string shape;
  for (const std::int64_t extent : record.extents)
    shape.append(shape.empty() ? "" : "x").append(std::to_string(extent));
  for (const JunctionRecord::Field& field : record.fields)
    shape.append(shape.empty() ? "" : " ")
        .append(field.label.empty() ? "?" : field.label)
        .append(":")
        .append(std::to_string(field.row_bytes));
  return shape.empty() ? "-" : shape;
}

/// MPI, by which the file is read.
class Mpi {
 public:
  Mpi() { MPI_Init(nullptr, nullptr); }
  Mpi(const Mpi&) = delete;
  Mpi& operator=(const Mpi&) = delete;
  ~Mpi() { MPI_Finalize(); }
};

}  // namespace

tools::Case analyse(const JunctionSizes& sizes, std::uint64_t budget_bytes) {
  if (sizes.element_bytes == 0) tools::refuse("--element-bytes is 0; give the size of an element");
  const auto [from, to] = tools::parse_move(sizes.extent, sizes.move);
  const std::vector<Rank> put = ranks_of(from, to, sizes.element_bytes);
  const std::vector<Rank> get = ranks_of(to, from, sizes.element_bytes);
  AgreedSizes agreed;
  agree(agreed, put, true, sizes.element_bytes, budget_bytes);
  agree(agreed, get, false, sizes.element_bytes, budget_bytes);
  tools::Case sides = tools::Case::array();
  for (const auto* const side : {&put, &get}) {
    sides.push_back({{"side", side == &put ? "puts" : "gets"}});
    sides.back().update(side_case(*side, agreed, put.size() + get.size(), budget_bytes));
  }
  return {{"junction",
           {{"extent", sizes.extent},
            {"move", sizes.move},
            {"element_bytes", sizes.element_bytes},
            {"budget_bytes", budget_bytes}}},
          {"sides", sides}};
}

void print_junction(const tools::Case& analysis) {
  tools::print_filled(
      "An array of {extent} elements of {element_bytes} bytes, {move}, with a budget of "
      "{budget_bytes} bytes a rank\n\n",
      analysis["junction"]);
  tools::print_table(analysis["sides"]);
}

bool is_file_of_ranks(const std::string& path) { return path.ends_with(".valet"); }

tools::Case contents_of(const std::string& path) {
  const Mpi mpi;
  const Junction file = Junction::open(MPI_COMM_SELF, path);
  tools::Case records = tools::Case::array();
  for (const JunctionRecord& record : file.records())
    records.push_back({{"label", record.label.empty() ? "-" : record.label},
                       {"kind", name_of(record.kind)},
                       {"count", record.count},
                       {"bytes", record.bytes},
                       {"shape", shape_of(record)}});
  return {{"file", {{"path", path}, {"ranks", file.other_ranks()}}}, {"records", records}};
}

void print_contents(const tools::Case& contents) {
  tools::print_filled("{file/path}, written by {file/ranks} ranks\n\n", contents);
  tools::print_table(contents["records"]);
}

}  // namespace valet::plan
