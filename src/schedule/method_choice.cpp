// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/methods.hpp"
#include "schedule/predictions.hpp"
#include "schedule/stream_sizes.hpp"
#include <valet/method_choice.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace valet::schedule {
namespace {

// What a cost model cannot know, fitted to measurements of all patterns of valet-bench auto with 2
// and 4 ranks on a node. The model is measured with memory that stays in a cache.
constexpr double memory_copy = 3.2;      ///< copying from memory to memory, over copying
constexpr double staging = 3;            ///< copying to or from a buffer that stays in a cache
constexpr double memory_message = 2.2;   ///< sending from memory to memory, over sending
constexpr double scattered_block = 1.4;  ///< a block that stands alone costs so much more
constexpr double run_block = 0.3;        ///< block of a run that is sent from where it is
constexpr double missed_bytes = 4000;    ///< copies that the misses for a block cost
constexpr double map_entry = 0.75;       ///< planning an entry of a map, in block_seconds
constexpr double misplaced = 0.45;       ///< moving a crowded arrival, over another move inside
constexpr double turn = 0.05;            ///< a neighbour more, where ranks take turns
constexpr double step_latencies = 50;    ///< for a phase, or for a rank at the root of CYCLIC
constexpr double agreement_latencies = 20;
constexpr double packed_below_bytes = 16384;  ///< shorter runs are packed
constexpr double both_ways = 1.2;  ///< sending runs to one peer inside a node that sends as well
constexpr double both_ways_packed = 5;  ///< the same from buffers, over sending
constexpr double one_way = 0.3;         ///< share of that, to a peer that sends to others
constexpr double touch = 20;            ///< shared memory for the first time, over a copy
constexpr double half_relieved = 0.25;  ///< part of the arrivals whose buffers halve the crowd
constexpr double segment_relief = 1.7;  ///< by buffers in a segment, which are given up earlier

constexpr double buffered = 0.75;  ///< budget share: arrivals that need no free slot of PHASED
/// The same for messages inside a node beside shared memory: their speed depends more on which
/// cores the ranks have.
constexpr double unshared = 0.85;

/// The parts that predictions are made of, in seconds.
class Parts {
 public:
  Parts(const CostModel& model, const ExchangeShape& shape)
      : model_(model),
        shape_(shape),
        bytes_(static_cast<double>(shape.block_bytes)),
        sent_(static_cast<double>(shape.sent)),
        received_(static_cast<double>(shape.received)),
        handled_(static_cast<double>(shape.handled)),
        scattered_(std::min(1.0, static_cast<double>(shape.runs) / std::max(1.0, sent_))) {}

  [[nodiscard]] double wire() const {
    return std::max(sent_, received_) * bytes_ * memory_message / model_.bandwidth;
  }
  /// Looking at the map, sorting what leaves, agreeing, and what the map moves inside a rank.
  [[nodiscard]] double plan_and_inside() const {
    return (static_cast<double>(shape_.slots) + 2 * sent_) * model_.block_seconds * map_entry +
           agreement_latencies * rounds() * model_.latency_seconds +
           moves(static_cast<double>(shape_.moved_inside));
  }
  [[nodiscard]] double direct() const {
    return staged() + blocks() + 3 * neighbours() * model_.latency_seconds;
  }
  /// In messages. Inside a node MPI copies runs from where they are: one rank does while its peer
  /// waits, unless another peer is ready.
  [[nodiscard]] double stream() const {
    const double waits =
        packs() ? both_ways_packed * sent_ * bytes_ / model_.bandwidth : both_ways * messages();
    const double mutual = std::max(one_way, static_cast<double>(shape_.partners) / neighbours());
    const double relief = part_in_buffers() / half_relieved;
    return messages() + waits * mutual * on_node() / (neighbours() * neighbours()) +
           misplaced_arrivals(1 / (1 + relief * relief)) +
           4 * neighbours() * model_.latency_seconds;
  }
  /// Inside a node through shared memory.
  [[nodiscard]] double stream_on_node() const {
    const double copied = handled_ * bytes_ * memory_copy / model_.copy_bandwidth + blocks();
    const double held = static_cast<double>(segment_bytes()) / received_bytes();
    return sharing() + on_node() * copied + (1 - on_node()) * messages() +
           misplaced_arrivals(std::exp(-segment_relief * held));
  }
  /// Each swap exchanges half of what a rank has and merges it.
  [[nodiscard]] double swaps() const {
    const double moved = std::max(sent_, received_) * bytes_ / 2;
    return rounds() * (rounds() + 1) / 2 *
           (moved * (memory_message / model_.bandwidth + memory_copy / model_.copy_bandwidth) +
            agreement_latencies * model_.latency_seconds);
  }
  /// Where ranks take turns with their peers, over an exchange with all of them at once.
  [[nodiscard]] double turns() const { return 1 + turn * (neighbours() - 1); }
  /// The actions that the root of CYCLIC sends.
  [[nodiscard]] double actions() const {
    return shape_.ranks * step_latencies * model_.latency_seconds;
  }
  /// What the ranks of PHASED agree on.
  [[nodiscard]] double phases() const {
    const double room = static_cast<double>(shape_.free) * bytes_ +
                        buffered * static_cast<double>(shape_.budget_bytes);
    return std::max(1.0, std::ceil(received_ * bytes_ / room)) * rounds() * step_latencies *
           model_.latency_seconds;
  }

