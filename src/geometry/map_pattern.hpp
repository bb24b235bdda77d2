// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Layouts that are found in a map from blocks to ranks, so that what follows from them need not be
/// communicated. Local, no MPI.

#include "geometry/cyclic_distribution.hpp"
#include <valet/export.hpp>

#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>

namespace valet::layout {

/// In place of a rank.
constexpr int no_rank = -1;

/// The number of a rank where one is left out.
[[nodiscard]] constexpr int number_without(int rank, int without) {
  return without != no_rank && rank > without ? rank - 1 : rank;
}

/// What one scan of the map of a rank found: blocks are dealt as parts[0] says, the next ones as
/// parts[1], and so on; behind the last part comes the first again, until all blocks have a rank.
///
///     rank  0 1 0 1 0 1 2 3 2 3 2 3 0 1 0 1     rows of a matrix in tiles on a grid of 2 x 2
///     ranks:
///           parts[0]    parts[1]    parts[0]    two parts of 6 blocks, each over two ranks
///
/// One part is a cyclic layout over all ranks or some, in ascending order, in descending order or
/// with another step between them. Ranks in any other order, pieces of different lengths and tiles
/// in two dimensions take several. What takes more than these is irregular: every rank learns the
/// parts of all.
struct MapPattern {
  static constexpr std::size_t most_parts = 64;

  bool regular = false;                ///< the parts describe the whole map
  bool ascending = false;              ///< no block goes to a lower rank than the one before it
  int first_rank = 0, last_rank = -1;  ///< owners of the first and the last block
  int without = no_rank;               ///< a rank that is not in the map: see recognise()
  std::int64_t count = 0;              ///< blocks
  std::size_t used = 0;                ///< parts
  std::array<CyclicDistribution, most_parts> parts;

  /// Whether one part is all of the map.
  [[nodiscard]] bool is_one_part() const { return used == 1 && parts[0].count == count; }
  /// How often the parts come, the last time perhaps not all of them; of one part, how often all of
  /// its ranks have their turn.
  [[nodiscard]] std::int64_t periods(int ranks) const {
    if (used == 0) return 0;
    if (is_one_part()) return parts[0].periods(ranks);
    std::int64_t period = 0;
    for (std::size_t p = 0; p < used; ++p) period += parts[p].count;
    return (count + period - 1) / period;
  }
};

/// Blocks for a rank of `count` that are dealt as `parts` says. O(parts log P).
/// @param part_of  part_of(p) is part p.
template <class PartOf>
[[nodiscard]] std::int64_t count_dealt(std::int64_t count, std::size_t parts, PartOf&& part_of,
                                       int rank, int ranks) {
  std::int64_t period = 0, dealt = 0;
  for (std::size_t p = 0; p < parts; ++p) period += part_of(p).count;
  if (period == 0) return 0;
  std::int64_t rest = count % period;
  for (std::size_t p = 0; p < parts; ++p) {
    CyclicDistribution part = part_of(p);
    if (count >= period) dealt += count / period * part.count_of(rank, ranks);
    part.count = std::min(part.count, rest);
    if (part.count > 0) dealt += part.count_of(rank, ranks);
    rest -= part.count;
  }
  return dealt;
}

/// One scan of a map, whose entries are passed once or twice from the beginning on.
template <class Entry>
class PatternScan {
 public:
  PatternScan(Entry begin, Entry end, std::int64_t count, int ranks, int without)
      : begin_(begin), end_(end), ranks_(ranks - (without == no_rank ? 0 : 1)), at_(begin) {
    found_.without = without;
    found_.count = count;
  }

  [[nodiscard]] const MapPattern& run() {
    // Counts are told in 32 bits.
    found_.ascending = found_.count <= std::numeric_limits<std::uint32_t>::max();
    if (!found_.ascending) return found_;
    read_run();
    if (at_ != end_) found_.first_rank = *at_;
    while (at_ != end_ && found_.used < MapPattern::most_parts) take_part();
    found_.regular =
        at_ == end_ && (found_.used <= 1 || runs_ <= runs_of_rank * ranks_ || repeat(found_.used));
    if (found_.used > 1) shorten();
    while (at_ != end_ && found_.ascending) pass_run();
    return found_;
  }

 private:
  /// A map of few runs is told as it is: blocks of any lengths to ranks in any order. What is cut
  /// into a few parts for each rank looks like this.
  static constexpr std::int64_t runs_of_rank = 4;
  /// For each of these there is a bit that says whether a run begins there.
  static constexpr std::int64_t first_blocks = 1024;

