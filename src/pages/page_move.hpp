// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Pages to the ranks and the slots where they belong, then the heads and tails around them.
///
/// Pages move as the blocks of a plan. In a map to slots a page lands in its slot if that is free,
/// else in another one and is copied once more: good where what arrives takes the place of what
/// leaves for the same rank. Where pages that stay stand in the way, it is twice as fast to move
/// them in Order::any, where each takes a hole that another one has just left, and then to bring
/// all into order by one permutation inside the rank.
///
/// Completeness. Before, the pages of all streams stand packed from slot 0 on, in slots of the
/// memory; afterwards each has a slot of its own that lies within the bytes that the rank ends
/// with, hence within the memory, too. In between they are in slots below the larger of the two
/// numbers of pages. One page of scratch is the slot that has to be free: what engine/stream/
/// stream.hpp shows holds, whatever is free in the memory, nothing included. When all pages are in
/// their slots, the bytes of heads and tails lie in slots of no page: nobody's any more, so they
/// are received straight into place.
///
/// Memory beside the budget, with 32-bit indices: 16 bytes a page and three bitmaps at most.

#include "mpi/neighbour_words.hpp"
#include "pages/page_cut.hpp"
#include "pages/page_options.hpp"
#include "storage/slot_set.hpp"
#include <valet/block_storage.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>

namespace valet::pages {

enum class PageOrder {
  any,       ///< pages may end in any order, in the first slots
  slots,     ///< in their slots, by a map to slots
  permuted,  ///< in their slots, by Order::any and a permutation
};

/// The pages of one memory on one rank.
class PageMove {
 public:
  /// @param state  Of a plan to be: channel, options and ledger are used.
  explicit PageMove(std::unique_ptr<plan::State> state);

  [[nodiscard]] plan::State& state() { return state_; }
  /// Pages that leave this rank or arrive, once planned.
  [[nodiscard]] std::uint64_t moved_pages() const {
    return state_.flows.exports.size() + state_.flows.blocks_arriving;
  }

  /// Plans what moves. Collective.
  /// @param mine   What this rank found wrong before.
  /// @param data   The memory: as many slots of `page_bytes` as pages stand in before and after.
  /// @param from   Where pages will stand; ascending within a segment. Not used afterwards.
  /// @param to     Where they belong. Likewise.
  /// @param order  The same on all ranks.
  /// @param asks   Whether ranks ask each other for the size of messages, which they write to `to`;
  ///               else messages are single pages, and there is no communication before all agree.
  ///               The same on all ranks.
  /// @throws Error on all ranks alike.
  void plan(std::optional<Diagnostic> mine, std::byte* data, std::uint64_t page_bytes,
            const PageSide& from, const PageSide& to, PageOrder order, bool asks = true);

  /// Scratch for the move; makes what else it needs. @throws std::bad_alloc. Local.
  [[nodiscard]] std::uint64_t workspace_bytes();

  /// Moves the pages, in scratch of workspace_bytes() that has been taken. Collective.
  /// @param make_pages  Called when all ranks have agreed that nothing is wrong.
  Report run(const std::function<void()>& make_pages);

 private:
  void exchange_message_sizes(const PageSide& from, const PageSide& to);
  void fill_in(plan::Flows& flows, const PageSide& from, const PageSide& to, PageOrder order);
  void list_exports(plan::Flows& flows, const PageSide& from);
  void list_slots(plan::Flows& flows, const PageSide& from, const PageSide& to);
  void list_origins(const plan::Flows& flows, const PageSide& to);
  [[nodiscard]] BlockStorage storage() const;
  [[nodiscard]] Diagnostic no_memory() const;

  std::unique_ptr<plan::State> plan_;  ///< first: its ledger counts all below
  plan::State& state_;
  std::byte* data_ = nullptr;
  std::uint64_t page_bytes_ = 1, slots_ = 0;
  storage::SlotSet free_;  ///< once everything that leaves has left; at last: once all is in place
  Array<SlotIndex> origins_;  ///< where each slot's page is
  std::uint64_t origin_count_ = 0;
  std::uint64_t message_pages_ = 0;  ///< as announced
};

/// Sends what fills no page.
/// @param fragments  fragments(segment) of an outgoing one: its head and its tail, as one span.
/// @param take       take(segment, first, bytes): bytes of an incoming one, from the `first` on.
template <class Fragments, class Take>
void exchange_fragments(const mpi::Channel& channel, Ledger& ledger, std::span<Segment> outgoing,
                        std::span<Segment> incoming, Fragments&& fragments, Take&& take) {
  constexpr std::size_t entries = 256, word = sizeof(std::uint64_t);
  const auto words_of = [](const Segment& segment) {
    return (segment.fragment_bytes() + word - 1) / word;
  };
  const auto provide = [&](const Segment& segment, std::uint64_t first,
                           std::span<std::uint64_t> words) {
    const std::span<const std::byte> rest =
        fragments(segment).subspan(static_cast<std::size_t>(first * word));
    std::memcpy(words.data(), rest.data(), std::min(rest.size(), words.size_bytes()));
  };
  const auto consume = [&](const Segment& segment, std::uint64_t first,
                           std::span<const std::uint64_t> words) {
    const std::uint64_t left = segment.fragment_bytes() - first * word;
    take(segment, first * word,
         std::as_bytes(words).first(
             static_cast<std::size_t>(std::min<std::uint64_t>(words.size_bytes(), left))));
  };
  const int rank = channel.rank();
  mpi::NeighbourWords(channel, ledger, mpi::tag_fragments, entries,
                      mpi::PeerWords{outgoing, rank, words_of, provide},
                      mpi::PeerWords{incoming, rank, words_of, consume})
      .run();
  if (const Segment* const own = mpi::find_peer(outgoing, rank))
    if (own->fragment_bytes() > 0)
      take(*mpi::find_peer(incoming, rank), 0, std::span<const std::byte>(fragments(*own)));
}

/// Bytes of the head and the tail of a segment, from the `first` of them on, to where they belong.
/// @param head, tail  Where these begin.
void place_fragments(const Segment& segment, std::uint64_t first, std::span<const std::byte> bytes,
                     std::byte* head, std::byte* tail);

}  // namespace valet::pages
