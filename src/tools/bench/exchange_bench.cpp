// SPDX-License-Identifier: BSD-3-Clause
#include "commands.hpp"
#include "common_options.hpp"
#include "contest.hpp"
#include "measure.hpp"
#include "output.hpp"
#include "patterns.hpp"
#include <valet/valet.hpp>

#include <cstring>
#include <map>
#include <memory>
#include <new>

namespace valet::bench {
namespace {

struct Settings {
  std::vector<Pattern> patterns{Pattern::ring};
  std::uint64_t slots = 16384;
  std::size_t block_bytes = 16000;
  std::uint64_t free = 0;
  std::string memory = "4M";
  std::vector<std::string> methods{"stream"};
  std::string map = "ranks";
  std::string order = "fill";
  std::size_t message_bytes = 0;
  int window = 32;
  bool share_memory = true;
  int repeat = 5;
  std::string json;
};

constexpr std::align_val_t page{4096};
struct Deallocate {
  void operator()(std::byte* memory) const { ::operator delete(memory, page); }
};
/// Whole pages, not initialised: the peers must not pay for first touches that their users avoid,
/// nor for a distance between two buffers that memcpy is slow at.
using Bytes = std::unique_ptr<std::byte, Deallocate>;
Bytes allocate(std::uint64_t bytes) {
  return Bytes(static_cast<std::byte*>(::operator new(bytes, page)));
}

/// The address of a block, spread over all of its bytes.
class Signature {
 public:
  explicit Signature(const Address& origin)
      : word_((static_cast<std::uint64_t>(origin.rank) << 40) + origin.slot) {}
  explicit Signature(const std::byte* block, std::size_t bytes) {
    std::memcpy(&word_, block, std::min(bytes, sizeof word_));
  }

  void write(std::byte* block, std::size_t bytes) const {
    for (std::size_t at = 0; at < bytes; at += sizeof word_) {
      const std::uint64_t word = word_ ^ at << 48;
      std::memcpy(block + at, &word, std::min(bytes - at, sizeof word));
    }
  }
  [[nodiscard]] bool matches(const std::byte* block, std::size_t bytes) const {
    bool good = true;
    for (std::size_t at = 0; at < bytes; at += sizeof word_) {
      const std::uint64_t word = word_ ^ at << 48;
      good = good && std::memcmp(block + at, &word, std::min(bytes - at, sizeof word)) == 0;
    }
    return good;
  }
  [[nodiscard]] Address origin() const {
    return {static_cast<int>(word_ >> 40), word_ & ((std::uint64_t{1} << 40) - 1)};
  }
  /// Summed over all blocks this tells whether one was lost or doubled.
  [[nodiscard]] std::uint64_t hash() const {
    std::uint64_t mixed = (word_ + 1) * 0x9E3779B97F4A7C15ULL;
    mixed ^= mixed >> 31;
    return mixed * 0xBF58476D1CE4E5B9ULL;
  }

 private:
  std::uint64_t word_ = 0;
};

/// One rank's blocks and the three ways to bring them to their ranks.
class Contest {
 public:
  Contest(const Settings& settings, Pattern pattern, const Options& options)
      : settings_(settings),
        map_{pattern, world_size(), settings.slots, settings.free},
        options_(options),
        rank_(world_rank()),
        blocks_(map_.blocks(rank_)),
        memory_(allocate(settings.slots * settings.block_bytes)) {
    ranks_.reserve(blocks_);
    std::vector<std::uint64_t> counts(static_cast<std::size_t>(map_.ranks), 0);
    for (std::uint64_t slot = 0; slot < blocks_; ++slot) {
      const Address to = map_.destination(rank_, slot);
      if (settings.map == "slots")
        addresses_.push_back(to);
      else
        ranks_.push_back(to.rank);
      packed_already_ = packed_already_ && (slot == 0 || to.rank >= last_rank_);
      last_rank_ = to.rank;
      ++counts[static_cast<std::size_t>(to.rank)];
    }
    peer_ = std::make_unique<Alltoallv>(counts, settings.block_bytes);
    starts_.resize(counts.size(), 0);
    for (std::size_t r = 1; r < counts.size(); ++r) starts_[r] = starts_[r - 1] + counts[r - 1];
    packed_already_ = on_all_ranks(packed_already_);
  }

