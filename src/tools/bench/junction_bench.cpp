// SPDX-License-Identifier: BSD-3-Clause
#include "benchmark.hpp"
#include "tools/layouts.hpp"
#include <valet/intersect.hpp>
#include <valet/junction.hpp>

#include <algorithm>
#include <cstring>
#include <optional>

namespace valet::bench {
namespace {

/// The ranks of the world as M that put and N that get; those behind them do neither.
class Sides {
 public:
  Sides(int sources, int targets) : puts(world_rank() < sources) {
    const bool takes_part = world_rank() < sources + targets;
    MPI_Comm own = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, takes_part ? (puts ? 0 : 1) : MPI_UNDEFINED, 0, &own);
    if (!takes_part) return;
    MPI_Comm_rank(own, &rank);
    MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, puts ? sources : 0, 0, &between);
    MPI_Comm_free(&own);
  }
  Sides(const Sides&) = delete;
  Sides& operator=(const Sides&) = delete;
  ~Sides() {
    if (between != MPI_COMM_NULL) MPI_Comm_free(&between);
  }

  const bool puts;
  int rank = -1;
  MPI_Comm between = MPI_COMM_NULL;
};

/// An array that goes over a junction, and what a code does by hand: a full buffer for each rank of
/// the other side, packed and sent by the one, received and unpacked by the other. Column-major.
class JunctionMove {
 public:
  JunctionMove(const BlockCyclic& from, const BlockCyclic& to, const JunctionOptions& options)
      : sides_(from.ranks(), to.ranks()), mine_(sides_.puts ? from : to) {
    if (sides_.between == MPI_COMM_NULL) return;
    const BlockCyclic& theirs = sides_.puts ? to : from;
    values_.resize(static_cast<std::size_t>(mine_.local_elements(sides_.rank)));
    shared_.emplace(intersect(mine_, sides_.rank, theirs));
    for (int p = shared_->next_peer(0); p < theirs.ranks(); p = shared_->next_peer(p + 1))
      peers_.push_back({p, static_cast<std::size_t>(shared_->elements(p))});
    tools::write_numbers(mine_, sides_.rank, IndexOrder::column_major, values_);
    junction_.emplace(Junction::connect(sides_.between, "benchmark", options));
  }

  Outcome run_junction() {
    clear();
    const auto move = [&] { return !junction_ ? Report() : sides_.puts ? put() : get(); };
    return timed(move, [&] { return is_right(); });
  }
  Outcome run_by_hand() {
    clear();
    const auto move = [&] {
      if (junction_) exchange_by_hand();
    };
    return timed(move, [&] { return is_right(); });
  }

 private:
  struct Peer {
    int rank;
    std::size_t elements;
    Bytes buffer = {};
  };

  Report put() {
    return junction_
        ->put(SourceArray{values_.data(), bytes(), IndexOrder::column_major, {}}, {mine_},
              sizeof(double))
        .wait();
  }
  Report get() {
    return junction_
        ->get(TargetArray{values_.data(), bytes(), IndexOrder::column_major, {}}, {mine_},
              sizeof(double))
        .wait();
  }
  void exchange_by_hand() {
    std::vector<MPI_Request> requests(peers_.size());
    for (std::size_t k = 0; k < peers_.size(); ++k) {
      Peer& peer = peers_[k];
      const auto count = static_cast<int>(peer.elements);
      if (!peer.buffer) peer.buffer = allocate(peer.elements * sizeof(double));
      if (sides_.puts) {
        copy_runs(peer);
        MPI_Isend(peer.buffer.get(), count, MPI_DOUBLE, peer.rank, 0, sides_.between, &requests[k]);
      } else {
        MPI_Irecv(peer.buffer.get(), count, MPI_DOUBLE, peer.rank, 0, sides_.between, &requests[k]);
      }
    }
    for (std::size_t left = peers_.size(); left > 0; --left) {
      int k = 0;
      MPI_Waitany(static_cast<int>(requests.size()), requests.data(), &k, MPI_STATUS_IGNORE);
      if (!sides_.puts) copy_runs(peers_[static_cast<std::size_t>(k)]);
    }
  }
  /// What is shared with a rank, into its buffer or out of it.
  void copy_runs(const Peer& peer) {
    const BlockCyclic::Extents extents = mine_.local_extents(sides_.rank);
    std::byte* packed = peer.buffer.get();
    shared_->for_each_run(
        peer.rank, IndexOrder::column_major,
        [&](const BlockCyclic::Extents&, const BlockCyclic::Extents& local, std::int64_t length) {
          std::int64_t at = 0;
          for (std::size_t d = extents.size(); d-- > 0;) at = at * extents[d] + local[d];
          double* const run = values_.data() + at;
          const std::size_t run_bytes = static_cast<std::size_t>(length) * sizeof(double);
          if (sides_.puts)
            std::memcpy(packed, run, run_bytes);
          else
            std::memcpy(run, packed, run_bytes);
          packed += run_bytes;
        });
  }

