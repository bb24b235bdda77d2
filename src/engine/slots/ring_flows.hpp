// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "plan/flows.hpp"

#include <algorithm>
#include <cstdint>

namespace valet::engine {

/// The flows of a rank in ring order: those of the ranks behind it first, so that no rank is
/// everybody's first. And how far each may go: to its end, or as far as it is allowed.
template <class Flow>
class RingFlows {
 public:
  /// @param is_limited  Flows go as far as allow() says.
  RingFlows(Ledger& ledger, const Vector<Flow>& flows, int rank, bool is_limited)
      : flows_(flows),
        first_(plan::flow_from(flows, rank + 1)),
        allowed_(is_limited ? flows.size() : 0, ledger) {}

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(flows_.size()); }
  [[nodiscard]] const Flow& operator[](std::uint32_t index) const { return flows_[flow_of(index)]; }
  [[nodiscard]] std::uint32_t index_of(int rank) const {
    return index_of_flow(plan::flow_from(flows_, rank));
  }
  /// The index of a flow in the ring, given its position in the list that ascends by rank.
  [[nodiscard]] std::uint32_t index_of_flow(std::size_t flow) const {
    return static_cast<std::uint32_t>((flow + flows_.size() - first_) % flows_.size());
  }

  /// The position in that list of a flow of the ring.
  [[nodiscard]] std::size_t flow_of(std::uint32_t index) const {
    return (first_ + index) % flows_.size();
  }

  /// Blocks of a flow that may move.
  [[nodiscard]] std::uint64_t limit(std::uint32_t index) const {
    return allowed_.empty() ? (*this)[index].count : allowed_[index];
  }
  void allow(std::uint32_t index, std::uint64_t blocks) {
    allowed_[index] = static_cast<Count>(allowed_[index] + blocks);
  }
  void allow_nothing() { std::fill(allowed_.begin(), allowed_.end(), Count{0}); }

 private:
  using Count = decltype(Flow::count);

  const Vector<Flow>& flows_;
  std::size_t first_;      ///< the lowest rank above the own one
  Vector<Count> allowed_;  ///< per flow; empty: whole flows
};

}  // namespace valet::engine
