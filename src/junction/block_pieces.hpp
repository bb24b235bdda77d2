// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Blocks of different sizes as bytes that travel. Between two ranks they follow each other as the
/// rank that sends them has them, which both know once every block that is got knows where it comes
/// from. No MPI.

#include "engine/array_part.hpp"
#include "observe/observer.hpp"
#include "operations/ragged/arenas.hpp"
#include <valet/ledger.hpp>
#include <valet/slots.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

namespace valet::junction {

/// Orders blocks as they travel: a rank, and a number there.
[[nodiscard]] constexpr std::uint64_t travel_key(int rank, std::uint64_t number) {
  return static_cast<std::uint64_t>(rank) << 32U | number;
}
[[nodiscard]] constexpr std::size_t rank_of_key(std::uint64_t key) {
  return static_cast<std::size_t>(key >> 32U);
}

/// Where the bytes of the blocks of one rank lie, in the order in which they travel: by the rank on
/// the other side. 20 bytes a block.
class BlockPieces {
 public:
  /// @param key_of  Of block k: the other rank, and the block's number with whoever sends it.
  /// @throws std::bad_alloc.
  template <class KeyOf>
  BlockPieces(Ledger& ledger, std::size_t blocks, int ranks, KeyOf&& key_of)
      : places_(ledger, blocks),
        pieces_(ledger, blocks + 1),
        first_(ledger, static_cast<std::size_t>(ranks) + 1) {
    std::ranges::fill(first_, std::uint64_t{0});
    for (std::size_t k = 0; k < blocks; ++k) pieces_[k] = {key_of(k), k};
    std::sort(pieces_.begin(), pieces_.begin() + blocks,
              [](const Piece& a, const Piece& b) { return a.before < b.before; });
    for (std::size_t k = 0; k < blocks; ++k) {
      places_[static_cast<std::size_t>(pieces_[k].at)] = static_cast<SlotIndex>(k);
      ++first_[rank_of_key(pieces_[k].before) + 1];
    }
    for (std::size_t r = 1; r < first_.size(); ++r) first_[r] += first_[r - 1];
  }

  /// Takes the blocks to lie one after the other. @param length_of  Bytes of block k.
  template <class LengthOf>
  void lay_out(LengthOf&& length_of, std::uint64_t alignment) {
    std::uint64_t at = 0, before = 0;
    for (std::size_t k = 0; k < places_.size(); ++k) {
      const std::uint64_t length = length_of(k);
      pieces_[places_[k]] = {length, at};
      at += ragged::aligned(length, alignment);
    }
    for (std::size_t p = 0; p < places_.size(); ++p)
      before += std::exchange(pieces_[p].before, before);
    pieces_[places_.size()] = {before, at};
  }
  /// Where the last one ends, with what aligns the next.
  [[nodiscard]] std::uint64_t end() const { return pieces_[places_.size()].at; }
  /// Those before the ones for or from a rank.
  [[nodiscard]] std::uint64_t bytes_before(std::size_t rank) const {
    return pieces_[first_[rank]].before;
  }
  /// The same with those for that rank which lie before `end`.
  [[nodiscard]] std::uint64_t bytes_before(std::size_t rank, std::uint64_t end) const {
    const Piece *const first = pieces_.begin() + first_[rank], *const last = pieces_.begin() +
                                                                             first_[rank + 1];
    const Piece* const behind =
        std::partition_point(first, last, [&](const Piece& piece) { return piece.at < end; });
    if (behind == first) return first->before;
    const Piece& cut = behind[-1];  // or the end of it
    return std::min(behind->before, cut.before + (end - cut.at));
  }
  /// Calls copy(where they lie, place among these, bytes) for bytes of the order.
  template <class Copy>
  void for_each(std::uint64_t first, std::uint64_t bytes, Copy&& copy) const {
    const Piece* piece =
        std::partition_point(pieces_.begin(), pieces_.end() - 1,
                             [&](const Piece& before) { return (&before)[1].before <= first; });
    for (std::uint64_t done = 0; done < bytes; ++piece) {
      const std::uint64_t inside = first + done - piece->before;
      const std::uint64_t now = std::min(piece[1].before - piece->before - inside, bytes - done);
      copy(piece->at + inside, static_cast<std::size_t>(done), static_cast<std::size_t>(now));
      done += now;
    }
  }

 private:
  struct Piece {
    std::uint64_t before = 0;  ///< bytes of the pieces in front
    std::uint64_t at = 0;      ///< where it lies
  };

  Array<SlotIndex> places_;     ///< of each block among the pieces
  Array<Piece> pieces_;         ///< and the end
  Array<std::uint64_t> first_;  ///< the first piece of each rank; and the end
};

/// Copies bytes of blocks out and in, for an exchange of elements of a byte.
class PieceCopies {
 public:
  /// @param sent  Of which `leaving` tells places, from `sent_at` on.
  PieceCopies(const mpi::Channel& channel, const BlockPieces& leaving, const std::byte* sent,
              std::uint64_t sent_at, const BlockPieces& arriving, std::byte* room)
      : observer(*observe::observer_of(channel)),
        leaving_(leaving),
        arriving_(arriving),
        sent_(sent),
        sent_at_(sent_at),
        room_(room) {}

  [[nodiscard]] std::size_t bytes_of(std::int64_t elements) const {
    return static_cast<std::size_t>(elements);
  }
  void copy_out(const layout::ArrayRun& run, std::byte* packed) const {
    for_each(leaving_, run, [&](std::uint64_t at, std::size_t place, std::size_t bytes) {
      std::memcpy(packed + place, sent_ + (at - sent_at_), bytes);
    });
  }
  void copy_in(const layout::ArrayRun& run, const std::byte* packed) const {
    for_each(arriving_, run, [&](std::uint64_t at, std::size_t place, std::size_t bytes) {
      std::memcpy(room_ + at, packed + place, bytes);
    });
  }

  observe::Observer& observer;

 private:
  template <class Copy>
  static void for_each(const BlockPieces& pieces, const layout::ArrayRun& run, Copy&& copy) {
    pieces.for_each(static_cast<std::uint64_t>(run.elements.first),
                    static_cast<std::uint64_t>(run.elements.count), copy);
  }

  const BlockPieces &leaving_, &arriving_;
  const std::byte* sent_;
  std::uint64_t sent_at_;
  std::byte* room_;
};

}  // namespace valet::junction
