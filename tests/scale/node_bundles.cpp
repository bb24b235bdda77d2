// SPDX-License-Identifier: BSD-3-Clause
/// Do messages between nodes that are bundled by node pay? A program of plain MPI for SimGrid's
/// SMPI that exchanges blocks of many ranks in one of these ways and prints the simulated seconds:
///
///   direct    as STREAM does: a credit and a message a pair, 16 of each at most under way
///             (fewer of large ones)
///   posted    a message a pair and no credits: all receives are posted, then a barrier (memory for
///             all imports)
///   leader    the ranks of a node hand their blocks to one of them, which exchanges with the
///             leaders of the other nodes and hands on what it got
///   same      rank i of a node exchanges with rank i of each other node (all ranks lead), which
///             hands on what it got inside its node
///   shared    bundles are put together in memory that the ranks of a node share, and each pair of
///             nodes has a pair of leaders of its own: nobody copies a block more often than
///             STREAM does
///
/// The last three work in steps: what is under way never exceeds the budget of all ranks of a node
/// (of the leader alone for `leader`), with two steps under way. Every bundle has a credit. What is
/// charged: every message at its sender and at its receiver (less inside a node), every copy at
/// 10 GB/s, and nothing for finding out which block of a bundle goes where. Blocks between ranks of
/// a node are left out: all ways treat them alike.
///
/// Usage (node_bundles.sh runs it): node_bundles WAY PATTERN BLOCK_BYTES MESSAGE_SECONDS
/// PATTERN is all (every rank to every other), nodes4 (to all ranks of the next four nodes),
/// random100 (to a hundred ranks, the same offsets for all) or grid (26 neighbours in three
/// dimensions, 4 x 4 x 2 ranks a node). Source of the ways: Bienz, Gropp, Olson, "Reducing
/// communication in algebraic multigrid with multi-step node aware communication", 2020.

#include <mpi.h>
#include <smpi/smpi.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr int ranks_a_node = 32;
constexpr int blocks_a_pair = 5;
constexpr std::size_t window = 16;
constexpr double budget_bytes = 1 << 20;
constexpr double copy_bytes_a_second = 10e9;
constexpr double node_message_seconds = 0.25e-6;
constexpr std::size_t largest_copied = 1024;  // of simulated messages, the rest has no content
constexpr int credit_tag = 1, data_tag = 2, inside_tag = 3;

std::array<char, std::size_t{64} << 20> arena;  // where messages would be: never touched

struct Setting {
  std::string way, pattern;
  double block_bytes = 0;
  double message_seconds = 0;
  int rank = 0, ranks = 0;
  [[nodiscard]] int nodes() const { return ranks / ranks_a_node; }
  [[nodiscard]] int node() const { return rank / ranks_a_node; }
  [[nodiscard]] int local() const { return rank % ranks_a_node; }
  /// How many nodes `other` is ahead of this rank's.
  [[nodiscard]] int nodes_ahead(int other) const {
    return (other / ranks_a_node - node() + nodes()) % nodes();
  }
  [[nodiscard]] double pair_bytes() const { return blocks_a_pair * block_bytes; }
};

void copy_small(smx_activity_t message, void* buffer, std::size_t bytes) {
  if (bytes <= largest_copied)
    smpi_comm_copy_buffer_callback(reinterpret_cast<simgrid::kernel::activity::CommImpl*>(message),
                                   buffer, bytes);
}

void charge_copy(double bytes) {
  if (bytes > 0) smpi_execute_benched(bytes / copy_bytes_a_second);
}

MPI_Request post(double bytes, int source, int tag, MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(arena.data(), static_cast<int>(std::ceil(bytes)), MPI_CHAR, source, tag, comm,
            &request);
  return request;
}

/// `seconds` is what a message costs its sender.
MPI_Request send(double bytes, int target, int tag, double seconds, MPI_Comm comm) {
  smpi_execute_benched(seconds);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Isend(arena.data(), static_cast<int>(std::ceil(bytes)), MPI_CHAR, target, tag, comm,
            &request);
  return request;
}

void wait_received(MPI_Request& request, double seconds) {
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  smpi_execute_benched(seconds);
}

void wait_all(std::vector<MPI_Request>& requests) {
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  requests.clear();
}

/// Messages of a rank under way at once: enough to keep a network busy that 32 ranks share, and no
/// more, because the simulator's time grows with the square of it.
std::size_t lanes_for(double bytes) {
  return std::clamp(static_cast<std::size_t>(8192 / bytes), std::size_t{2}, window);
}

