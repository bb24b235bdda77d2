// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Objects of an application: cells of a hash map with a vector inside. The content of a cell is
/// its name, over and over, so that a cell that is wrong is found wherever it is.

#include "test_comm.hpp"
#include <valet/objects.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace valet::test {

/// What every rank knows of one cell: where it is and where it goes.
struct CellMove {
  std::uint64_t name = 0;
  std::uint64_t bytes = 0;
  int from = 0;
  int to = 0;
};

/// The cells of this rank, numbered in the order of `moves`.
class ObjectCells {
 public:
  /// @param moves  Of all ranks, the same on all.
  explicit ObjectCells(std::vector<CellMove> moves) : moves_(std::move(moves)) { fill(); }

  void fill() {
    cells_.clear();
    names_.clear();
    ranks.clear();
    arrivals_.clear();
    for (const CellMove& move : moves_) {
      if (move.from != rank()) continue;
      cells_.emplace(move.name, content(move));
      names_.push_back(move.name);
      ranks.push_back(move.to);
    }
  }

  [[nodiscard]] ObjectFunctions functions() {
    return {
        .size = [this](std::uint64_t k) { return calls("size"), 8 + cell(k).size(); },
        .pack =
            [this](std::uint64_t k, std::span<std::byte> packed) {
              calls("pack");
              std::memcpy(packed.data(), &names_[k], 8);
              std::ranges::copy(cell(k), packed.begin() + 8);
            },
        .unpack =
            [this](int source, std::span<const std::byte> packed) {
              calls("unpack");
              std::uint64_t name = 0;
              std::memcpy(&name, packed.data(), 8);
              arrivals_[source].push_back(name);
              cells_.emplace(name, Content(packed.begin() + 8, packed.end()));
            },
        .left =
            [this](std::uint64_t k) {
              cells_.erase(names_[k]);  // before it throws: the object has left
              calls("left");
            },
    };
  }
  [[nodiscard]] std::uint64_t count() const { return ranks.size(); }

  /// Cells of this rank that are not what the oracle has here: everything where it goes, or,
  /// before, everything where it was; and arrivals from a source that are not in its order.
  [[nodiscard]] std::size_t wrong(bool moved = true) const {
    std::size_t right = 0, wrong = 0;
    std::map<int, std::vector<std::uint64_t>> expected;
    for (const CellMove& move : moves_) {
      if (moved && move.to == rank() && move.from != rank())
        expected[move.from].push_back(move.name);
      if ((moved ? move.to : move.from) != rank()) continue;
      const auto found = cells_.find(move.name);
      found != cells_.end() && found->second == content(move) ? ++right : ++wrong;
    }
    return wrong + (cells_.size() - right) + (moved && in_order && expected != arrivals_ ? 1 : 0);
  }
  /// Over all ranks: cells with the right content. Collective.
  [[nodiscard]] long long intact_everywhere() const {
    long long intact = 0;
    for (const CellMove& move : moves_) {
      const auto found = cells_.find(move.name);
      if (found != cells_.end() && found->second == content(move)) ++intact;
    }
    return sum_over_ranks(intact);
  }
  /// Over all ranks: cells. Collective.
  [[nodiscard]] long long everywhere() const {
    return sum_over_ranks(static_cast<long long>(cells_.size()));
  }
  [[nodiscard]] const std::vector<CellMove>& moves() const { return moves_; }

  std::vector<int> ranks;                         ///< the map
  bool in_order = true;                           ///< objects of a source arrive in its order
  std::function<void(const char*)> on_call = {};  ///< told of each call; may throw

 private:
  using Content = std::vector<std::byte>;
  static Content content(const CellMove& move) {
    Content bytes(move.bytes);
    for (std::size_t k = 0; k < bytes.size(); ++k)
      bytes[k] = static_cast<std::byte>(move.name * 31 + k);
    return bytes;
  }
  const Content& cell(std::uint64_t k) const { return cells_.at(names_[k]); }
  void calls(const char* function) const {
    if (on_call) on_call(function);
  }

  std::vector<CellMove> moves_;
  std::unordered_map<std::uint64_t, Content> cells_;
  std::vector<std::uint64_t> names_;
  std::map<int, std::vector<std::uint64_t>> arrivals_;  ///< by source
};

/// Some cells on every rank, each for rank k % P.
inline std::vector<CellMove> dealt_cells(std::uint64_t count, std::uint64_t bytes) {
  std::vector<CellMove> moves;
  for (int r = 0; r < size(); ++r)
    for (std::uint64_t k = 0; k < count; ++k)
      moves.push_back({static_cast<std::uint64_t>(r) * count + k, k * 37 % (bytes + 1), r,
                       static_cast<int>(k % static_cast<std::uint64_t>(size()))});
  return moves;
}

}  // namespace valet::test
