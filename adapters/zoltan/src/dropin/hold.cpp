// SPDX-License-Identifier: BSD-3-Clause
#include "hold.hpp"

#include <valet/mpi/agreement.hpp>
#include <valet/mpi/check.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

namespace valet::zoltan {

HoldSender::HoldSender(Context& context, const ObjectList& exports, std::span<int> sizes,
                       const Scratch& scratch)
    : context_(context),
      exports_(exports),
      sizes_(sizes),
      limit_(scratch.batch),
      flows_(exports.peers.size(), LedgerAllocator<Flow>(context.ledger)),
      touched_(LedgerAllocator<std::size_t>(context.ledger)),
      checksums_(context.ledger, exports.peers) {
  touched_.reserve(exports.peers.size());
  for (std::uint64_t first = 0; first < sizes_.size();) {
    const std::uint64_t end = batch_end(sizes_, first, limit_, object_bytes);
    capacity_ = std::max(capacity_, look_at(first, end));
    most_objects_ = std::max(most_objects_, end - first);
    for (const std::size_t peer : touched_) {
      sizes_[flows_[peer].last - 1] |= last_of_message;
      if (flows_[peer].bytes > 0) ++flows_[peer].messages;
    }
    ++batches_;
    first = end;
  }
  const std::uint64_t arrays = most_objects_ * object_bytes;
  if (batches_ < 2 || 2 * capacity_ + arrays > scratch.budget) buffers_ = 1;
  const std::uint64_t needed = buffers_ * capacity_ + arrays;
  raised_ = needed - std::min(needed, scratch.budget);
}

void HoldSender::allocate() {
  memory_ = Array<std::byte>(context_.ledger, buffers_ * capacity_);
  batch_sizes_ = Array<int>(context_.ledger, most_objects_);
  batch_offsets_ = Array<int>(context_.ledger, most_objects_);
}

std::size_t HoldSender::peer_at(std::uint64_t object) {
  const int rank = exports_.procs[object];
  if (exports_.peers[last_peer_].rank != rank) last_peer_ = exports_.peer_of(rank);
  return last_peer_;
}

std::uint64_t HoldSender::look_at(std::uint64_t first, std::uint64_t end) {
  for (const std::size_t peer : touched_) flows_[peer].bytes = flows_[peer].last = 0;
  touched_.clear();
  std::uint64_t total = 0;
  for (std::uint64_t k = first; k < end; ++k) {
    Flow& flow = flows_[peer_at(k)];
    if (flow.last == 0) touched_.push_back(last_peer_);
    const auto size = static_cast<std::uint64_t>(plain_size(sizes_[k]));
    flow.bytes += size;
    flow.last = k + 1;
    total += size;
  }
  return total;
}

/// Where in the batch every object goes, the destinations one behind another.
void HoldSender::place(std::uint64_t first, std::uint64_t end) {
  std::uint64_t start = 0;
  for (const std::size_t peer : touched_) {
    flows_[peer].start = start;
    start += flows_[peer].bytes;
  }
  for (std::uint64_t k = first; k < end; ++k) {
    Flow& flow = flows_[peer_at(k)];
    const int size = plain_size(sizes_[k]);
    batch_sizes_[k - first] = size;
    batch_offsets_[k - first] = static_cast<int>(flow.start);
    flow.start += static_cast<std::uint64_t>(size);
  }
}

/// Sizes come in pairs with packs, on the same list: some applications let them share memory.
std::optional<Defect> HoldSender::ask_again(std::uint64_t first, std::uint64_t end) {
  const std::span<int> again(batch_sizes_.data(), end - first);
  if (auto defect = context_.callbacks.sizes(exports_.ids.from(context_.callbacks.entries(), first),
                                             first, again))
    return defect;
  for (std::uint64_t k = first; k < end; ++k)
    if (again[k - first] > plain_size(sizes_[k]))
      return Defect{ErrorCode::invalid_argument,
                    "the size of number " + std::to_string(k) + " of the exports grew from " +
                        std::to_string(plain_size(sizes_[k])) + " to " +
                        std::to_string(again[k - first]) +
                        " bytes while others were packed; give the size that is needed at once"};
  return std::nullopt;
}

void HoldSender::pack(std::uint64_t first, std::uint64_t end, std::byte* memory) {
  if (batches_ > 1) defect_ = ask_again(first, end);
  if (defect_) return;
  place(first, end);
  const std::size_t count = end - first;
  ++context_.report.batches;
  defect_ = context_.callbacks.pack({exports_.ids.from(context_.callbacks.entries(), first),
                                     exports_.destinations() + first,
                                     {batch_sizes_.data(), count},
                                     {batch_offsets_.data(), count},
                                     memory},
                                    first, context_.report.objects_packed);
}

void HoldSender::add_checksums(std::uint64_t first, std::uint64_t end, const std::byte* memory) {
  for (std::uint64_t k = first; k < end; ++k)
    checksums_.add(peer_at(k), memory + batch_offsets_[k - first], batch_sizes_[k - first]);
}

bool HoldSender::fill(std::size_t buffer, Vector<OutgoingMessage>& messages) {
  if (next_ == sizes_.size()) return false;
  const std::uint64_t first = next_;
  next_ = batch_end(sizes_, first, limit_, object_bytes);
  const std::uint64_t bytes = look_at(first, next_);
  std::byte* const memory = memory_.data() + buffer * capacity_;
  // What an application does not write arrives as zeros, as in stock Zoltan.
  if (bytes > 0) std::memset(memory, 0, bytes);
  // After a failure the others still get what they wait for; they learn of it before mid.
  if (!defect_) {
    pack(first, next_, memory);
    if (context_.parameters.verify && !defect_) add_checksums(first, next_, memory);
  }
  std::uint64_t start = 0;
  for (const std::size_t peer : touched_) {
    if (flows_[peer].bytes > 0) messages.push_back({peer, memory + start, flows_[peer].bytes});
    start += flows_[peer].bytes;
  }
  return true;
}

HoldReceiver::HoldReceiver(Context& context, const Imports& imports, std::byte* held)
    : context_(context), imports_(imports), cursors_(LedgerAllocator<Cursor>(context.ledger)) {
  cursors_.reserve(imports.sources.size());
  std::uint64_t object = 0;
  for (const Peer& source : imports.sources) {
    cursors_.push_back({object, object + source.count, held});
    for (std::uint64_t k = 0; k < source.count; ++k) held += plain_size(imports.sizes[object + k]);
    object += source.count;
  }
}

bool HoldReceiver::next(std::size_t peer, MemoryPiece& place) {
  Cursor& cursor = cursors_[peer];
  place = {cursor.data, 0};
  while (cursor.object < cursor.end) {
    const int entry = imports_.sizes[cursor.object++];
    place.bytes += static_cast<std::size_t>(plain_size(entry));
    if ((entry & last_of_message) == 0 || place.bytes == 0) continue;
    cursor.data += place.bytes;
    return true;
  }
  return false;
}

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

std::optional<Defect> check_direct(const Context& context, std::uint64_t exported) {
  const std::size_t memory = context.parameters.memory_bytes;
  if (context.parameters.method != MigrationMethod::direct || exported <= memory)
    return std::nullopt;
  return Defect{ErrorCode::budget_too_small,
                "MIGRATE_METHOD DIRECT packs " + std::to_string(exported) +
                    " bytes at once, but MIGRATE_MEMORY is " + std::to_string(memory) +
                    "; raise it or use STREAM"};
}

std::optional<Defect> check_phased(const Context& context) {
  if (context.parameters.method != MigrationMethod::phased) return std::nullopt;
  return Defect{ErrorCode::invalid_argument,
                "MIGRATE_METHOD PHASED needs MIGRATE_CALLBACKS STEPS: HOLD has room for all that "
                "arrives at once and packs in the order of the list, so there are no phases to "
                "make; set STEPS or use STREAM"};
}

/// Sizes to the receivers; then there is room for what is sent and what arrives. Collective.
void make_room(Context& context, const ObjectList& exports, std::span<int> sizes, Imports& imports,
               HoldSender& sender, HeldMemory& held) {
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
               sender.allocate();
             }));
}

}  // namespace

