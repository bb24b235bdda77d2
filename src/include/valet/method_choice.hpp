// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What Method::automatic decides: STREAM or DIRECT, and whether ranks of a node share memory, from
/// a few numbers that are the same on all ranks. No MPI in here.
///
/// Nothing in the predictions is fitted to a machine: what moving data costs is measured where it
/// runs (CostModel), the rest is how often the protocols send and copy.

#include <valet/cost_model.hpp>
#include <valet/export.hpp>
#include <valet/options.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace valet::schedule {

/// A redistribution in numbers; of each the one of the rank where it is worst.
struct ExchangeShape {
  int ranks = 1;                   ///< in the communicator
  int ranks_on_node = 1;           ///< most
  bool may_share = true;           ///< memory, inside a node, and it pays to set that up
  bool packs = false;              ///< blocks leave one by one, not in long runs of memory
  std::uint64_t block_bytes = 1;   ///< one block
  std::uint64_t slots = 0;         ///< most
  std::uint64_t sent = 0;          ///< blocks, most
  std::uint64_t received = 0;      ///< blocks, most
  std::uint64_t handled = 0;       ///< blocks sent and received by one rank, most
  std::uint64_t messages = 0;      ///< that a rank receives by Method::stream, most
  std::uint64_t neighbours = 0;    ///< ranks that a rank sends to, or receives from: most
  std::uint64_t budget_bytes = 0;  ///< least
  bool direct_fits = false;        ///< what Method::direct needs fits the budget of every rank
};

/// What a method would need.
struct Prediction {
  Method method = Method::stream;  ///< what is predicted
  bool fits = true;                ///< within the budget of every rank
  bool shares_memory = false;      ///< it pays to share memory inside a node
  double seconds = 0;              ///< moving the blocks, without planning
  std::uint64_t extra_bytes = 0;   ///< scratch on a rank
};

/// What a choice was made from.
struct Choice {
  Method method = Method::stream;           ///< chosen
  bool shares_memory = true;                ///< whether ranks of a node do
  double seconds = 0;                       ///< predicted for it
  double lower_bound_seconds = 0;           ///< sending what must be sent, once, and nothing else
  std::string reason;                       ///< a sentence
  std::array<Prediction, 2> predictions{};  ///< the chosen one first
};

/// Whether bytes that leave in so many runs of memory are packed, or sent from where they are.
/// Pure.
[[nodiscard]] VALET_EXPORT bool are_packed(std::uint64_t bytes, std::uint64_t runs);
/// The least time in which the blocks can cross the network. Pure.
[[nodiscard]] VALET_EXPORT double lower_bound_seconds(const CostModel& model,
                                                      const ExchangeShape& shape);
/// Seconds of an all-to-all by swaps (AlltoallMethod::swaps): `shape` as for one in pages. Pure.
[[nodiscard]] VALET_EXPORT double swaps_seconds(const CostModel& model, const ExchangeShape& shape);
/// Ranks up to which Method::cyclic is worth a thought: its root handles the edges of all ranks one
/// after the other. With 64 ranks that all exchange blocks that takes some 9 ms where a message
/// takes a microsecond; with 128, 37 ms. Nothing refuses it where it is asked for by name.
inline constexpr int most_cyclic_ranks = 64;
/// Seconds that the root of Method::cyclic is busy with what it sends and receives: a message with
/// the edge of each pair of ranks, at least one action for it, and a note of every fourth action
/// that is done. The search itself comes on top. Pure.
[[nodiscard]] VALET_EXPORT double cyclic_root_seconds(const CostModel& model,
                                                      const ExchangeShape& shape);
/// The prediction for Method::stream, Method::direct or Method::cyclic, which fits up to
/// most_cyclic_ranks. Pure.
[[nodiscard]] VALET_EXPORT Prediction predict(const CostModel& model, const ExchangeShape& shape,
                                              Method method);
/// Method::direct where it fits and is predicted to be faster, else Method::stream. Never
/// Method::cyclic, which moves blocks as Method::stream does and waits for its root besides. Pure.
[[nodiscard]] VALET_EXPORT Choice choose_method(const CostModel& model, const ExchangeShape& shape);
/// The table of predictions, a line for each method.
[[nodiscard]] VALET_EXPORT std::string to_table(std::span<const Prediction> predictions);

}  // namespace valet::schedule