/// Waits for the oldest until another may be sent.
void keep_lanes(std::vector<MPI_Request>& sends, double bytes) {
  if (const std::size_t lanes = lanes_for(bytes); sends.size() >= lanes)
    MPI_Wait(&sends[sends.size() - lanes], MPI_STATUS_IGNORE);
}

// --- Who exchanges with whom
// -----------------------------------------------------------------------

std::vector<int> random_offsets(int ranks) {
  std::vector<int> offsets(static_cast<std::size_t>(ranks - 1));
  for (int i = 1; i < ranks; ++i) offsets[static_cast<std::size_t>(i) - 1] = i;
  std::mt19937 generator(20);  // NOLINT: the same offsets on all ranks
  for (std::size_t i = 0; i < offsets.size(); ++i)
    std::swap(offsets[i], offsets[i + generator() % (offsets.size() - i)]);
  offsets.resize(std::min<std::size_t>(offsets.size(), 100));
  return offsets;
}

/// Neighbours of a rank in a periodic grid of nodes of 4 x 4 x 2 ranks.
std::vector<int> grid_neighbours(int rank, int nodes) {
  std::array<int, 3> grid{};
  MPI_Dims_create(nodes, 3, grid.data());
  const std::array<int, 3> tile{4, 4, 2};
  int node = rank / ranks_a_node, local = rank % ranks_a_node;
  std::array<int, 3> at{};
  for (std::size_t k = 0; k < 3; ++k) {
    at[k] = node % grid[k] * tile[k] + local % tile[k];
    node /= grid[k];
    local /= tile[k];
  }
  std::vector<int> found;
  for (int move = 0; move < 27; ++move) {
    const std::array<int, 3> step{move % 3 - 1, move / 3 % 3 - 1, move / 9 - 1};
    int other_node = 0, other_local = 0;
    for (std::size_t k = 3; k-- > 0;) {
      const int extent = grid[k] * tile[k];
      const int to = (at[k] + step[k] + extent) % extent;
      other_node = other_node * grid[k] + to / tile[k];
      other_local = other_local * tile[k] + to % tile[k];
    }
    const int other = other_node * ranks_a_node + other_local;
    if (other != rank && std::find(found.begin(), found.end(), other) == found.end())
      found.push_back(other);
  }
  return found;
}

/// The ranks on other nodes to which `rank` sends (direction 1) or from which it receives (-1).
std::vector<int> partners(const Setting& s, int rank, int direction) {
  std::vector<int> found;
  const auto add = [&](int other) {
    other = (other % s.ranks + s.ranks) % s.ranks;
    if (other / ranks_a_node != rank / ranks_a_node) found.push_back(other);
  };
  if (s.pattern == "all")
    for (int offset = 1; offset < s.ranks; ++offset) add(rank + direction * offset);
  if (s.pattern == "nodes4")
    for (int node = 1; node <= std::min(4, s.nodes() - 1); ++node)
      for (int i = 0; i < ranks_a_node; ++i)
        add((rank / ranks_a_node + direction * node) * ranks_a_node +
            (rank + direction * i + ranks_a_node) % ranks_a_node);
  if (s.pattern == "random100")
    for (const int offset : random_offsets(s.ranks)) add(rank + direction * offset);
  if (s.pattern == "grid")
    for (const int other : grid_neighbours(rank, s.nodes())) add(other);
  return found;
}

// --- A message a pair
// ------------------------------------------------------------------------------

void exchange_posted(const Setting& s) {
  std::vector<MPI_Request> receives, sends;
  for (const int source : partners(s, s.rank, -1))
    receives.push_back(post(s.pair_bytes(), source, data_tag, MPI_COMM_WORLD));
  MPI_Barrier(MPI_COMM_WORLD);
  for (const int target : partners(s, s.rank, 1)) {
    charge_copy(s.pair_bytes());
    keep_lanes(sends, s.pair_bytes());
    sends.push_back(send(s.pair_bytes(), target, data_tag, s.message_seconds, MPI_COMM_WORLD));
  }
  for (MPI_Request& request : receives) {
    wait_received(request, s.message_seconds);
    charge_copy(s.pair_bytes());
  }
  wait_all(sends);
}

