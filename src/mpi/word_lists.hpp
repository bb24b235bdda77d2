// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Short lists of words for and from other ranks, as the ranks of PHASED negotiate.

#include "mpi/neighbour_words.hpp"
#include "mpi/tags.hpp"

#include <algorithm>
#include <cstdint>
#include <span>

namespace valet::mpi {

/// One list per rank, ranks ascending.
class WordLists {
 public:
  explicit WordLists(Ledger& ledger) : lists_(ledger), words_(ledger) {}

  void clear() {
    lists_.clear();
    words_.clear();
  }
  void reserve(std::size_t lists, std::size_t words) {
    lists_.reserve(lists);
    words_.reserve(words);
  }
  /// Begins the list of a rank above all so far.
  void begin(int rank) { lists_.push_back({rank, static_cast<std::uint32_t>(words_.size())}); }
  /// Appends to the list begun last.
  void add(std::uint64_t word) { words_.push_back(word); }
  /// Appends to the list of a rank that is not below any so far.
  void add(int rank, std::uint64_t word) {
    if (lists_.empty() || lists_.back().rank != rank) begin(rank);
    add(word);
  }

  [[nodiscard]] std::size_t size() const { return lists_.size(); }
  [[nodiscard]] int rank(std::size_t i) const { return lists_[i].rank; }
  [[nodiscard]] std::size_t count(std::size_t i) const {
    return (i + 1 < lists_.size() ? lists_[i + 1].first : words_.size()) - lists_[i].first;
  }
  [[nodiscard]] std::span<std::uint64_t> operator[](std::size_t i) {
    return std::span(words_).subspan(lists_[i].first, count(i));
  }

  /// For NeighbourWords.
  void provide(std::size_t i, std::uint64_t first, std::span<std::uint64_t> words) {
    std::ranges::copy((*this)[i].subspan(first, words.size()), words.begin());
  }
  void consume(std::size_t i, std::uint64_t first, std::span<const std::uint64_t> words) {
    std::ranges::copy(words, (*this)[i].subspan(first).begin());
  }

 private:
  struct List {
    int rank = 0;
    std::uint32_t first = 0;
  };
  Vector<List> lists_;
  Vector<std::uint64_t> words_;
};

/// Sends `sent` and receives `received`, whose lists must have their lengths already. Collective
/// among the ranks that are named. 4 KiB of buffers.
inline void exchange_lists(const Channel& channel, Ledger& ledger, WordLists& sent,
                           WordLists& received) {
  if (sent.size() == 0 && received.size() == 0) return;
  constexpr std::size_t entries = 64;
  NeighbourWords<WordLists&, WordLists&>(channel, ledger, tag_phase_words, entries, sent, received)
      .run();
}

/// Lists of pairs of words for ranks that know that they receive from this one, but not how many: a
/// round of lengths goes before the lists.
class PairLists {
 public:
  PairLists(const Channel& channel, Ledger& ledger)
      : channel_(channel),
        ledger_(ledger),
        pairs_(ledger),
        lengths_in_(ledger),
        pairs_in_(ledger) {}

  /// Begins the list for a rank above all so far.
  void begin(int rank) { pairs_.begin(rank); }
  /// Appends to the list begun last.
  void add(std::uint64_t first, std::uint64_t second) {
    pairs_.add(first);
    pairs_.add(second);
  }
  /// Says that a rank above all so far has a list for this one.
  void expect(int rank) { lengths_in_.add(rank, 0); }
  /// Collective among the ranks that are named.
  void run() {
    {
      WordLists lengths(ledger_);
      for (std::size_t i = 0; i < pairs_.size(); ++i) lengths.add(pairs_.rank(i), pairs_.count(i));
      exchange_lists(channel_, ledger_, lengths, lengths_in_);
    }
    for (std::size_t i = 0; i < lengths_in_.size(); ++i) {
      pairs_in_.begin(lengths_in_.rank(i));
      for (std::uint64_t k = 0; k < lengths_in_[i][0]; ++k) pairs_in_.add(0);
    }
    exchange_lists(channel_, ledger_, pairs_, pairs_in_);
  }
  /// Calls action(rank, first, second) for every pair that came.
  template <class Action>
  void for_each(Action&& action) {
    for (std::size_t i = 0; i < pairs_in_.size(); ++i)
      for (std::size_t k = 0; k < pairs_in_.count(i); k += 2)
        action(pairs_in_.rank(i), pairs_in_[i][k], pairs_in_[i][k + 1]);
  }

 private:
  const Channel& channel_;
  Ledger& ledger_;
  WordLists pairs_, lengths_in_, pairs_in_;
};

}  // namespace valet::mpi