  /// Whether all ranks of the first parts come at least twice in each, not by accident.
  [[nodiscard]] bool repeat(std::size_t parts) const {
    return std::all_of(found_.parts.begin(),
                       found_.parts.begin() + static_cast<std::ptrdiff_t>(parts),
                       [this](const CyclicDistribution& part) {
                         return part.offset + part.count >= 2 * part.period(ranks_);
                       });
  }

  /// Reads the run of equal ranks that begins here.
  void read_run() {
    run_end_ = at_;
    run_length_ = 0;
    for (; run_end_ != end_ && *run_end_ == *at_; ++run_end_) ++run_length_;
  }
  /// Goes on to the next one.
  void pass_run() {
    found_.ascending = found_.ascending && (found_.last_rank < 0 || *at_ >= found_.last_rank);
    found_.last_rank = *at_;
    at_ = run_end_;
    read_run();
  }
  [[nodiscard]] std::int64_t run_rank() const { return number_without(*at_, found_.without); }

  /// Takes as many blocks as are dealt in turn; at least one run.
  void take_part() {
    CyclicDistribution part{run_length_, run_length_, 0, run_rank(), 1, 1};
    const Entry first = at_;
    std::int64_t last = part.first_rank, runs = 1;
    pass_run();
    const Entry second = at_;
    while (at_ != end_ && continues(part, last, runs)) {
      const bool is_whole = run_length_ == part.block_size;
      const bool repeats = is_whole && runs == part.turns;
      last = run_rank();
      part.count += run_length_;
      ++runs;
      pass_run();
      if (repeats) take_repetitions(part, first, second);
      if (repeats || !is_whole) break;
    }
    runs_ += (part.offset + part.count + part.block_size - 1) / part.block_size;
    before_ += part.count;
    found_.parts[found_.used++] = part;
  }

  /// Whether the run that begins here can be the next one of a part, which learns from it.
  bool continues(CyclicDistribution& part, std::int64_t last, std::int64_t runs) const {
    const std::int64_t rank = run_rank();
    if (runs == 1) {
      // The second run is a whole block, unless it is the last one: only the first may be shorter.
      part.step = (rank - part.first_rank + ranks_) % ranks_;
      part.block_size = std::max(part.count, run_length_);
      part.offset = part.block_size - part.count;
      part.turns = 2;
      return true;
    }
    if (run_length_ > part.block_size) return false;
    if (rank == part.first_rank) return true;
    const bool is_next = rank == (last + part.step) % ranks_;
    part.turns += is_next ? 1 : 0;
    return is_next;
  }

  /// Every rank of a part has had a whole block, so it repeats. To compare it with itself is many
  /// times faster than to go on run by run where runs are short.
  /// @param first, second  Where its first two runs begin, the second one period before.
  void take_repetitions(CyclicDistribution& part, const Entry& first, const Entry& second) {
    std::int64_t more = 0;
    if (std::equal(at_, end_, second)) {
      more = std::distance(at_, end_);
      at_ = end_;
    } else {
      for (Entry before = second; *at_ == *before; ++at_, ++before) ++more;
    }
    part.count += more;
    read_run();
    // The map may begin in the middle of a period, which looked like other parts.
    const std::int64_t period = part.period(ranks_);
    if (before_ == 0 || before_ > 2 * period || part.count < period ||
        !std::equal(begin_, first, std::next(begin_, period)))
      return;
    part.offset = (part.offset + 2 * period - before_) % period;
    part.count += before_;
    before_ = runs_ = 0;
    found_.used = 0;
  }

