// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/root.hpp"
#include "objects/call.hpp"
#include "schedule/cyclic.hpp"
#include "schedule/transfers.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace valet::objects {
namespace {

constexpr std::size_t header_words = 2;  ///< what a rank sends first: limit, pieces

/// PHASED, Scheduler::centralized: rank 0 gathers the matrix, divides for all, scatters
/// (same section). It does so in every step, because only the receivers know what whole objects
/// came of the bytes of the step before. Without parking the shares are those of HeuristicDivision;
/// with it a rank reports no more sources than it began with, and others get what those leave.
///
/// Memory: 8 bytes for each source; on the root MatrixRoom::central_bytes() and 40 bytes for each
/// rank.
class CentralDivision final : public Division {
 public:
  /// @param sources  That this rank begins with.
  CentralDivision(const mpi::Channel& channel, Ledger& ledger, const PhasedOptions& options,
                  std::size_t sources, const MatrixRoom& room)
      : channel_(channel),
        ledger_(ledger),
        heuristic_(options.heuristic),
        most_sources_(sources),
        own_(ledger),
        counts_(ledger, mpi::ranks_on_root(channel)),
        random_(ledger),
        all_(ledger),
        credited_(ledger) {
    own_.reserve(header_words + sources);
    random_.reserve(counts_.size());
    all_.reserve(room.pairs + header_words * counts_.size());
    credited_.reserve(room.widest);
    for (std::uint32_t rank = 0; rank < counts_.size(); ++rank)
      random_.emplace_back(options.seed, rank);
  }

  /// Collective: on all ranks, those that want nothing included.
  void divide(const Demand& demand, std::span<std::uint64_t> shares) override {
    collect(demand);
    const std::span<int> counts(counts_.data(), counts_.size());
    mpi::gather_lists(channel_, own_, counts, all_, ledger_);
    solve();
    mpi::scatter_lists(channel_, all_, counts, own_, ledger_);
    std::size_t taken = 0;
    for (std::size_t s = 0; s < shares.size(); ++s)
      shares[s] = demand.ready[s] > 0 && taken < own_.size() ? own_[taken++] : 0;
  }

 private:
  void collect(const Demand& demand) {
    own_.clear();
    own_.push_back(demand.limit);
    own_.push_back(pieces_.next(demand));
    for (const std::uint64_t cost : demand.ready)
      if (cost > 0 && own_.size() < header_words + most_sources_) own_.push_back(cost);
  }

  /// Writes the shares over the matrix, without the headers.
  void solve() {
    auto from = all_.begin();
    auto to = all_.begin();
    for (std::size_t rank = 0; rank < counts_.size(); ++rank) {
      const std::size_t sources = static_cast<std::size_t>(counts_[rank]) - header_words;
      credited_.resize(sources);
      schedule::apportion(heuristic_, {{from + header_words, sources}, from[0], from[1]},
                          random_[rank], credited_);
      from += static_cast<std::ptrdiff_t>(header_words + sources);
      to = std::copy(credited_.begin(), credited_.end(), to);
      counts_[rank] -= static_cast<int>(header_words);
    }
  }

  const mpi::Channel& channel_;
  Ledger& ledger_;
  Heuristic heuristic_;
  std::size_t most_sources_;
  EqualPieces pieces_;
  Vector<std::uint64_t> own_;  ///< what this rank sends to the root, then receives
  // On the root.
  Array<int> counts_;
  Vector<schedule::ReceiverRandom> random_;
  Vector<std::uint64_t> all_, credited_;
};

/// CYCLIC: in every step rank 0 searches what can be sent depth first for cycles and shifts (Siegel
/// and Siegel, "MADRE: The Memory-Aware Data Redistribution Engine", section 3.2), and those that
/// can begin at once are the step: a rank takes from one source and sends to one destination at
/// most.
///
/// What differs: steps end on all ranks together, because mid may communicate; objects have
/// different sizes, so a rank takes whole ones until it has what its cycle or shift moves, or is
/// full, and the root searches again in the matrix that this left. As it never counts on what a
/// cycle moves, no rank is left with a schedule that it cannot carry out. When the ranks of all
/// cycles and shifts can take nothing (the memory callback says so), all ranks take what they can,
/// first fit, for a step.
///
/// Memory: 16 bytes for each source; on the root MatrixRoom::cyclic_bytes() and 64 bytes for each
/// rank.
class CyclicDivision final : public Division, private schedule::CyclicLink {
 public:
  CyclicDivision(const mpi::Channel& channel, Ledger& ledger, std::span<const Peer> sources,
                 const MatrixRoom& room, EdgeOrder edge_order)
      : channel_(channel),
        ledger_(ledger),
        sources_(sources),
        edge_order_(edge_order),
        own_(ledger),
        counts_(ledger, mpi::ranks_on_root(channel)),
        all_(ledger),
        edges_(ledger),
        first_edge_(ledger, counts_.size() + 1),
        scheduler_(ledger, counts_.size()) {
    own_.reserve(2 * sources.size());
    all_.reserve(2 * std::max<std::size_t>(room.pairs, counts_.size()));
    edges_.reserve(room.pairs);
  }