  void clear() {
    if (!sides_.puts) std::ranges::fill(values_, -1.0);
  }
  [[nodiscard]] bool is_right() const {
    return !junction_ || tools::has_numbers(mine_, sides_.rank, IndexOrder::column_major, values_);
  }
  [[nodiscard]] std::size_t bytes() const { return values_.size() * sizeof(double); }

  Sides sides_;
  BlockCyclic mine_;
  std::vector<double> values_;
  std::optional<layout::Intersection> shared_;
  std::vector<Peer> peers_;
  std::optional<Junction> junction_;
};

class JunctionBenchmark final : public Benchmark {
  using Benchmark::Benchmark;

  Jobs jobs() override {
    return jobs_of([this](const auto& move) { study(move); }, moves_);
  }
  void study(const std::string& text) {
    const auto [from, to] = tools::parse_move(extent_, text);
    if (from.ranks() + to.ranks() > world_size())
      refuse("the two grids have ", from.ranks() + to.ranks(), " ranks, but there are ",
             world_size(), "; start more, or give smaller grids");
    JunctionMove move(from, to, common_options<JunctionOptions>());
    std::vector<Series> all{{"by hand", [&] { return move.run_by_hand(); }},
                            {"junction", [&] { return move.run_junction(); }}};
    take_turns(all);
    const double by_hand = all[0].median(), seconds = all[1].median();
    const Report& report = all[1].report;
    rows_.push_back(
        {{"move", text},
         {"ranks", std::to_string(from.ranks()) + ":" + std::to_string(to.ranks())},
         {"seconds_median", seconds},
         {"seconds_by_hand", by_hand},
         {"ratio_by_hand", seconds / by_hand},
         // As section 5 of the paper has it. Waiting is for data and for credits.
         {"index_share", report.plan_seconds / seconds},
         {"packing_share", (report.exchange_seconds - report.waiting_seconds) / seconds},
         {"transfer_share", report.waiting_seconds / seconds},
         {"messages", report.messages},
         {"peak_extra_bytes", report.peak_extra_bytes},
         {"extra_bytes_bound", report.extra_bytes_bound},
         {"verified", all[0].verified && all[1].verified}});
  }

  Text& extent_ = option<Text>("--extent", "4096x4096", "extents of the global array");
  Texts& moves_ = option<Texts>("--move", {"64x64:4x1:30x50:1x3", "4096x256:1x2:1x4096:5x1"},
                                "moves (comma-separated), each as block:grid:block:grid of the two "
                                "sides, which together need as many ranks as there are, or fewer");
};

}  // namespace

std::unique_ptr<Benchmark> make_junction_benchmark() {
  return std::make_unique<JunctionBenchmark>(
      "junction",
      "An array of doubles from M ranks to N others over a junction, whose two sides know their "
      "own layout only, beside what a code does by hand that knows both: it packs a buffer for "
      "each rank of the other side",
      9);
}

}  // namespace valet::bench
