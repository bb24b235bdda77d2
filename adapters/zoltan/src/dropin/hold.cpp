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

std::uint64_t sum_of(std::span<const int> sizes) {
  std::uint64_t sum = 0;
  for (const int size : sizes) sum += static_cast<std::uint64_t>(plain_size(size));
  return sum;
}

Checksums checksums_of(Context& context, const Imports& imports, const std::byte* held) {
  Checksums sums(context.ledger, imports.sources);
  std::uint64_t object = 0;
  for (std::size_t s = 0; s < imports.sources.size(); ++s) {
    for (std::uint64_t k = 0; k < imports.sources[s].count; ++k) {
      const int size = plain_size(imports.sizes[object++]);
      sums.add(s, held, size);
      held += size;
    }
  }
  return sums;
}

std::optional<Diagnostic> check_direct(const Context& context, std::uint64_t exported) {
  const std::size_t memory = context.parameters.memory_bytes;
  if (context.parameters.method != Method::direct || exported <= memory) return std::nullopt;
  return Diagnostic{ErrorCode::budget_too_small,
                    "MIGRATE_METHOD DIRECT packs " + std::to_string(exported) +
                        " bytes at once, but MIGRATE_MEMORY is " + std::to_string(memory) +
                        "; raise it or use STREAM"};
}

/// Sizes to the receivers; then there is room for what is sent and what arrives. Collective.
void make_room(Context& context, const ObjectList& exports, std::span<int> sizes, Imports& imports,
               const Scratch& scratch, HoldExchange& exchange, HeldMemory& held) {
  mpi::agree(context.channel, within_memory("the sizes of imports", [&] {
               imports.sizes = Array<int>(context.ledger, imports.count);
             }));
  send_records(context.channel, context.ledger, exports, imports.sources, sizeof(int), sizes.data(),
               imports.sizes.data(), chunk_for(context.agreed.smallest_memory));
  const std::uint64_t bytes = sum_of({imports.sizes.data(), imports.count});
  context.report.bytes_imported = bytes;
  context.progress =
      progress_of_arrivals(context.parameters.progress && context.channel.rank() == 0, bytes);
  mpi::agree(context.channel, within_memory("the objects that leave and arrive", [&] {
               held.allocate(context.ledger, bytes);
               exchange.allocate();
             }));
  share_with_node(context, exports, imports, scratch, exchange.needed_bytes());
}

}  // namespace

void migrate_held(Context& context, const ObjectList& exports, std::span<int> sizes,
                  Imports& imports, const Scratch& scratch, const HandleState& state) {
  const double start = mpi::now();
  std::optional<Diagnostic> diagnostic = check_direct(context, sum_of(sizes));
  std::unique_ptr<HoldExchange> exchange;
  if (!diagnostic)
    diagnostic = within_memory("the objects that are sent", [&] {
      exchange = context.parameters.has_phases()
                     ? make_hold_phases(context, exports, sizes, scratch, state)
                     : make_hold_stream(context, exports, sizes, scratch);
    });
  mpi::agree(context.channel, diagnostic);
  HeldMemory held;
  make_room(context, exports, sizes, imports, scratch, *exchange, held);
  const std::uint64_t needed = exchange->needed_bytes();
  context.report.budget_raised_bytes += needed - std::min(needed, scratch.budget);
  const double listed = mpi::now();
  context.report.list_seconds += listed - start;
  diagnostic = exchange->run(imports, held.data());
  mpi::agree(context.channel, diagnostic);
  context.report.objects_sent = exports.count;
  if (context.parameters.verify) {
    mpi::agree(context.channel,
               exchange->checksums().compare(context.channel, context.ledger,
                                             checksums_of(context, imports, held.data())));
    context.report.verified = 1;
  }
  exchange.reset();
  const double moved = mpi::now();
  context.report.move_seconds += moved - listed;
  if (context.agreed.mid)
    mpi::agree(context.channel, context.callbacks.mid(context.user.imports, context.user.exports));
  diagnostic = unpack_all(context, imports, held.data(), context.report.bytes_imported);
  held.release();
  mpi::agree(context.channel, diagnostic);
  context.report.unpack_seconds += mpi::now() - moved;
}

}  // namespace valet::zoltan