  /// Collective: on all ranks, those that want nothing included.
  void divide(const Demand& demand, std::span<std::uint64_t> shares) override {
    one_source_ = !stalled_;
    stalled_ = false;
    if (!one_source_) {
      schedule::ReceiverRandom unused(0, 0);
      schedule::apportion(Heuristic::first_fit, {demand.ready, demand.limit, 0}, unused, shares);
      return;
    }
    gather(demand);
    search();
    std::fill(shares.begin(), shares.end(), std::uint64_t{0});
    for (std::size_t s = 0; s < sources_.size() && !own_.empty(); ++s)
      if (static_cast<std::uint64_t>(sources_[s].rank) == own_[0]) shares[s] = own_[1];
  }

  [[nodiscard]] bool one_source() const override { return one_source_; }

  [[nodiscard]] bool stalled() override {
    stalled_ = one_source_;
    return stalled_;
  }

 private:
  schedule::Edge next_edge(std::uint32_t rank) override {
    const schedule::TransferEntry& edge = edges_[first_edge_[rank]++];
    return {edge.destination, edge.blocks};
  }
  /// What can begin at once is kept: two words for each rank that receives, in the order of the
  /// ranks.
  void schedule(std::uint32_t rank, const schedule::Action& action) override {
    if (action.step > 0 || action.source == schedule::no_rank) return;
    const std::size_t at = 2 * std::size_t{rank};
    counts_[rank] = 2;
    all_[at] = action.source;
    all_[at + 1] = action.blocks;
  }

  /// The columns of all ranks, as rows.
  void gather(const Demand& demand) {
    own_.clear();
    for (std::size_t s = 0; s < sources_.size(); ++s) {
      if (demand.ready[s] == 0) continue;
      own_.push_back(static_cast<std::uint64_t>(sources_[s].rank));
      own_.push_back(demand.ready[s]);
    }
    mpi::gather_lists(channel_, own_, std::span<int>(counts_.data(), counts_.size()), all_,
                      ledger_);
    edges_.clear();
    std::size_t at = 0;
    for (std::uint32_t rank = 0; rank < counts_.size(); ++rank)
      for (int k = 0; k < counts_[rank]; k += 2, at += 2)
        edges_.push_back({static_cast<std::uint32_t>(all_[at]), rank, all_[at + 1]});
    const auto ranks = static_cast<std::uint32_t>(counts_.size());
    std::ranges::sort(edges_, {}, [&](const schedule::TransferEntry& each) {
      const std::uint32_t place = edge_order_ == EdgeOrder::ascending
                                      ? each.destination
                                      : (each.destination + ranks - each.source) % ranks;
      return std::pair(each.source, place);
    });
  }

  /// Finds what can begin at once, and sends every rank its part.
  void search() {
    all_.resize(2 * counts_.size());
    std::fill(counts_.begin(), counts_.end(), 0);
    std::fill(first_edge_.begin(), first_edge_.end(), 0);
    for (const schedule::TransferEntry& edge : edges_) ++first_edge_[edge.source + 1];
    for (std::uint32_t rank = 0; rank < counts_.size(); ++rank) {
      scheduler_.set(rank, {.edges = first_edge_[rank + 1], .free = schedule::most_blocks});
      first_edge_[rank + 1] += first_edge_[rank];
    }
    scheduler_.run(*this);
    std::size_t kept = 0;
    for (std::size_t rank = 0; rank < counts_.size(); ++rank)
      for (int k = 0; k < counts_[rank]; ++k)
        all_[kept++] = all_[2 * rank + static_cast<std::size_t>(k)];
    mpi::scatter_lists(channel_, all_, {counts_.data(), counts_.size()}, own_, ledger_);
  }

  const mpi::Channel& channel_;
  Ledger& ledger_;
  std::span<const Peer> sources_;
  EdgeOrder edge_order_;
  bool one_source_ = true;  ///< this step's
  bool stalled_ = false;    ///< the last step brought nobody anything
  Vector<std::uint64_t> own_;
  // On the root.
  Array<int> counts_;
  Vector<std::uint64_t> all_;
  Vector<schedule::TransferEntry> edges_;  ///< by source, then as edge_order_ has it
  Array<std::uint32_t> first_edge_;        ///< for each rank
  schedule::CyclicScheduler scheduler_;
};

}  // namespace

MatrixRoom room_for_matrix(const mpi::Channel& channel, Ledger& ledger, std::size_t sources) {
  Array<std::uint64_t> all(ledger, mpi::ranks_on_root(channel));
  const std::array<std::uint64_t, 1> mine{sources};
  mpi::gather_words(channel, mine, {all.data(), all.size()});
  if (all.size() == 0) return {};
  return {std::accumulate(all.begin(), all.end(), std::uint64_t{0}),
          *std::max_element(all.begin(), all.end())};
}

std::unique_ptr<Division> make_division(const Call& call, std::span<const Peer> sources) {
  const Options& options = call.options;
  if (call.method == Method::cyclic)
    return std::make_unique<CyclicDivision>(call.channel, call.ledger, sources, call.matrix,
                                            options.cyclic.edge_order);
  if (call.method != Method::phased) return std::make_unique<ProportionalDivision>();
  if (options.phased.scheduler == Scheduler::centralized)
    return std::make_unique<CentralDivision>(call.channel, call.ledger, options.phased,
                                             sources.size(), call.matrix);
  return std::make_unique<HeuristicDivision>(options.phased, call.channel.rank());
}

}  // namespace valet::objects
