// SPDX-License-Identifier: BSD-3-Clause
#include "hold.hpp"

#include "arrivals.hpp"
#include "hold_exchange.hpp"
#include "mpi/agreement.hpp"
#include "mpi/check.hpp"

#include <algorithm>
#include <memory>
#include <string>

namespace valet::zoltan {

namespace {

/// Sizes to the receivers; then there is room for what is sent and what arrives. Collective.
/// Returns the scratch that this takes.
std::uint64_t make_room(Context& context, const ObjectList& exports, std::span<int> sizes,
                        Imports& imports, const Scratch& scratch, HoldExchange& exchange,
                        HeldMemory& held) {
  mpi::agree(context.channel, within_memory("the sizes of imports", [&] {
               imports.sizes = Array<int>(context.ledger, imports.count);
             }));
  send_records(context.channel, context.ledger, exports, imports.sources, sizeof(int), sizes.data(),
               imports.sizes.data(), chunk_for(context.agreed.smallest_memory));
  const std::uint64_t bytes = sum_of(imports.all_sizes());
  context.report.bytes_imported = bytes;
  show_progress(context);
  mpi::agree(context.channel, within_memory("the objects that leave and arrive", [&] {
               held.allocate(context.ledger, bytes);
               exchange.allocate();
             }));
  const std::uint64_t needed = exchange.needed_bytes() + held.extra_bytes();
  share_with_node(context, exports, imports, scratch, needed);
  return needed;
}

}  // namespace

void migrate_held(Context& context, const ObjectList& exports, std::span<int> sizes,
                  Imports& imports, const Scratch& scratch, const HandleState& state) {
  const double start = mpi::now();
  std::optional<Diagnostic> diagnostic = check_everything(context, "packs", sum_of(sizes));
  std::unique_ptr<HoldExchange> exchange;
  if (!diagnostic)
    diagnostic = within_memory("the objects that are sent", [&] {
      exchange = context.parameters.has_phases()
                     ? make_hold_phases(context, exports, sizes, scratch, state)
                     : make_hold_stream(context, exports, sizes, scratch);
    });
  mpi::agree(context.channel, diagnostic);
  HeldMemory held;
  const std::uint64_t needed =
      make_room(context, exports, sizes, imports, scratch, *exchange, held);
  context.report.budget_raised_bytes += needed - std::min(needed, scratch.budget);
  const double listed = mpi::now();
  context.report.list_seconds += listed - start;
  diagnostic = exchange->run(imports, held.data());
  mpi::agree(context.channel, diagnostic);
  context.report.objects_sent = exports.count;
  for (std::uint64_t k = 0; k < imports.count; ++k)  // the marks have served
    imports.sizes[k] = plain_size(imports.sizes[k]);
  const Vector<ArrivedRange> ranges = ranges_of_held(context.ledger, imports, held.data());
  if (context.parameters.verify) {
    Checksums received(context.ledger, imports.sources);
    add_checksums(received, imports, ranges);
    mpi::agree(context.channel,
               exchange->checksums().compare(context.channel, context.ledger, received));
    context.report.verified = 1;
  }
  exchange.reset();
  const double moved = mpi::now();
  context.report.move_seconds += moved - listed;
  if (context.agreed.mid)
    mpi::agree(context.channel, context.callbacks.mid(context.user.imports, context.user.exports));
  diagnostic = unpack(context, imports, ranges);
  held.release();
  mpi::agree(context.channel, diagnostic);
  context.report.unpack_seconds += mpi::now() - moved;
}

}  // namespace valet::zoltan
