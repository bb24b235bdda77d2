// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The decisions of Method::automatic: STREAM or DIRECT, and whether ranks of a node share memory.
/// They use a few numbers that are the same on all ranks. Independent of MPI.
///
/// The predictions contain no parameters fitted to a machine: the cost of moving data is measured
/// where the program runs (CostModel); how often data is sent and copied follows from the
/// protocols.

#include <valet/cost_model.hpp>
#include <valet/export.hpp>
#include <valet/options.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace valet::schedule {

/// A redistribution in numbers, each taken from the rank where it is worst.
struct ExchangeShape {
  int ranks = 1;                   ///< ranks of the communicator
  int ranks_on_node = 1;           ///< most ranks on one node
  bool may_share = true;           ///< ranks of a node may share memory, and it pays to set up
  bool packs = false;              ///< blocks leave one by one instead of in long contiguous runs
  std::uint64_t block_bytes = 1;   ///< bytes of a block
  std::uint64_t slots = 0;         ///< most slots of a rank
  std::uint64_t sent = 0;          ///< most blocks sent by a rank
  std::uint64_t received = 0;      ///< most blocks received by a rank
  std::uint64_t handled = 0;       ///< most blocks sent and received by a rank
  std::uint64_t messages = 0;      ///< most messages received by a rank with Method::stream
  std::uint64_t neighbours = 0;    ///< most ranks that a rank sends to or receives from
  std::uint64_t budget_bytes = 0;  ///< smallest budget
  bool direct_fits = false;        ///< Method::direct fits the budget of every rank
};

/// Predicted needs of a method.
struct Prediction {
  Method method = Method::stream;  ///< the method of this prediction
  bool fits = true;                ///< fits the budget of every rank
  bool shares_memory = false;      ///< sharing memory inside a node pays
  double seconds = 0;              ///< time to move the blocks, without planning
  std::uint64_t extra_bytes = 0;   ///< scratch on a rank
};

/// A choice of method and the predictions behind it.
struct Choice {
  Method method = Method::stream;  ///< the chosen method
  bool shares_memory = true;       ///< whether ranks of a node share memory
  double seconds = 0;              ///< predicted time of the chosen method
  double lower_bound_seconds = 0;  ///< time to send each departing block once, and nothing else
  std::string reason;              ///< why, as a sentence
  std::array<Prediction, 2> predictions{};  ///< the chosen method first
};

/// Whether `bytes` departing in `runs` contiguous runs are packed; otherwise they are sent in
/// place. Pure.
[[nodiscard]] VALET_EXPORT bool are_packed(std::uint64_t bytes, std::uint64_t runs);
/// Least time in which the blocks can cross the network. Pure.
[[nodiscard]] VALET_EXPORT double lower_bound_seconds(const CostModel& model,
                                                      const ExchangeShape& shape);
/// Predicted seconds of an all-to-all by swaps (AlltoallMethod::swaps), with the shape of one in
/// pages. Pure.
[[nodiscard]] VALET_EXPORT double swaps_seconds(const CostModel& model, const ExchangeShape& shape);
/// Most ranks for which Method::cyclic is intended. Its root handles the edges of all ranks
/// sequentially: if all ranks exchange blocks and a message takes a microsecond, about 9 ms with 64
/// ranks and 37 ms with 128. Requesting it by name on more ranks is allowed.
inline constexpr int most_cyclic_ranks = 64;
/// Seconds that the root of Method::cyclic spends on sending and receiving: for each pair of ranks
/// one message with its edge, at least one action, and a note after every fourth completed action.
/// The search takes additional time. Pure.
[[nodiscard]] VALET_EXPORT double cyclic_root_seconds(const CostModel& model,
                                                      const ExchangeShape& shape);
/// Prediction for Method::stream, Method::direct or Method::cyclic; the latter fits up to
/// most_cyclic_ranks ranks. Pure.
[[nodiscard]] VALET_EXPORT Prediction predict(const CostModel& model, const ExchangeShape& shape,
                                              Method method);
/// Method::direct if it fits and is predicted to be faster, otherwise Method::stream. Never
/// Method::cyclic, which moves blocks as Method::stream does and also waits for its root. Pure.
[[nodiscard]] VALET_EXPORT Choice choose_method(const CostModel& model, const ExchangeShape& shape);
/// A table of predictions, one line per method.
[[nodiscard]] VALET_EXPORT std::string to_table(std::span<const Prediction> predictions);

}  // namespace valet::schedule