 private:
  [[nodiscard]] double rounds() const { return std::ceil(std::log2(std::max(2, shape_.ranks))); }
  [[nodiscard]] double neighbours() const {
    return static_cast<double>(std::max<std::uint64_t>(1, shape_.neighbours));
  }
  /// The part of what a rank sends that stays on its node.
  [[nodiscard]] double on_node() const {
    return std::min(1.0, (shape_.ranks_on_node - 1.0) / std::max(1.0, shape_.ranks - 1.0));
  }
  /// Handling blocks one by one, beyond their bytes.
  [[nodiscard]] double blocks() const {
    return handled_ * model_.block_seconds * (1 + scattered_block * scattered_);
  }
  /// Through buffers on both sides.
  [[nodiscard]] double staged() const {
    return handled_ * bytes_ * staging / model_.copy_bandwidth +
           std::max(sent_, received_) * bytes_ / model_.bandwidth;
  }
  [[nodiscard]] bool packs() const {
    const double runs = std::max(1.0, static_cast<double>(shape_.runs));
    return !shape_.is_dense || sent_ * bytes_ < packed_below_bytes * runs;
  }
  /// From where blocks are if they stand in long runs, else staged.
  [[nodiscard]] double messages() const {
    return packs() ? staged() + blocks() : wire() + run_block * blocks();
  }
  /// Copies inside a rank, from all over its memory to all over it.
  [[nodiscard]] double moves(double count) const {
    return count * (memory_copy * bytes_ + missed_bytes) / model_.copy_bandwidth;
  }
  [[nodiscard]] double received_bytes() const { return std::max(1.0, received_) * bytes_; }
  /// @param part  Of the crowded arrivals, that cannot wait in buffers.
  [[nodiscard]] double misplaced_arrivals(double part) const {
    return misplaced * moves(part * static_cast<double>(shape_.crowded));
  }
  /// The share of all arrivals for which half of the budget has room.
  [[nodiscard]] double part_in_buffers() const {
    return static_cast<double>(shape_.budget_bytes) / 2 / received_bytes();
  }
  [[nodiscard]] std::size_t segment_bytes() const {
    const StreamLimits limits{.budget_bytes = static_cast<std::size_t>(shape_.budget_bytes),
                              .block_bytes = static_cast<std::size_t>(shape_.block_bytes),
                              .blocks_received = shape_.received};
    return std::min(node_segment_bytes(limits, static_cast<std::size_t>(shape_.neighbours)),
                    useful_segment_bytes(limits));
  }
  /// Memory that ranks of a node share is mapped and touched for the first time, unless many plans
  /// use it.
  [[nodiscard]] double sharing() const {
    if (shape_.keeps_memory) return 0;
    return touch * (1 + neighbours()) * static_cast<double>(segment_bytes()) /
               model_.copy_bandwidth +
           agreement_latencies * neighbours() * model_.latency_seconds;
  }

  const CostModel& model_;
  const ExchangeShape& shape_;
  double bytes_, sent_, received_, handled_;
  double scattered_;  ///< 0: what leaves is one run; 1: no two blocks that leave are neighbours
};

std::string milliseconds(double seconds) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g ms", seconds * 1e3);
  return text.data();
}

/// Why the first of the predictions is taken, they being sorted.
std::string reason_for(std::span<const Prediction> predictions) {
  const Prediction& best = predictions.front();
  std::string text = std::string(to_string(best.method)).append(", predicted to take ");
  text.append(milliseconds(best.seconds));
  if (predictions.size() == 1) return text;
  const Prediction& next = predictions[1];
  text.append(next.fits ? ", the next best is " : "; beyond the budget is ");
  text.append(to_string(next.method));
  return text.append(" with ").append(milliseconds(next.seconds));
}

}  // namespace

