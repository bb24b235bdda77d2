// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Words to and from rank 0, for schedules that a root makes, and texts for files that it writes.

#include "mpi/channel.hpp"
#include <valet/export.hpp>
#include <valet/ledger.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace valet::mpi {

constexpr int root = 0;

/// Ranks that the root keeps a list of: all on the root, none elsewhere.
[[nodiscard]] inline std::size_t ranks_on_root(const Channel& channel) {
  return channel.rank() == root ? static_cast<std::size_t>(channel.size()) : 0;
}

/// Brings the same number of words of every rank to the root, in rank order. Collective.
/// @param all  On the root: words.size() for every rank. Elsewhere not used.
VALET_EXPORT void gather_words(const Channel& channel, std::span<const std::uint64_t> words,
                               std::span<std::uint64_t> all);

/// The same for lists of different lengths.
/// @param counts  On the root: words of every rank. Memory there: 4 bytes a rank while it runs.
VALET_EXPORT void gather_lists(const Channel& channel, std::span<const std::uint64_t> words,
                               std::span<const int> counts, std::span<std::uint64_t> all,
                               Ledger& ledger);

/// The same where the root does not know the lengths. Collective; two messages a rank.
/// @param counts  On the root: of all ranks; gets the words of every rank.
/// @param all     On the root: gets the lists, in rank order.
/// Memory on the root: 8 bytes a rank while it runs.
VALET_EXPORT void gather_lists(const Channel& channel, std::span<const std::uint64_t> words,
                               std::span<int> counts, Vector<std::uint64_t>& all, Ledger& ledger);

/// Gives every rank its list of words. Collective; two messages a rank.
/// @param all     On the root: the lists, in rank order. Elsewhere not used.
/// @param counts  On the root: words of every rank. Elsewhere not used.
/// @param own     Gets this rank's list.
/// Memory on the root: 4 bytes a rank while it runs.
VALET_EXPORT void scatter_lists(const Channel& channel, std::span<const std::uint64_t> all,
                                std::span<const int> counts, Vector<std::uint64_t>& own,
                                Ledger& ledger);

/// Words of the root to all. Collective.
VALET_EXPORT void broadcast_words(const Channel& channel, std::span<std::uint64_t> words);

using TakeText = std::function<void(std::span<const char>)>;
/// Brings text of some ranks to the root in chunks, in the order in which they come: those of one
/// rank in order, between them those of others. A message a chunk and one at the end of each text;
/// ranks without text send nothing. Nothing is buffered by MPI: a chunk leaves when the root has
/// room for it. While the root deals with one the next is under way. The ranks have to meet before
/// the next texts.
/// @param texts    On the root: how many ranks have text. The root itself has none.
/// @param buffer   On the root: room for two chunks, for each the half.
/// @param produce  produce(send) calls send(chunk) for each chunk of this rank, each no longer than
///                 half of such a buffer and not empty. Empty on the root and on ranks without
///                 text.
/// @param take     take(chunk) gets the chunks on the root.
VALET_EXPORT void send_texts_to_root(const Channel& channel, std::uint64_t texts,
                                     std::span<char> buffer,
                                     const std::function<void(const TakeText&)>& produce,
                                     const TakeText& take);

/// Seconds that now() of this rank is ahead of that of the root: the median of a few barriers, at
/// the end of which all ranks look at their clocks. Collective.
[[nodiscard]] double clock_ahead_of_root(const Channel& channel);

}  // namespace valet::mpi
