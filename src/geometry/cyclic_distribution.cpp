// SPDX-License-Identifier: BSD-3-Clause
#include "geometry/cyclic_distribution.hpp"

#include "geometry/dimension_pair.hpp"
#include <valet/block_cyclic.hpp>

namespace valet::layout {
namespace {

/// Takes the runs of a map one by one and keeps what may still be true.
class Recogniser {
 public:
  explicit Recogniser(int ranks) : ranks_(ranks) { found_.periodic = found_.ascending = true; }

  void take(int rank, std::int64_t length, bool is_last) {
    if (found_.runs == 0) {
      found_.first_rank = rank;
      first_length_ = block_size_ = length;
    } else {
      found_.ascending = found_.ascending && rank > found_.last_rank;
      const int next = found_.last_rank + 1 == ranks_ ? 0 : found_.last_rank + 1;
      found_.periodic = found_.periodic && rank == next && fits(length, is_last);
    }
    found_.last_rank = rank;
    ++found_.runs;
  }

  [[nodiscard]] bool hopeless() const { return !found_.periodic && !found_.ascending; }

  /// Once every rank has had a whole block: the entries after which the map must repeat, else 0.
  [[nodiscard]] std::size_t period() const {
    const bool is_whole = found_.periodic && found_.runs == ranks_ + std::int64_t{1};
    return is_whole ? static_cast<std::size_t>(ranks_ * block_size_) : 0;
  }
  void refuse() { found_.periodic = false; }

  [[nodiscard]] MapPattern result(std::int64_t count) {
    if (count > 0)
      found_.distribution = {count, block_size_, block_size_ - first_length_, found_.first_rank};
    // Dimension takes no more.
    found_.periodic = found_.periodic && block_size_ <= BlockCyclic::most_elements / ranks_;
    return found_;
  }

 private:
  /// The second run is a whole block, unless it is the last one; only the last may be shorter.
  bool fits(std::int64_t length, bool is_last) {
    if (found_.runs == 1) block_size_ = is_last ? std::max(first_length_, length) : length;
    return first_length_ <= block_size_ &&
           (length == block_size_ || (is_last && length < block_size_));
  }

  int ranks_;
  MapPattern found_;
  std::int64_t first_length_ = 0;
  std::int64_t block_size_ = 1;
};

}  // namespace

MapPattern recognise(std::span<const int> map, int ranks) {
  Recogniser recogniser(ranks);
  for (std::size_t begin = 0; begin < map.size() && !recogniser.hopeless();) {
    std::size_t end = begin + 1;
    while (end < map.size() && map[end] == map[begin]) ++end;
    recogniser.take(map[begin], static_cast<std::int64_t>(end - begin), end == map.size());
    begin = end;
    const std::size_t period = recogniser.period();
    if (period > 0 && begin < map.size()) {
      // Many times faster than run by run where runs are short.
      const auto rest = map.subspan(begin);
      if (!std::equal(rest.begin(), rest.end(), map.subspan(begin - period).begin()))
        recogniser.refuse();
      break;
    }
  }
  return recogniser.result(static_cast<std::int64_t>(map.size()));
}

CyclicRuns::CyclicRuns(Ledger& ledger, const CyclicDistribution& distribution, int ranks)
    : offset_(distribution.offset),
      intersection_(
          ledger,
          DimensionPair(
              Dimension(distribution.offset + distribution.count,
                        std::max<std::int64_t>(distribution.offset + distribution.count, 1), 1),
              distribution.dimension(ranks)),
          0, Algorithm::aspen) {}

}  // namespace valet::layout