/// Requests: a wildcard for credits, then data to come, then data on the way out.
class Direct {
 public:
  explicit Direct(const Setting& setting)
      : s_(setting),
        sources_(partners(setting, setting.rank, -1)),
        targets_(partners(setting, setting.rank, 1)),
        lanes_(lanes_for(setting.pair_bytes())),
        requests_(1 + 2 * lanes_, MPI_REQUEST_NULL),
        credits_sent_(lanes_, MPI_REQUEST_NULL) {}

  void run() {
    await_credit();
    for (;;) {
      for (std::size_t lane = 0; lane < lanes_; ++lane) give_credit(lane);
      for (std::size_t lane = 0; lane < lanes_; ++lane) answer(lane);
      int done = MPI_UNDEFINED;
      MPI_Status status{};
      MPI_Waitany(static_cast<int>(requests_.size()), requests_.data(), &done, &status);
      if (done == MPI_UNDEFINED) return;
      if (done == 0) {
        smpi_execute_benched(s_.message_seconds);
        ready_.push_back(status.MPI_SOURCE);
        await_credit();
      } else if (static_cast<std::size_t>(done) <= lanes_) {
        smpi_execute_benched(s_.message_seconds);
        charge_copy(s_.pair_bytes());
        MPI_Wait(&credits_sent_[static_cast<std::size_t>(done) - 1], MPI_STATUS_IGNORE);
      }
    }
  }

 private:
  void await_credit() {
    if (ready_.size() < targets_.size())
      requests_[0] = post(8, MPI_ANY_SOURCE, credit_tag, MPI_COMM_WORLD);
  }
  void give_credit(std::size_t lane) {
    if (requests_[1 + lane] != MPI_REQUEST_NULL || credited_ == sources_.size()) return;
    const int source = sources_[credited_++];
    requests_[1 + lane] = post(s_.pair_bytes(), source, data_tag, MPI_COMM_WORLD);
    credits_sent_[lane] = send(8, source, credit_tag, s_.message_seconds, MPI_COMM_WORLD);
  }
  void answer(std::size_t lane) {
    if (requests_[1 + lanes_ + lane] != MPI_REQUEST_NULL || answered_ == ready_.size()) return;
    charge_copy(s_.pair_bytes());
    requests_[1 + lanes_ + lane] =
        send(s_.pair_bytes(), ready_[answered_++], data_tag, s_.message_seconds, MPI_COMM_WORLD);
  }

  const Setting& s_;
  std::vector<int> sources_, targets_, ready_;
  std::size_t lanes_, credited_ = 0, answered_ = 0;
  std::vector<MPI_Request> requests_, credits_sent_;
};

// --- A message a pair of nodes, or of ranks with the same number in their nodes
// -------------------

/// Bundles to nodes `first` to `last` ahead, and this share of each.
struct Step {
  int first = 0, last = 0;
  double share = 1;
};

class Bundled {
 public:
  explicit Bundled(const Setting& setting) : s_(setting), all_lead_(setting.way == "same") {
    MPI_Comm_split(MPI_COMM_WORLD, s_.node(), s_.rank, &inside_);
    const auto nodes = static_cast<std::size_t>(s_.nodes());
    own_out_.resize(nodes);
    own_in_.resize(nodes);
    bundle_in_.resize(nodes);
    handed_on_.resize(nodes * ranks_a_node);
    handed_to_me_.resize(nodes * ranks_a_node);
    for (const int target : partners(s_, s_.rank, 1)) own_out_[ahead(target)] += s_.pair_bytes();
    for (const int source : partners(s_, s_.rank, -1)) {
      own_in_[behind(source)] += s_.pair_bytes();
      handed_to_me_[local_of(source) * nodes + behind(source)] += s_.pair_bytes();
    }
    if (all_lead_) {
      bundle_out_ = own_out_;
      for (int d = 1; d < s_.nodes(); ++d) {
        const int twin = leader_rank(-d);
        for (const int target : partners(s_, twin, 1)) {
          if (target / ranks_a_node != s_.node()) continue;
          bundle_in_[at(d)] += s_.pair_bytes();
          handed_on_[local_of(target) * nodes + at(d)] += s_.pair_bytes();
        }
      }
    } else {
      bundle_out_.resize(nodes);
      MPI_Allreduce(own_out_.data(), bundle_out_.data(), s_.nodes(), MPI_DOUBLE, MPI_SUM, inside_);
      MPI_Allreduce(own_in_.data(), bundle_in_.data(), s_.nodes(), MPI_DOUBLE, MPI_SUM, inside_);
      MPI_Allgather(own_out_.data(), s_.nodes(), MPI_DOUBLE, handed_to_me_.data(), s_.nodes(),
                    MPI_DOUBLE, inside_);
      MPI_Allgather(own_in_.data(), s_.nodes(), MPI_DOUBLE, handed_on_.data(), s_.nodes(),
                    MPI_DOUBLE, inside_);
    }
    divide();
  }
  Bundled(const Bundled&) = delete;
  Bundled& operator=(const Bundled&) = delete;
  ~Bundled() { MPI_Comm_free(&inside_); }

