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
    mpi::gather_lists(channel_, own_, std::span(counts_), all_, ledger_);
    solve();
    mpi::scatter_lists(channel_, all_, counts_, own_, ledger_);
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

/// CYCLIC: rank 0 searches the matrix of all transfers depth first for cycles and shifts (Siegel
/// and Siegel, "MADRE: The Memory-Aware Data Redistribution Engine", section 3.2), once, and sends
/// every rank its actions. In each step a rank takes from one source and sends to one destination
/// at most.
///
/// What differs: steps end on all ranks together, because the application may communicate between
/// them, so all actions of a stage are over before those of the next begin. Objects have different
/// sizes: a rank takes whole ones until it has what its cycle or shift moves, or is full, which
/// makes a stage several steps; what it took too much of counts for the next action with this
/// source. Where no rank can take anything of its source (the application has no memory, or objects
/// of other destinations are packed), all ranks take what they can, first fit, for a step. They end
/// like that where a rank is in more cycles than it has room for actions.
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
    own_.reserve(action_words * sources.size());
    all_.reserve(action_words * room.pairs);
    edges_.reserve(room.pairs);
  }

  /// Collective the first time: on all ranks, those that want nothing included.
  void divide(const Demand& demand, std::span<std::uint64_t> shares) override {
    if (!is_scheduled_) make_schedule(demand);
    is_scheduled_ = true;
    demand_ = demand;
    one_source_ = !stalled_ && stage_ != no_stage;
    stalled_ = false;
    if (!one_source_) {
      schedule::ReceiverRandom unused(0, 0);
      schedule::apportion(Heuristic::first_fit, {demand.ready, demand.limit, 0}, unused, shares);
      return;
    }
    std::fill(shares.begin(), shares.end(), std::uint64_t{0});
    if (stage() != stage_) return;
    const Action action = next_action();
    shares[action.source] = action.until - taken(action.source);
  }

  [[nodiscard]] bool one_source() const override { return one_source_; }

  [[nodiscard]] bool stalled() override {
    stalled_ = one_source_;
    return stalled_;
  }

  [[nodiscard]] std::uint64_t stage() const override {
    while (next_ < own_.size()) {
      const Action action = next_action();
      if (taken(action.source) < action.until) return action.stage;
      next_ += action_words;
    }
    return no_stage;
  }
  void set_stage(std::uint64_t least) override { stage_ = least; }

 private:
  static constexpr std::uint64_t no_stage = std::uint64_t{1} << 32;  ///< all actions are over
  static constexpr std::size_t action_words = 2;

  /// What a rank takes from a source until its stage is over.
  struct Action {
    std::uint64_t stage = 0;
    std::size_t source = 0;   ///< among all
    std::uint64_t until = 0;  ///< so much of all that the source has
  };
  [[nodiscard]] Action next_action() const {
    return {own_[next_] >> 32, own_[next_] & 0xffffffffU, own_[next_ + 1]};
  }
  [[nodiscard]] std::uint64_t taken(std::size_t source) const {
    return demand_.all[source] - demand_.left[source];
  }

  schedule::Edge next_edge(std::uint32_t rank) override {
    const schedule::TransferEntry& edge = edges_[first_edge_[rank]++];
    return {edge.destination, edge.blocks};
  }
  void schedule(std::uint32_t rank, const schedule::Action& action) override {
    if (action.source == schedule::no_rank || room_[rank].used == room_[rank].words) return;
    const std::size_t at = room_[rank].first + room_[rank].used;
    room_[rank].used += action_words;
    all_[at] = std::uint64_t{action.step} << 32 | action.source;
    all_[at + 1] = action.blocks;
  }

  /// Collective.
  void make_schedule(const Demand& demand) {
    gather(demand);
    search();
    std::size_t kept = 0;
    for (std::size_t rank = 0; rank < counts_.size(); ++rank) {
      counts_[rank] = static_cast<int>(room_[rank].used);
      for (std::size_t k = 0; k < room_[rank].used; ++k) all_[kept++] = all_[room_[rank].first + k];
    }
    mpi::scatter_lists(channel_, all_, counts_, own_, ledger_);
    // From here on sources are numbers, and amounts are sums.
    Vector<std::uint64_t> sums(sources_.size(), 0, ledger_);
    for (std::size_t k = 0; k < own_.size(); k += action_words) {
      const auto rank = static_cast<int>(own_[k] & 0xffffffffU);
      const std::size_t source = plan::flow_from(sources_, rank);
      own_[k] = own_[k] >> 32 << 32 | source;
      own_[k + 1] = sums[source] += own_[k + 1];
    }
  }

  /// The columns of all ranks, as rows.
  void gather(const Demand& demand) {
    for (std::size_t s = 0; s < sources_.size(); ++s) {
      if (demand.left[s] == 0) continue;
      own_.push_back(static_cast<std::uint64_t>(sources_[s].rank));
      own_.push_back(demand.left[s]);
    }
    mpi::gather_lists(channel_, own_, std::span(counts_), all_, ledger_);
    own_.clear();
    room_ = Array<Room>(ledger_, counts_.size());
    std::size_t at = 0, words = 0;
    for (std::uint32_t rank = 0; rank < counts_.size(); ++rank) {
      room_[rank] = {words, static_cast<std::size_t>(counts_[rank]), 0};
      words += room_[rank].words;
      for (int k = 0; k < counts_[rank]; k += 2, at += 2)
        edges_.push_back({static_cast<std::uint32_t>(all_[at]), rank, all_[at + 1]});
    }
    all_.resize(words);
    const auto ranks = static_cast<std::uint32_t>(counts_.size());
    std::ranges::sort(edges_, {}, [&](const schedule::TransferEntry& each) {
      const std::uint32_t place = edge_order_ == EdgeOrder::ascending
                                      ? each.destination
                                      : (each.destination + ranks - each.source) % ranks;
      return std::pair(each.source, place);
    });
  }

  void search() {
    std::fill(first_edge_.begin(), first_edge_.end(), 0U);
    for (const schedule::TransferEntry& edge : edges_) ++first_edge_[edge.source + 1];
    for (std::uint32_t rank = 0; rank < counts_.size(); ++rank) {
      scheduler_.set(rank, {.edges = first_edge_[rank + 1], .free = schedule::most_blocks});
      first_edge_[rank + 1] += first_edge_[rank];
    }
    scheduler_.run(*this);
  }

  const mpi::Channel& channel_;
  Ledger& ledger_;
  std::span<const Peer> sources_;
  EdgeOrder edge_order_;
  Demand demand_;  ///< of the step at hand
  bool is_scheduled_ = false;
  bool one_source_ = true;        ///< this step's
  bool stalled_ = false;          ///< the last step brought nobody anything
  std::uint64_t stage_ = 0;       ///< of the rank that is furthest behind
  Vector<std::uint64_t> own_;     ///< actions
  mutable std::size_t next_ = 0;  ///< behind what is over
  // On the root.
  struct Room {
    std::size_t first = 0, words = 0, used = 0;
  };
  Array<int> counts_;
  Array<Room> room_;  ///< for the actions of each rank
  Vector<std::uint64_t> all_;
  Vector<schedule::TransferEntry> edges_;  ///< by source, then as edge_order_ has it
  Array<std::uint32_t> first_edge_;        ///< for each rank
  schedule::CyclicScheduler scheduler_;
};

}  // namespace

MatrixRoom room_for_matrix(const mpi::Channel& channel, Ledger& ledger, std::size_t sources) {
  Array<std::uint64_t> all(ledger, mpi::ranks_on_root(channel));
  const std::array<std::uint64_t, 1> mine{sources};
  mpi::gather_words(channel, mine, all);
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
