// SPDX-License-Identifier: BSD-3-Clause
#include "step_lists.hpp"

#include <algorithm>

namespace valet::zoltan {
namespace {

/// Finds the source of an import from its number among all that are sorted by source.
class SourceOf {
 public:
  explicit SourceOf(std::span<const Peer> sources) : sources_(sources) {}
  /// Fast for numbers that ascend.
  [[nodiscard]] int operator()(std::uint64_t number) {
    if (number < first_) source_ = first_ = 0;
    while (number >= first_ + sources_[source_].count) first_ += sources_[source_++].count;
    return sources_[source_].rank;
  }

 private:
  std::span<const Peer> sources_;
  std::size_t source_ = 0;
  std::uint64_t first_ = 0;
};

}  // namespace

Array<std::uint32_t> numbers_in(Ledger& ledger, std::span<const StepRange> ranges) {
  std::uint64_t count = 0;
  for (const StepRange& range : ranges) count += range.end - range.first;
  Array<std::uint32_t> numbers(ledger, count);
  std::uint64_t to = 0;
  for (const StepRange& range : ranges)
    for (std::uint64_t k = range.first; k < range.end; ++k)
      numbers[to++] = static_cast<std::uint32_t>(k);
  return numbers;
}

Array<std::uint32_t> places_of_exports(Ledger& ledger, std::span<const StepRange> ranges,
                                       const ObjectList& exports) {
  Array<std::uint32_t> places = numbers_in(ledger, ranges);
  for (std::uint32_t& place : places) place = static_cast<std::uint32_t>(exports.sorted(place));
  std::ranges::sort(places);
  return places;
}

StepList::StepList(Ledger& ledger, const EntryCounts& entries, std::uint64_t count, bool with_parts)
    : entries_(entries),
      gids_(ledger, count * static_cast<std::size_t>(entries.gid)),
      lids_(ledger, count * static_cast<std::size_t>(entries.lid)),
      procs_(ledger, count),
      parts_(ledger, with_parts ? count : 0),
      ids_{gids_.data(), lids_.data()} {}

void StepList::add(const ObjectIds& from, std::uint64_t at, int rank, int part) {
  from.copy(entries_, at, ids_, count_);
  procs_[count_] = rank;
  if (parts_.size() > 0) parts_[count_] = part;
  ++count_;
}

StepList list_of_exports(Context& context, const ObjectList& exports,
                         std::span<const std::uint32_t> places) {
  StepList list(context.ledger, context.callbacks.entries(), places.size(),
                context.agreed.with_parts);
  for (const std::uint32_t place : places)
    list.add(exports.ids, place, exports.procs[place], exports.destinations()[place]);
  return list;
}

StepList list_of_imports(Context& context, const Imports& imports,
                         std::span<const StepRange> ranges) {
  Array<std::uint32_t> numbers = numbers_in(context.ledger, ranges);
  if (imports.places.size() > 0)
    std::ranges::sort(numbers, {}, [&](std::uint32_t k) { return imports.places[k]; });
  const bool with_parts = imports.parts.size() > 0;
  StepList list(context.ledger, context.callbacks.entries(), numbers.size(), with_parts);
  const ObjectIds ids{imports.gids, const_cast<ZOLTAN_ID_PTR>(imports.lids.data())};
  SourceOf source_of(imports.sources);
  for (const std::uint32_t k : numbers)
    list.add(ids, k, source_of(k), with_parts ? imports.parts[k] : 0);
  return list;
}

StepList list_with_staying(Context& context, std::span<const std::uint32_t> places) {
  const MigrationList& user = context.user.leading();
  const int own = context.channel.rank();
  const bool exports = context.agreed.exports_given;
  StepList list(context.ledger, context.callbacks.entries(), places.size() + context.user.staying,
                context.agreed.with_parts);
  std::uint64_t moving = 0;
  auto next = places.begin();
  for (int k = 0; k < user.count; ++k) {
    const int rank = user.procs[k];
    if (rank != own && (next == places.end() || *next != moving++)) continue;
    if (rank != own) ++next;
    // A rank that gives no parts where others do has them equal to the ranks.
    const int part = user.parts != nullptr ? user.parts[k] : exports ? rank : own;
    list.add(user.ids, static_cast<std::uint64_t>(k), rank, part);
  }
  return list;
}

}  // namespace valet::zoltan
