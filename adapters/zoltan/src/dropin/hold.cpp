// SPDX-License-Identifier: BSD-3-Clause
#include "hold.hpp"

#include "arrivals.hpp"
#include "hold_exchange.hpp"
#include "mpi/agreement.hpp"
#include "mpi/check.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

namespace valet::zoltan {

namespace {

/// Sizes to the receivers, then room for what is sent and what arrives. Collective. Returns where
/// arrivals are held.
std::byte* prepare(Context& context, const ObjectList& exports, std::span<int> sizes,
                   Imports& imports, const Scratch& scratch, std::optional<Diagnostic> mine,
                   std::unique_ptr<HoldExchange>& exchange) {
  if (!mine) mine = check_everything(context, "packs", sum_of(sizes));
  if (!mine)
    mine = within_memory("the objects that are sent", [&] {
      exchange = context.parameters.has_phases()
                     ? make_hold_phases(context, exports, sizes, scratch)
                     : make_hold_stream(context, exports, sizes, scratch);
    });
  if (!exchange) std::ranges::fill(sizes, 0);  // until all ranks know
  receive_lists(context, exports, sizes, false, imports);
  const std::uint64_t bytes = sum_of(imports.all_sizes());
  context.report.bytes_imported = bytes;
  const std::uint64_t besides = exchange ? exchange->needed_bytes() : 0;
  mpi::Agreement agreement;
  std::byte* const held = make_room(context, exports, imports, scratch, {bytes, besides, false},
                                    agreement, std::move(mine), [&] { exchange->allocate(); });
  const std::uint64_t needed = pages_for(besides) + pages_for(bytes) - bytes;
  context.report.budget_raised_bytes += needed - std::min(needed, scratch.budget);
  show_progress(context);
  return held;
}

}  // namespace

void migrate_held(Context& context, const ObjectList& exports, std::span<int> sizes,
                  Imports& imports, const Scratch& scratch, std::optional<Diagnostic> mine) {
  const double start = mpi::now();
  std::unique_ptr<HoldExchange> exchange;
  std::byte* const held =
      prepare(context, exports, sizes, imports, scratch, std::move(mine), exchange);
  const double listed = mpi::now();
  context.report.list_seconds += listed - start;
  std::optional<Diagnostic> diagnostic = exchange->run(imports, held);
  Vector<ArrivedRange> ranges(context.ledger);
  std::optional<Checksums> received;
  if (!diagnostic)
    diagnostic = within_memory("the list of what has arrived", [&] {
      for (std::uint64_t k = 0; k < imports.count; ++k)  // the marks have served
        imports.sizes[k] = plain_size(imports.sizes[k]);
      ranges = ranges_of_held(context.ledger, imports, held);
      if (context.parameters.verify) received.emplace(context.ledger, imports.sources);
    });
  mpi::agree(context.channel, diagnostic);
  context.report.objects_sent = exports.count;
  if (received) {
    add_checksums(*received, imports, ranges);
    mpi::agree(context.channel,
               exchange->checksums().compare(context.channel, context.ledger, *received));
    context.report.verified = 1;
  }
  exchange.reset();
  const double moved = mpi::now();
  context.report.move_seconds += moved - listed;
  if (context.agreed.mid) {
    diagnostic = context.callbacks.mid(context.user.imports, context.user.exports);
    if (!diagnostic) diagnostic = context.callbacks.missing_unpack();
    agree_on_callbacks(context, diagnostic);
  }
  diagnostic = unpack(context, imports, ranges);
  mpi::agree(context.channel, diagnostic);
  context.report.unpack_seconds += mpi::now() - moved;
}

}  // namespace valet::zoltan