  /// Looks for the blocks behind which the map repeats, and keeps the parts of these. A run begins
  /// behind them as at the beginning, unless the map begins in the middle of a run: then as at the
  /// second run. Where it begins in the middle of more than that, as at one of the first parts.
  void shorten() {
    constexpr std::size_t tried = 5;
    const std::size_t parts = std::min(tried, found_.used);
    std::array<std::int64_t, 1 + tried> anchors{first_run(found_.parts[0])};
    for (std::size_t p = 0; p + 1 < parts; ++p)
      anchors[p + 2] = anchors[p + 1] + found_.parts[p].count;
    const std::span<const std::int64_t> all(anchors.data(), 1 + parts);
    if (shorten_at_first(all) || before_ <= first_blocks) return;
    for (const std::int64_t anchor : all) {
      Walk walk{begin_};
      if (for_each_run([&](std::int64_t begin) {
            return begin >= std::max(first_blocks, anchor + 1) && shorten_to(begin - anchor, walk);
          }))
        return;
    }
  }
  /// The same with the runs that begin in the first blocks: where a map is irregular several
  /// anchors lead to most of the periods, and each is tried once.
  bool shorten_at_first(std::span<const std::int64_t> anchors) {
    std::bitset<first_blocks> begins, periods;
    for_each_run([&](std::int64_t begin) {
      if (begin >= first_blocks) return true;
      begins.set(static_cast<std::size_t>(begin));
      return false;
    });
    for (const std::int64_t anchor : anchors) periods |= begins >> static_cast<std::size_t>(anchor);
    Walk walk{begin_};
    const std::int64_t end = std::min(before_, first_blocks);
    for (std::int64_t period = 1; period < end; ++period)
      if (periods[static_cast<std::size_t>(period)] && shorten_to(period, walk)) return true;
    return false;
  }
  /// Calls action(begin) for the runs of each part until all its ranks have had their turn, and the
  /// first one after that. @return Whether it was true, which ends it.
  template <class Action>
  bool for_each_run(Action&& action) const {
    std::int64_t begin = 0;
    for (std::size_t p = 0; p < found_.used; begin += found_.parts[p++].count) {
      const CyclicDistribution& part = found_.parts[p];
      const std::int64_t most = std::min(part.count - 1, part.period(ranks_));
      for (std::int64_t run = 0; run <= most; run += run == 0 ? first_run(part) : part.block_size)
        if (action(begin + run)) return true;
    }
    return false;
  }
  /// An entry, and how many are before it.
  struct Walk {
    Entry entry;
    std::int64_t passed = 0;
  };
  /// Where the map repeats behind `period` blocks. @param walk  At a shorter period.
  bool shorten_to(std::int64_t period, Walk& walk) {
    walk.entry = std::next(walk.entry, period - walk.passed);
    walk.passed = period;
    return *walk.entry == *begin_ && repeats_from(walk.entry, found_.count - period) &&
           keep(period);
  }
  /// Whether the entries to the end are those from the beginning on. What follows the first run is
  /// compared first: a long run equals itself almost everywhere, so that to compare it for each
  /// entry would take many times as long as the scan.
  [[nodiscard]] bool repeats_from(const Entry& entry, std::int64_t rest) const {
    const std::int64_t run = std::min(first_run(found_.parts[0]), rest);
    const Entry behind = std::next(entry, run), first_behind = std::next(begin_, run);
    if (behind != end_ && *behind != *first_behind) return false;
    return std::equal(behind, end_, first_behind) && std::equal(entry, behind, begin_);
  }
  [[nodiscard]] static std::int64_t first_run(const CyclicDistribution& part) {
    const bool is_later = part.offset >= part.block_size;  // rarely, and a division takes long
    return part.block_size - (is_later ? part.offset % part.block_size : part.offset);
  }
  /// Where they say it all: if all of it has been looked at, they have come twice, or more than one
  /// part has.
  bool keep(std::int64_t period) {
    std::size_t used = 0;
    std::int64_t before = 0;
    for (; before < period; ++used) before += found_.parts[used].count;
    if (!found_.regular && found_.count < 2 * period && (used < 2 || !repeat(used))) return false;
    found_.used = used;
    found_.parts[used - 1].count -= before - period;
    found_.regular = true;
    at_ = end_;
    return true;
  }

  Entry begin_, end_;
  int ranks_;
  Entry at_;       ///< where a run begins, or the end
  Entry run_end_;  ///< behind it
  std::int64_t run_length_ = 0;
  std::int64_t before_ = 0;  ///< blocks in the parts
  std::int64_t runs_ = 0;    ///< in the parts
  MapPattern found_;
};

/// Looks for a pattern; ends where there can be none any more, so that an irregular map costs a few
/// entries: those of about two runs for each of the parts that there may be. An empty map has every
/// pattern.
/// @param map      Ranks in 0 to ranks-1.
/// @param without  A rank that is not in the map. In the parts the others are numbered without it:
///                 those above are one less, and there are ranks-1.
[[nodiscard]] VALET_EXPORT MapPattern recognise(std::span<const int> map, int ranks,
                                                int without = no_rank);

}  // namespace valet::layout
