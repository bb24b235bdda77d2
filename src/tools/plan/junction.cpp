// SPDX-License-Identifier: BSD-3-Clause
#include "junction.hpp"

#include "base/promise.hpp"
#include "engine/array_exchange.hpp"
#include "schedule/stream_sizes.hpp"
#include "tools/errors.hpp"
#include "tools/layouts.hpp"
#include <valet/intersect.hpp>

#include <algorithm>
#include <chrono>
#include <limits>

namespace valet::plan {
namespace {

/// What the ranks of one side have at most, but for `bytes` and `messages`, which are of all.
struct SideSizes {
  std::uint64_t bytes = 0, most_bytes = 0, messages = 0, most_neighbours = 0, most_described = 0;
  double most_seconds = 0;  ///< to find what a rank shares
};

/// What all ranks of both sides agree on: the least of each.
struct AgreedSizes {
  bool at_once = true;
  std::uint64_t chunk_elements = std::numeric_limits<std::uint64_t>::max();
};

/// Calls action(rank, what it shares, bytes that tell what, seconds to find it).
template <class Action>
void for_each_rank(const BlockCyclic& mine, const BlockCyclic& theirs, Action&& action) {
  for (int rank = 0; rank < mine.ranks(); ++rank) {
    Ledger ledger;
    const auto start = std::chrono::steady_clock::now();
    const layout::Intersection shared(ledger, mine, rank, theirs);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    action(rank, shared, ledger.current_bytes(), seconds.count());
  }
}

/// @param sends  Whether this side does.
void agree(AgreedSizes& agreed, const BlockCyclic& mine, const BlockCyclic& theirs, bool sends,
           std::uint64_t element_bytes, std::uint64_t budget_bytes) {
  for_each_rank(mine, theirs, [&](int rank, const auto&, std::uint64_t described, double) {
    const auto bytes = static_cast<std::uint64_t>(mine.local_elements(rank)) * element_bytes;
    if (bytes == 0) return;
    const std::uint64_t rest = budget_bytes - std::min(budget_bytes, described);
    const auto chunk = static_cast<std::uint64_t>(
        layout::choose_chunk_elements(rest, static_cast<std::size_t>(element_bytes)));
    if (chunk == 0)
      tools::refuse("--budget ", budget_bytes, " does not hold what rank ", rank,
                    " shares with the other side, ", described, " bytes, and two elements");
    agreed.chunk_elements = std::min(agreed.chunk_elements, chunk);
    agreed.at_once =
        agreed.at_once && bytes <= rest && (!sends || bytes <= schedule::most_bytes_at_once);
  });
}

SideSizes sizes_of(const BlockCyclic& mine, const BlockCyclic& theirs, std::uint64_t element_bytes,
                   const AgreedSizes& agreed) {
  SideSizes sizes;
  for_each_rank(
      mine, theirs, [&](int rank, const auto& shared, std::uint64_t described, double seconds) {
        const auto bytes = static_cast<std::uint64_t>(mine.local_elements(rank)) * element_bytes;
        std::uint64_t neighbours = 0;
        for (int p = shared.next_peer(0); p < theirs.ranks(); p = shared.next_peer(p + 1)) {
          const auto elements = static_cast<std::uint64_t>(shared.elements(p));
          sizes.messages +=
              agreed.at_once ? 1 : (elements + agreed.chunk_elements - 1) / agreed.chunk_elements;
          ++neighbours;
        }
        sizes.bytes += bytes;
        sizes.most_bytes = std::max(sizes.most_bytes, bytes);
        sizes.most_neighbours = std::max(sizes.most_neighbours, neighbours);
        sizes.most_described = std::max(sizes.most_described, described);
        sizes.most_seconds = std::max(sizes.most_seconds, seconds);
      });
  return sizes;
}

}  // namespace

tools::Case analyse(const JunctionSizes& sizes, std::uint64_t budget_bytes) {
  if (sizes.element_bytes == 0) tools::refuse("--element-bytes is 0; give the size of an element");
  const auto [from, to] = tools::parse_move(sizes.extent, sizes.move);
  const auto ranks =
      static_cast<std::uint64_t>(from.ranks()) + static_cast<std::uint64_t>(to.ranks());
  AgreedSizes agreed;
  agree(agreed, from, to, true, sizes.element_bytes, budget_bytes);
  agree(agreed, to, from, false, sizes.element_bytes, budget_bytes);
  tools::Case sides = tools::Case::array();
  for (const bool puts : {true, false}) {
    const BlockCyclic& mine = puts ? from : to;
    const SideSizes side = sizes_of(mine, puts ? to : from, sizes.element_bytes, agreed);
    sides.push_back({{"side", puts ? "puts" : "gets"},
                     {"ranks", mine.ranks()},
                     {"bytes", side.bytes},
                     {"most_bytes", side.most_bytes},
                     {"most_neighbours", side.most_neighbours},
                     {"messages", side.messages},
                     {"described_bytes", side.most_described},
                     {"index_seconds", side.most_seconds},
                     {"extra_bytes_bound",
                      detail::promised_bytes(budget_bytes, side.most_neighbours, ranks, false)}});
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

}  // namespace valet::plan