  void fill() {
    for (std::uint64_t slot = 0; slot < blocks_; ++slot)
      Signature({rank_, slot}).write(block(slot), settings_.block_bytes);
  }

  double run_valet() {
    const BlockStorage storage{field(memory_.get(), settings_.slots, settings_.block_bytes)};
    return slowest_seconds([&] {
      report_ = addresses_.empty() && settings_.map == "ranks"
                    ? migrate(MPI_COMM_WORLD, storage, blocks_, ranks_, options_)
                    : migrate(MPI_COMM_WORLD, storage, blocks_, addresses_, options_);
    });
  }

  /// Alltoallv into a second buffer, which is this rank's memory afterwards.
  double run_warm() {
    prepare_peer();
    return slowest_seconds([&] { exchange(received_.get(), packed_.get()); });
  }
  /// The same when nothing is at hand: buffers are allocated, and given back.
  double run_cold() {
    prepare_peer();
    return slowest_seconds([&] {
      const Bytes received = allocate(peer_->blocks_received() * settings_.block_bytes);
      const Bytes packed = packed_already_ ? Bytes() : allocate(blocks_ * settings_.block_bytes);
      exchange(received.get(), packed.get());
    });
  }
  void drop_peer_buffers() {
    received_.reset();
    packed_.reset();
  }

  /// Whether every block on this rank belongs here, is whole, and none was lost or doubled.
  [[nodiscard]] bool verified() {
    bool good = true;
    std::uint64_t sum = 0;
    std::uint64_t found = 0;
    for (std::uint64_t slot = 0; slot < settings_.slots; ++slot) {
      if (settings_.map == "ranks" && slot >= report_.blocks_after) break;
      const Signature signature(block(slot), settings_.block_bytes);
      const Address from = signature.origin();
      const bool plausible = from.rank < map_.ranks && from.slot < map_.blocks(from.rank);
      const Address to = plausible ? map_.destination(from.rank, from.slot) : Address{-1, 0};
      const bool belongs = to.rank == rank_ && (settings_.map == "ranks" || to.slot == slot);
      if (settings_.map == "slots" && !belongs) continue;  // a free slot
      good = good && belongs && signature.matches(block(slot), settings_.block_bytes);
      sum += signature.hash();
      ++found;
    }
    std::uint64_t expected = 0;
    for (std::uint64_t slot = 0; slot < blocks_; ++slot)
      expected += Signature({rank_, slot}).hash();
    return on_all_ranks(good && found == report_.blocks_after) &&
           sum_of_ranks(sum) == sum_of_ranks(expected);
  }

  [[nodiscard]] Report report() const { return summed_over_ranks(report_, MPI_COMM_WORLD); }

 private:
  std::byte* block(std::uint64_t slot) { return memory_.get() + slot * settings_.block_bytes; }

  void prepare_peer() {
    if (received_ == nullptr) {
      received_ = allocate(peer_->blocks_received() * settings_.block_bytes);
      if (!packed_already_) packed_ = allocate(blocks_ * settings_.block_bytes);
      exchange(received_.get(), packed_.get());  // warm: every page has been touched
    }
  }

  void exchange(std::byte* received, std::byte* packed) {
    if (packed_already_) {
      peer_->run(memory_.get(), received);
      return;
    }
    std::vector<std::uint64_t> next = starts_;
    for (std::uint64_t slot = 0; slot < blocks_; ++slot) {
      const int to = settings_.map == "slots" ? addresses_[slot].rank : ranks_[slot];
      std::memcpy(packed + next[static_cast<std::size_t>(to)]++ * settings_.block_bytes,
                  block(slot), settings_.block_bytes);
    }
    peer_->run(packed, received);
  }

