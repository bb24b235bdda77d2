// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "context.hpp"
#include "objects/batches.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace valet::zoltan {

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
    sizes_follow = sizes_follow && range.first == front.first + count;
    count += range.count;
  }
  if (count == 0) return std::nullopt;
  const auto words = static_cast<std::uint64_t>(entries.gid);
  Array<ZOLTAN_ID_TYPE> own_gids(context.ledger, ids_follow ? 0 : count * words);
  Array<int> own_sizes(context.ledger, sizes_follow ? 0 : count);
  Array<int> offsets(context.ledger, count);
  std::uint64_t to = 0;
  for (const ArrivedRange& range : ranges) {
    const int* const sizes = imports.sizes.data() + range.first;
    if (!ids_follow)
      std::copy_n(ids.gid(entries, range.id), range.count * words, own_gids.data() + to * words);
    if (!sizes_follow) std::copy_n(sizes, range.count, own_sizes.data() + to);
    std::ptrdiff_t offset = range.data - base;
    for (std::uint64_t k = 0; k < range.count; ++k) {
      offsets[to++] = static_cast<int>(offset);
      offset += sizes[k];
    }
  }
  int* const sizes = sizes_follow ? imports.sizes.data() + front.first : own_sizes.data();
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
                         range.first == runs.back().first + runs.back().count && range.data == end;
    if (follows)
      runs.back().count += range.count;
    else
      runs.push_back(range);
    const std::uint64_t range_bytes = objects::sum_of(imports.sizes_of(range));
    end = range.data + range_bytes;
    bytes += range_bytes;
  }
  if (bytes <= objects::largest_batch) return call_unpack(context, imports, runs);
  for (ArrivedRange& left : runs) {
    while (left.count > 0) {
      ArrivedRange piece = left;
      piece.count = objects::batch_end(imports.sizes_of(left), 0, objects::largest_batch, 0);
      if (auto diagnostic = call_unpack(context, imports, {&piece, 1})) return diagnostic;
      left.id += piece.count;
      left.first += piece.count;
      left.data += objects::sum_of(imports.sizes_of(piece));
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
  objects::send_records(context.channel, context.ledger, exports.sorted(), imports.sources, columns,
                        objects::chunk_for(context.agreed.smallest_memory), 1);
  context.report.bytes_imported = objects::sum_of(imports.all_sizes());
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

/// Held objects in the order in which they are unpacked: by (source, its exports), or that of the
/// import list where that leads.
[[nodiscard]] inline Vector<ArrivedRange> ranges_of_held(Ledger& ledger, const Imports& imports,
                                                         std::byte* held) {
  Vector<ArrivedRange> ranges(ledger);
  ranges.reserve(imports.sources.size());
  std::uint64_t object = 0;
  for (std::size_t s = 0; s < imports.sources.size(); ++s) {
    ranges.push_back({{s, 0, object, imports.sources[s].count, held}, object});
    held += objects::sum_of(imports.sizes_of(ranges.back()));
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
