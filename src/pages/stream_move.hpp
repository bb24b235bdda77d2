// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// One memory whose bytes go to several ranks, as streams of pieces: into pages, these to their
/// ranks, then heads and tails. An arena of blocks of different sizes is one, and the buffer of an
/// all-to-all, each of whose streams is one piece. page_move.hpp says why that is complete, and
/// what it needs.

#include "pages/page_move.hpp"
#include "pages/page_streams.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

namespace valet::pages {

/// One move on one rank.
class StreamMove {
 public:
  /// @param state             Of a plan to be: channel, options and ledger are used.
  /// @param ledger            Counts the lists of streams.
  /// @param are_in_one_piece  As for PageStreams.
  StreamMove(std::unique_ptr<plan::State> state, Ledger& ledger, std::byte* data,
             std::uint64_t page_bytes, bool are_in_one_piece)
      : pages_(std::move(state)),
        ledger_(ledger),
        data_(data),
        page_bytes_(page_bytes),
        outgoing_(ledger, page_bytes, are_in_one_piece),
        incoming_(ledger) {}

  [[nodiscard]] PageMove& pages() { return pages_; }
  [[nodiscard]] plan::State& state() { return pages_.state(); }
  /// What leaves, by rank; what stays is in it, too.
  [[nodiscard]] PageStreams& outgoing() { return outgoing_; }
  [[nodiscard]] const PageStreams& outgoing() const { return outgoing_; }
  /// What comes, likewise.
  [[nodiscard]] Vector<Segment>& incoming() { return incoming_; }
  /// Appends what comes from a rank above all so far.
  /// @param begin  In the memory.
  void receive(int rank, std::uint64_t bytes, std::uint64_t begin);
  /// A receiver tells each sender where its bytes will begin, modulo the page. Collective.
  void exchange_begins();

  /// Plans the exchange of pages, as PageMove::plan(). Collective.
  void plan(std::optional<Diagnostic> mine, PageOrder order, bool asks = true);

  /// Moves everything. Collective.
  /// @param fragments  PageStreams::fragment_bytes() of what leaves.
  /// @param append     Appends all pieces to the streams, from the first byte to the last.
  Report run(std::span<std::byte> fragments, const std::function<void()>& append);

 private:
  void exchange_fragments(std::uint64_t pages_after);

  PageMove pages_;  ///< first: its ledger counts all below
  Ledger& ledger_;
  std::byte* data_;
  std::uint64_t page_bytes_;
  PageStreams outgoing_;
  Vector<Segment> incoming_;  ///< ascending by rank, the own one among them
  PageOrder order_ = PageOrder::slots;
};

}  // namespace valet::pages