  const Settings& settings_;
  Map map_;
  Options options_;
  int rank_;
  std::uint64_t blocks_;
  Bytes memory_;
  std::vector<int> ranks_;
  std::vector<Address> addresses_;
  int last_rank_ = 0;
  bool packed_already_ = true;
  std::unique_ptr<Alltoallv> peer_;
  std::vector<std::uint64_t> starts_;
  Bytes received_, packed_;
  Report report_;
};

Case measure(const Settings& settings, Pattern pattern, const std::string& method,
             Progress& progress, bool& failed) {
  Options options;
  options.budget_bytes = parse_bytes(settings.memory);
  options.message_bytes = settings.message_bytes;
  options.window = settings.window;
  options.share_memory = settings.share_memory;
  options.method = parse_method(method);
  options.order = parse_order(settings.order);
  Contest contest(settings, pattern, options);
  Case row = {{"pattern", to_string(pattern)},
              {"method", method},
              {"map", settings.map},
              {"order", settings.order},
              {"ranks", world_size()},
              {"blocks", settings.slots},
              {"block_bytes", settings.block_bytes},
              {"free", settings.free},
              {"memory", options.budget_bytes}};
  measure_in_turn(contest, settings.repeat, progress, row, failed);
  return row;
}

void run(const Settings& settings, bool& failed) {
  if (settings.free > settings.slots)
    throw Error(ErrorCode::invalid_argument,
                "--free is larger than --blocks, which counts all slots");
  if (settings.block_bytes < sizeof(std::uint64_t))
    throw Error(ErrorCode::invalid_argument,
                "--block-bytes must be at least 8: a block holds its address");
  std::vector<Case> cases;
  Progress progress("measuring", settings.patterns.size() * settings.methods.size() *
                                     (static_cast<std::size_t>(settings.repeat) + 1));
  for (const Pattern pattern : settings.patterns)
    for (const std::string& method : settings.methods)
      cases.push_back(measure(settings, pattern, method, progress, failed));
  print_table(cases);
  write_json(settings.json, cases);
}

}  // namespace

void add_exchange_command(CLI::App& app, bool& failed) {
  auto settings = std::make_shared<Settings>();
  CLI::App* const command = app.add_subcommand(
      "exchange",
      "Blocks between ranks, beside MPI_Alltoallv into a second buffer (ratio_warm) and "
      "into freshly allocated memory (ratio_cold), packing included where blocks are "
      "not in the order of their destinations");
  std::map<std::string, Pattern> patterns;
  for (const Pattern pattern : all_patterns()) patterns[to_string(pattern)] = pattern;
  command
      ->add_option("--pattern", settings->patterns,
                   "who sends to whom; several are measured in turn")
      ->transform(CLI::CheckedTransformer(patterns, CLI::ignore_case))
      ->delimiter(',');
  command->add_option("--blocks", settings->slots, "slots per rank, free ones included")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--block-bytes", settings->block_bytes, "bytes of a block")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--free", settings->free, "free slots per rank")->capture_default_str();
  add_budget_option(*command, settings->memory);
  command
      ->add_option("--method", settings->methods, "stream or direct; several are measured in turn")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--map", settings->map, "what the map says: ranks or slots")
      ->check(CLI::IsMember({"ranks", "slots"}))
      ->capture_default_str();
  command->add_option("--order", settings->order, "fill or stable, for a map to ranks")
      ->check(CLI::IsMember({"fill", "stable"}))
      ->capture_default_str();
  command
      ->add_option("--message-bytes", settings->message_bytes,
                   "bytes of a message at most; 0: Valet chooses")
      ->capture_default_str();
  command->add_option("--window", settings->window, "data messages outstanding in either direction")
      ->capture_default_str();
  add_sharing_flag(*command, settings->share_memory);
  add_repeat_option(*command, settings->repeat);
  add_json_option(*command, settings->json);
  command->callback([settings, &failed] { run(*settings, failed); });
}

}  // namespace valet::bench