  void run() {
    if (!steps_.empty()) begin(0);
    for (std::size_t step = 0; step < steps_.size(); ++step) {
      if (step + 1 < steps_.size()) begin(step + 1);
      finish(step);
    }
    for (std::vector<MPI_Request>& requests : sends_) wait_all(requests);
    for (std::vector<MPI_Request>& requests : credits_) wait_all(requests);
  }

 private:
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  static std::size_t local_of(int rank) { return at(rank % ranks_a_node); }
  [[nodiscard]] std::size_t ahead(int other) const { return at(s_.nodes_ahead(other)); }
  [[nodiscard]] std::size_t behind(int other) const {
    return (at(s_.nodes()) - ahead(other)) % at(s_.nodes());
  }
  /// Does this rank exchange with the node `d` ahead and the one `d` behind?
  [[nodiscard]] bool leads(int d) const {
    if (all_lead_) return true;
    return s_.local() == (s_.way == "leader" ? 0 : (d - 1) % ranks_a_node);
  }
  [[nodiscard]] int leader_rank(int d) const {
    const int node = (s_.node() + d + s_.nodes()) % s_.nodes();
    return node * ranks_a_node + s_.local();
  }

  /// Steps whose bundles fit in a quarter of the memory: two steps, in and out.
  void divide() {
    std::vector<double> largest(bundle_out_);
    MPI_Allreduce(bundle_out_.data(), largest.data(), s_.nodes(), MPI_DOUBLE, MPI_MAX,
                  MPI_COMM_WORLD);
    const double memory = budget_bytes / 4 * (s_.way == "shared" ? ranks_a_node : 1);
    double filled = 0;
    for (int d = 1; d < s_.nodes(); ++d) {
      const double bytes = largest[at(d)];
      const int parts = static_cast<int>(std::ceil(bytes / memory));
      if (parts == 1 && !steps_.empty() && steps_.back().share == 1 && filled + bytes <= memory) {
        steps_.back().last = d;
        filled += bytes;
        continue;
      }
      for (int part = 0; part < parts; ++part) steps_.push_back({d, d, 1.0 / parts});
      filled = bytes;
    }
  }

  template <class Bytes>
  [[nodiscard]] double sum(const Step& step, Bytes&& bytes) const {
    double total = 0;
    for (int d = step.first; d <= step.last; ++d) total += bytes(d);
    return std::ceil(total * step.share);
  }
  /// The part of rank `other` of the node.
  [[nodiscard]] double part(const Step& step, const std::vector<double>& bytes, int other) const {
    return sum(step, [&](int d) { return bytes[at(other) * at(s_.nodes()) + at(d)]; });
  }
  void meet_inside() {
    MPI_Barrier(inside_);
    smpi_execute_benched(2 * node_message_seconds);
  }
  /// Messages inside the node: what this rank has for each other and gets of each; receivers copy.
  template <class Out, class In>
  void hand_on(Out&& out, In&& in) {
    std::array<MPI_Request, ranks_a_node> receives{};
    receives.fill(MPI_REQUEST_NULL);
    std::vector<MPI_Request> sends;
    for (int i = 1; i < ranks_a_node; ++i) {
      const int other = (s_.local() - i + ranks_a_node) % ranks_a_node;
      if (in(other) > 0) receives[at(other)] = post(in(other), other, inside_tag, inside_);
    }
    meet_inside();
    for (int i = 1; i < ranks_a_node; ++i) {
      const int other = (s_.local() + i) % ranks_a_node;
      if (out(other) > 0)
        sends.push_back(send(out(other), other, inside_tag, node_message_seconds, inside_));
    }
    for (int i = 0; i < ranks_a_node; ++i) {
      const int other = (s_.local() - i + ranks_a_node) % ranks_a_node;
      if (receives[at(other)] != MPI_REQUEST_NULL)
        wait_received(receives[at(other)], node_message_seconds);
      charge_copy(in(other));
    }
    wait_all(sends);
  }

