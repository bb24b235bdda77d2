// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What Method::automatic decides: the time and the memory of every method for one redistribution,
/// predicted from a few numbers that are the same on all ranks. No MPI in here.

#include <valet/cost_model.hpp>
#include <valet/export.hpp>
#include <valet/options.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace valet::schedule {

/// A redistribution in numbers; of each the one of the rank where it is worst.
struct ExchangeShape {
  int ranks = 1;                   ///< in the communicator
  int ranks_on_node = 1;           ///< most
  bool may_share = true;           ///< memory, inside a node
  bool keeps_memory = false;       ///< for the plans that follow
  std::uint64_t block_bytes = 1;   ///< one block
  std::uint64_t slots = 0;         ///< most
  std::uint64_t sent = 0;          ///< blocks, most
  std::uint64_t received = 0;      ///< blocks, most
  std::uint64_t handled = 0;       ///< blocks sent and received by one rank, most
  std::uint64_t crowded = 0;       ///< crowded_arrivals(), most
  std::uint64_t neighbours = 0;    ///< ranks that a rank sends to, or receives from: most
  std::uint64_t partners = 0;      ///< ranks that a rank sends to and receives from: most
  std::uint64_t runs = 0;          ///< contiguous pieces of memory that exports stand in, most
  std::uint64_t moved_inside = 0;  ///< blocks that the map moves inside a rank, most
  std::uint64_t free = 0;          ///< slots before, least
  std::uint64_t budget_bytes = 0;  ///< least
  std::uint64_t direct_bytes = 0;  ///< that Method::direct needs, most
  bool direct_fits = false;        ///< direct_bytes of every rank fit its own budget
  bool is_dense = true;            ///< blocks are one array on all ranks
};

/// What one rank knows of its arrivals.
struct Arrivals {
  std::uint64_t received = 0;  ///< blocks
  std::uint64_t sent = 0;      ///< blocks
  std::uint64_t runs = 0;      ///< contiguous pieces of memory that exports stand in
  std::uint64_t sources = 0;   ///< ranks
  std::uint64_t free = 0;      ///< slots before
};
/// Arrivals that are likely to find their final slots taken, so that they have to be moved once
/// more unless they can wait: those of several sources interleave, while departures free slots from
/// the lowest on. Pure.
[[nodiscard]] VALET_EXPORT std::uint64_t crowded_arrivals(const Arrivals& arrivals);

/// What a method would need.
struct Prediction {
  Method method = Method::stream;  ///< what is predicted
  bool fits = true;                ///< within the budget of every rank
  bool shares_memory = false;      ///< it pays to share memory inside a node
  double seconds = 0;              ///< plan, exchange and local
  std::uint64_t extra_bytes = 0;   ///< scratch on a rank
};

/// What a choice was made from.
struct Choice {
  Method method = Method::stream;       ///< chosen
  bool shares_memory = true;            ///< whether ranks of a node do
  std::size_t message_bytes = 0;        ///< Method::stream
  int window = 64;                      ///< Method::stream
  double seconds = 0;                   ///< predicted for it
  double lower_bound_seconds = 0;       ///< sending what must be sent, once, and nothing else
  std::string reason;                   ///< a sentence
  std::vector<Prediction> predictions;  ///< the chosen one first
};

/// The least time in which the blocks can cross the network. Pure.
[[nodiscard]] VALET_EXPORT double lower_bound_seconds(const CostModel& model,
                                                      const ExchangeShape& shape);
/// The longest message of STREAM where Valet chooses.
constexpr std::size_t most_message_bytes = std::size_t{1} << 20;
/// Bytes of a message of STREAM that its latency hardly delays, 256 KiB to most_message_bytes.
/// Pure.
[[nodiscard]] VALET_EXPORT std::size_t tuned_message_bytes(const CostModel& model);
/// Data messages that keep that many neighbours busy, 16 to 64. Pure.
[[nodiscard]] VALET_EXPORT int tuned_window(std::uint64_t neighbours);
/// Seconds of an all-to-all by swaps (AlltoallMethod::swaps): `shape` as for one in pages. Pure.
[[nodiscard]] VALET_EXPORT double swaps_seconds(const CostModel& model, const ExchangeShape& shape);
/// The prediction for one method. Pure.
[[nodiscard]] VALET_EXPORT Prediction predict(const CostModel& model, const ExchangeShape& shape,
                                              Method method);
/// The fastest of `methods` that fits; Method::stream if none fits. Pure.
[[nodiscard]] VALET_EXPORT Choice choose_method(const CostModel& model, const ExchangeShape& shape,
                                                std::span<const Method> methods);
/// The table of predictions, a line for each method.
[[nodiscard]] VALET_EXPORT std::string to_table(std::span<const Prediction> predictions);

}  // namespace valet::schedule