std::uint64_t crowded_arrivals(const Arrivals& arrivals) {
  // Fitted to local copies counted with 3, 4 and 8 ranks, with no, a tenth and half of the slots
  // free.
  constexpr double always = 0.7, where_full = 0.9, relief = 8;
  if (arrivals.received == 0 || arrivals.sent == 0) return 0;
  const auto received = static_cast<double>(arrivals.received);
  const double scattered =
      std::min(1.0, static_cast<double>(arrivals.runs) / static_cast<double>(arrivals.sent));
  const double interleaved = 1 - 1 / static_cast<double>(arrivals.sources);
  const auto room = static_cast<double>(arrivals.free + arrivals.sent -
                                        std::min(arrivals.sent, arrivals.received));
  const double likely = always + where_full / (1 + relief * room / received);
  return static_cast<std::uint64_t>(
      std::min(received, scattered * interleaved * likely * received));
}

double lower_bound_seconds(const CostModel& model, const ExchangeShape& shape) {
  return static_cast<double>(std::max(shape.sent, shape.received)) *
         static_cast<double>(shape.block_bytes) / model.bandwidth;
}

std::size_t tuned_message_bytes(const CostModel& model) {
  constexpr double latencies = 20;  // a message as long is 5 % slower for its latency
  constexpr double least = default_message_bytes, most = most_message_bytes;
  return static_cast<std::size_t>(
      std::clamp(latencies * model.latency_seconds * model.bandwidth, least, most));
}

int tuned_window(std::uint64_t neighbours) {
  return static_cast<int>(std::clamp<std::uint64_t>(2 * neighbours, 16, 64));
}

double swaps_seconds(const CostModel& model, const ExchangeShape& shape) {
  return Parts(model, shape).swaps();
}

void predict_stream(const CostModel& model, const ExchangeShape& shape, Prediction& prediction) {
  const Parts parts(model, shape);
  prediction.shares_memory = shape.may_share && shape.ranks_on_node > 1 &&
                             unshared * parts.stream_on_node() < parts.stream();
  prediction.seconds = prediction.shares_memory ? parts.stream_on_node() : parts.stream();
}

void predict_direct(const CostModel& model, const ExchangeShape& shape, Prediction& prediction) {
  prediction.seconds = Parts(model, shape).direct();
  prediction.fits = shape.direct_fits;
  prediction.extra_bytes = shape.direct_bytes;
}

void predict_phased(const CostModel& model, const ExchangeShape& shape, Prediction& prediction) {
  const Parts parts(model, shape);
  predict_stream(model, shape, prediction);
  prediction.seconds = parts.turns() * prediction.seconds + parts.phases();
}

void predict_cyclic(const CostModel& model, const ExchangeShape& shape, Prediction& prediction) {
  const Parts parts(model, shape);
  predict_stream(model, shape, prediction);
  prediction.seconds = parts.turns() * prediction.seconds + parts.actions();
}

Prediction predict(const CostModel& model, const ExchangeShape& shape, Method method) {
  Prediction prediction;
  prediction.method = method;
  prediction.extra_bytes = shape.budget_bytes;
  const MethodTraits* const traits = find_traits(method);
  const bool is_known = traits != nullptr && traits->predict != nullptr;
  (is_known ? traits->predict : predict_stream)(model, shape, prediction);
  prediction.seconds += Parts(model, shape).plan_and_inside();
  return prediction;
}

Choice choose_method(const CostModel& model, const ExchangeShape& shape,
                     std::span<const Method> methods) {
  Choice choice;
  for (const Method method : methods) choice.predictions.push_back(predict(model, shape, method));
  std::stable_sort(choice.predictions.begin(), choice.predictions.end(),
                   [](const Prediction& a, const Prediction& b) {
                     return a.fits != b.fits ? a.fits : a.seconds < b.seconds;
                   });
  const Prediction& best = choice.predictions.front();
  choice.method = best.method;
  choice.shares_memory = best.shares_memory;
  const bool is_one_node = shape.ranks_on_node >= shape.ranks;
  choice.message_bytes =
      best.shares_memory && is_one_node ? node_message_bytes : tuned_message_bytes(model);
  choice.window = tuned_window(shape.neighbours);
  choice.seconds = best.seconds;
  choice.lower_bound_seconds = lower_bound_seconds(model, shape);
  choice.reason = reason_for(choice.predictions);
  return choice;
}

std::string to_table(std::span<const Prediction> predictions) {
  std::string table;
  for (const Prediction& prediction : predictions) {
    std::array<char, 128> line{};
    std::snprintf(line.data(), line.size(), "%-8s %12.6f s %14llu bytes%s\n",
                  to_string(prediction.method), prediction.seconds,
                  static_cast<unsigned long long>(prediction.extra_bytes),
                  prediction.fits ? "" : "  over the budget");
    table += line.data();
  }
  return table;
}

}  // namespace valet::schedule