  void gather(const Step& step) {
    const double own = sum(step, [&](int d) { return own_out_[at(d)]; });
    charge_copy(own);
    if (s_.way == "shared") meet_inside();
    if (s_.way == "leader") {
      hand_on([&](int other) { return other == 0 && s_.local() != 0 ? own : 0; },
              [&](int other) { return s_.local() == 0 ? part(step, handed_to_me_, other) : 0; });
    }
  }

  void begin(std::size_t number) {
    const Step& step = steps_[number];
    gather(step);
    std::vector<MPI_Request>& receives = receives_[number % 2];
    std::vector<MPI_Request>& sends = sends_[number % 2];
    std::vector<MPI_Request>& credits = credits_[number % 2];
    wait_all(sends);
    wait_all(credits);
    const double seconds = s_.message_seconds;
    for (int d = step.first; d <= step.last; ++d) {
      if (!leads(d) || bundle_in_[at(d)] == 0) continue;
      const int source = leader_rank(-d);
      receives.push_back(post(bundle_in_[at(d)] * step.share, source, data_tag, MPI_COMM_WORLD));
      credits.push_back(send(8, source, credit_tag, seconds, MPI_COMM_WORLD));
    }
    for (int d = step.first; d <= step.last; ++d) {
      if (!leads(d) || bundle_out_[at(d)] == 0) continue;
      MPI_Request credit = post(8, leader_rank(d), credit_tag, MPI_COMM_WORLD);
      wait_received(credit, seconds);
      keep_lanes(sends, bundle_out_[at(d)] * step.share);
      sends.push_back(
          send(bundle_out_[at(d)] * step.share, leader_rank(d), data_tag, seconds, MPI_COMM_WORLD));
    }
  }

  void finish(std::size_t number) {
    const Step& step = steps_[number];
    for (MPI_Request& request : receives_[number % 2]) wait_received(request, s_.message_seconds);
    receives_[number % 2].clear();
    if (s_.way == "shared") {
      meet_inside();
      charge_copy(sum(step, [&](int d) { return own_in_[at(d)]; }));
    } else if (all_lead_) {
      hand_on([&](int other) { return part(step, handed_on_, other); },
              [&](int other) { return part(step, handed_to_me_, other); });
    } else {
      const double own = sum(step, [&](int d) { return own_in_[at(d)]; });
      hand_on([&](int other) { return s_.local() == 0 ? part(step, handed_on_, other) : 0; },
              [&](int other) { return other == 0 && s_.local() != 0 ? own : 0; });
    }
  }

  const Setting& s_;
  bool all_lead_;
  MPI_Comm inside_ = MPI_COMM_NULL;
  /// Bytes, by how many nodes ahead (out) or behind (in) the other node is.
  std::vector<double> own_out_, own_in_, bundle_out_, bundle_in_;
  /// By rank of the node and node behind: what goes on to it, what comes from it (of a leader of
  /// its node: what it gets, and what it gives to be sent).
  std::vector<double> handed_on_, handed_to_me_;
  std::vector<Step> steps_;
  std::array<std::vector<MPI_Request>, 2> receives_, sends_, credits_;
};

void exchange(const Setting& setting, double& began) {
  if (setting.way == "direct" || setting.way == "posted") {
    MPI_Barrier(MPI_COMM_WORLD);
    began = MPI_Wtime();
    setting.way == "direct" ? Direct(setting).run() : exchange_posted(setting);
    return;
  }
  Bundled bundled(setting);
  MPI_Barrier(MPI_COMM_WORLD);
  began = MPI_Wtime();
  bundled.run();
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 5) return EXIT_FAILURE;
  smpi_comm_set_copy_data_callback(copy_small);
  Setting setting{.way = argv[1],
                  .pattern = argv[2],
                  .block_bytes = std::atof(argv[3]),
                  .message_seconds = std::atof(argv[4])};
  MPI_Comm_rank(MPI_COMM_WORLD, &setting.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &setting.ranks);
  double began = 0;
  exchange(setting, began);
  double seconds = MPI_Wtime() - began, slowest = 0;
  MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (setting.rank == 0)
    std::printf(
        "{\"way\": \"%s\", \"pattern\": \"%s\", \"ranks\": %d, \"block_bytes\": %.0f, "
        "\"message_us\": %g, \"us\": %.2f}\n",
        argv[1], argv[2], setting.ranks, setting.block_bytes, setting.message_seconds * 1e6,
        slowest * 1e6);
  MPI_Finalize();
  return EXIT_SUCCESS;
}