void migrate_held(Context& context, const ObjectList& exports, std::span<int> sizes,
                  Imports& imports, const Scratch& scratch) {
  const double start = mpi::now();
  std::optional<Defect> defect = check_direct(context, sum_of(sizes));
  if (!defect) defect = check_phased(context);
  std::unique_ptr<HoldSender> sender;
  if (!defect)
    defect = within_memory("the objects that are sent", [&] {
      sender = std::make_unique<HoldSender>(context, exports, sizes, scratch);
    });
  mpi::agree(context.channel, defect);
  HeldMemory held;
  make_room(context, exports, sizes, imports, *sender, held);
  context.report.budget_raised_bytes += sender->raised_bytes();
  const double listed = mpi::now();
  context.report.list_seconds += listed - start;
  {
    HoldReceiver receiver(context, imports, held.data());
    Vector<std::uint64_t> words(imports.sources.size() + exports.peers.size(), 0,
                                LedgerAllocator<std::uint64_t>(context.ledger));
    Transport transport(context.channel, context.ledger, exports.peers, imports.sources);
    transport.begin(receiver, std::span(words).first(imports.sources.size()),
                    std::span(words).subspan(imports.sources.size()));
    transport.run(*sender);
    context.report.messages += transport.messages();
  }
  defect = sender->defect();
  mpi::agree(context.channel, defect);
  context.report.objects_sent = exports.count;
  if (context.parameters.verify) {
    mpi::agree(context.channel,
               sender->checksums().compare(context.channel, context.ledger,
                                           checksums_of(context, imports, held.data())));
    context.report.verified = 1;
  }
  sender.reset();
  const double moved = mpi::now();
  context.report.move_seconds += moved - listed;
  if (context.agreed.mid)
    mpi::agree(context.channel, context.callbacks.mid(context.user.imports, context.user.exports));
  defect = unpack_all(context, imports, held.data(), context.report.bytes_imported);
  held.release();
  mpi::agree(context.channel, defect);
  context.report.unpack_seconds += mpi::now() - moved;
}

}  // namespace valet::zoltan
