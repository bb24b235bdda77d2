// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "batches.hpp"
#include "checksums.hpp"
#include "context.hpp"
#include "mpi/agreement.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

namespace valet::zoltan {

/// What a rank needs memory for.
struct RoomWish {
  std::uint64_t arrivals = 0;         ///< bytes at a time
  std::uint64_t besides = 0;          ///< scratch for what leaves
  bool arrivals_are_scratch = false;  ///< they count in the budget
};

/// The wish for memory shared on the node: room for all arrivals, a little more than are there now,
/// or for slots through which they go.
/// @param room  Gets what there is for the own segment and those of destinations.
inline storage::NodeWish node_wish(const Context& context, const ObjectList& exports,
                                   const Imports& imports, const Scratch& scratch,
                                   const RoomWish& wish, std::uint64_t& room) {
  storage::NodeWish node(context.ledger, exports.peers, imports.sources);
  room = 0;
  node.wish = held_page_bytes;
  if (!context.parameters.options.share_memory) return node;
  const std::uint64_t segments = 1 + exports.peers.size();
  room = scratch.budget - std::min(scratch.budget, wish.besides);
  std::uint64_t unit = 1;  // of which segments are multiples
  if (wish.arrivals + held_page_bytes <= room / segments) {
    node.wish = std::bit_ceil(wish.arrivals + held_page_bytes);
  } else {
    if (wish.arrivals_are_scratch) room -= std::min(room, wish.arrivals);
    unit = scratch.chunk;
    node.wish = Transport::slots * imports.sources.size() * scratch.chunk;
  }
  const std::uint64_t each = room / segments;
  if (each >= held_page_bytes) node.allowance = each / unit * unit;
  return node;
}

/// One call to a multi unpack. The application's lists want ids and sizes consecutive.
inline std::optional<Diagnostic> call_unpack(Context& context, Imports& imports,
                                             std::span<const ArrivedRange> ranges) {
  if (ranges.empty()) return std::nullopt;
  const EntryCounts& entries = context.callbacks.entries();
  const ObjectIds ids{imports.gids, nullptr};
  const ArrivedRange& front = ranges.front();
  const std::byte* base = front.data;
  std::uint64_t count = 0;
  bool ids_follow = true;
  bool sizes_follow = true;
  for (const ArrivedRange& range : ranges) {
    base = std::min(base, static_cast<const std::byte*>(range.data));
    ids_follow = ids_follow && range.id == front.id + count;
    sizes_follow = sizes_follow && range.object == front.object + count;
    count += range.count;
  }
  if (count == 0) return std::nullopt;
  const auto words = static_cast<std::uint64_t>(entries.gid);
  Array<ZOLTAN_ID_TYPE> own_gids(context.ledger, ids_follow ? 0 : count * words);
  Array<int> own_sizes(context.ledger, sizes_follow ? 0 : count);
  Array<int> offsets(context.ledger, count);
  std::uint64_t to = 0;
  for (const ArrivedRange& range : ranges) {
    const int* const sizes = imports.sizes.data() + range.object;
    if (!ids_follow)
      std::copy_n(ids.gid(entries, range.id), range.count * words, own_gids.data() + to * words);
    if (!sizes_follow) std::copy_n(sizes, range.count, own_sizes.data() + to);
    std::ptrdiff_t offset = range.data - base;
    for (std::uint64_t k = 0; k < range.count; ++k) {
      offsets[to++] = static_cast<int>(offset);
      offset += sizes[k];
    }
  }
  int* const sizes = sizes_follow ? imports.sizes.data() + front.object : own_sizes.data();
  auto diagnostic = context.callbacks.unpack_many(
      ids_follow ? ids.gid(entries, front.id) : own_gids.data(), {sizes, count}, offsets.data(),
      const_cast<std::byte*>(base), front.id);
  if (!diagnostic) context.report.objects_unpacked += count;
  return diagnostic;
}

inline std::optional<Diagnostic> unpack_many(Context& context, Imports& imports,
                                             std::span<const ArrivedRange> ranges) {
  Vector<ArrivedRange> runs(context.ledger);
  runs.reserve(ranges.size());
  std::uint64_t bytes = 0;
  const std::byte* end = nullptr;  // where the last run ends
  for (const ArrivedRange& range : ranges) {
    const bool follows = !runs.empty() && range.id == runs.back().id + runs.back().count &&
                         range.object == runs.back().object + runs.back().count &&
                         range.data == end;
    if (follows)
      runs.back().count += range.count;
    else
      runs.push_back(range);
    const std::uint64_t range_bytes = sum_of(imports.sizes_of(range));
    end = range.data + range_bytes;
    bytes += range_bytes;
  }
  if (bytes <= largest_batch) return call_unpack(context, imports, runs);
  for (ArrivedRange& left : runs) {
    while (left.count > 0) {
      ArrivedRange piece = left;
      piece.count = batch_end(imports.sizes_of(left), 0, largest_batch, 0);
      if (auto diagnostic = call_unpack(context, imports, {&piece, 1})) return diagnostic;
      left.id += piece.count;
      left.object += piece.count;
      left.data += sum_of(imports.sizes_of(piece));
      left.count -= piece.count;
    }
  }
  return std::nullopt;
}

/// What an importer must know of its objects before they come, from their sources: global ids where
/// no import list has them, sizes, and what mid gets in STEPS. Collective.
///
/// @param sizes  Of the exports; in the order of the list, or `sorted` by destination.
inline void receive_lists(Context& context, const ObjectList& exports, std::span<const int> sizes,
                          bool sorted, Imports& imports) {
  const EntryCounts& entries = context.callbacks.entries();
  constexpr std::size_t word = sizeof(ZOLTAN_ID_TYPE);
  Vector<RecordColumn> columns(context.ledger);
  columns.reserve(4);
  if (context.agreed.exports_given)
    columns.push_back(
        {word * static_cast<std::size_t>(entries.gid), exports.ids.gids, imports.own_gids.data()});
  columns.push_back({sizeof(int), sizes.data(), imports.sizes.data(), sorted});
  const bool lists = context.parameters.callbacks == CallbackMode::steps && context.agreed.mid;
  if (lists && entries.lid > 0)
    columns.push_back(
        {word * static_cast<std::size_t>(entries.lid), exports.ids.lids, imports.lids.data()});
  if (lists && context.agreed.with_parts)
    columns.push_back({sizeof(int), exports.destinations(), imports.parts.data()});
  send_records(context.channel, context.ledger, exports, imports.sources, columns,
               chunk_for(context.agreed.smallest_memory), 1);
  context.report.bytes_imported = sum_of(imports.all_sizes());
}

/// How much has arrived of what rank 0 expects, where MIGRATE_PROGRESS asks for it: a bar on a
/// terminal, a line at every tenth elsewhere.
inline void show_progress(Context& context) {
  if (!context.parameters.progress.value_or(false) || context.channel.rank() != 0) return;
  context.progress = observe::ProgressBar({.title = "Zoltan migration: arrivals on rank 0",
                                           .total = context.report.bytes_imported,
                                           .bytes = true,
                                           .lines_elsewhere = true});
}

/// Memory for what leaves, by `allocate`, and for what arrives, whose place is returned. Ranks of a
/// node share memory anew where that pays: where more moves than fits the budget, or where the
/// neighbours are those of the migration before. Collective, in one reduction where nothing is
/// shared anew. @throws Error on all ranks alike.
///
/// @param agreement  What else the ranks agree on.
/// @param mine       What this rank found wrong until now, if anything.
[[nodiscard]] inline std::byte* make_room(Context& context, const ObjectList& exports,
                                          const Imports& imports, const Scratch& scratch,
                                          const RoomWish& wish, mpi::Agreement& agreement,
                                          std::optional<Diagnostic> mine,
                                          const std::function<void()>& allocate) {
  Workspace& workspace = context.workspace;
  Valet_Migration_Report& report = context.report;
  std::uint64_t room = 0;
  const storage::NodeWish node = node_wish(context, exports, imports, scratch, wish, room);
  workspace.node.divide(scratch.chunk);
  const bool much = std::max(report.bytes_exported, report.bytes_imported) > scratch.budget;
  const bool stays = workspace.has_met(node) && context.agreed.keep_memory;
  const storage::NodeMemory& shared = workspace.node.memory();
  bool anew = shared.bytes() > room || (room > 0 && (much || stays) && !shared.serves(node));
  std::byte* arrivals = nullptr;
  bool allocated = false;
  // What arrivals may keep.
  const std::uint64_t limit = wish.arrivals_are_scratch
                                  ? scratch.step
                                  : scratch.budget - std::min(scratch.budget, wish.besides);
  if (workspace.arrived.bytes() > limit) workspace.arrived.release();
  const auto take = [&] {
    return within_memory("the objects that leave and arrive", [&] {
      if (!allocated) allocate();
      allocated = true;
      const std::uint64_t others = context.ledger.current_bytes() - workspace.arrived.bytes();
      const std::uint64_t left = scratch.budget - std::min(scratch.budget, others);
      arrivals = workspace.place_arrivals(wish.arrivals, std::min(limit, left));
    });
  };
  if (!mine && !anew) mine = take();
  agreement.largest(anew);
  agreement.run(context.channel, mine);
  if (anew) {
    workspace.arrived.release();
    if (!allocated) workspace.sent.release();
    workspace.node.connect(context.channel, node);
    mpi::agree(context.channel, take());
  }
  const std::uint64_t needed = pages_for(wish.besides) + pages_for(wish.arrivals) -
                               (wish.arrivals_are_scratch ? 0 : wish.arrivals);
  report.budget_raised_bytes += needed - std::min(needed, scratch.budget);
  show_progress(context);
  return arrivals;
}

/// Held objects in the order in which they are unpacked: by (source, its exports), or that of the
/// import list where that leads.
[[nodiscard]] inline Vector<ArrivedRange> ranges_of_held(Ledger& ledger, const Imports& imports,
                                                         std::byte* held) {
  Vector<ArrivedRange> ranges(ledger);
  ranges.reserve(imports.sources.size());
  std::uint64_t object = 0;
  for (std::size_t s = 0; s < imports.sources.size(); ++s) {
    ranges.push_back({s, 0, object, object, imports.sources[s].count, held});
    held += sum_of(imports.sizes_of(ranges.back()));
    object += imports.sources[s].count;
  }
  if (imports.in_order == nullptr) return ranges;
  for (std::uint64_t k = 0; k < imports.count;) {
    ArrivedRange& range = ranges[imports.in_order->peer_of(imports.in_order->procs[k])];
    range.id = k;
    k += range.count;
  }
  std::ranges::sort(ranges, {}, &ArrivedRange::id);
  return ranges;
}

/// Adds objects to the checksums of their sources.
inline void add_checksums(Checksums& sums, const Imports& imports,
                          std::span<const ArrivedRange> ranges) {
  for (const ArrivedRange& range : ranges) {
    const std::byte* next = range.data;
    std::uint64_t number = range.number;
    for (const int size : imports.sizes_of(range)) {
      sums.add(range.source, number++, next, size);
      next += size;
    }
  }
}

/// Unpacks objects. A multi form is called once while the offsets fit an int, otherwise for a
/// source at a time and as few times as that takes. Returns the first failure, after which nothing
/// more is unpacked.
inline std::optional<Diagnostic> unpack(Context& context, Imports& imports,
                                        std::span<const ArrivedRange> ranges) {
  if (context.callbacks.unpacks_many())
    return within_memory("the lists of what is unpacked",
                         [&] { return unpack_many(context, imports, ranges); });
  const ObjectIds ids{imports.gids, nullptr};
  for (const ArrivedRange& range : ranges) {
    std::byte* next = range.data;
    std::uint64_t k = range.id;
    for (const int size : imports.sizes_of(range)) {
      if (auto diagnostic =
              context.callbacks.unpack_one(ids.gid(context.callbacks.entries(), k), size, next, k))
        return diagnostic;
      ++context.report.objects_unpacked;
      next += size;
      ++k;
    }
  }
  return std::nullopt;
}

}  // namespace valet::zoltan
