// SPDX-License-Identifier: BSD-3-Clause
#include "arrivals.hpp"
#include "handle/messages.hpp"
#include "mpi/check.hpp"
#include "objects/room.hpp"
#include "objects/step_loop.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>

namespace valet::zoltan {
namespace {

using objects::ObjectSizes, objects::OutgoingMessage, objects::plain_size, objects::sum_of;

/// The exports of HOLD, batch by batch. A batch is a run of the export list, so that every callback
/// sees stock Zoltan's order; within it the packed objects of a destination stand together, in the
/// order of the list.
class HoldBatches {
 public:
  /// Looks at all batches; packs nothing yet. Where what a batch has for a destination is one
  /// message, marks its last object in `sizes`. @throws std::bad_alloc.
  HoldBatches(Context& context, const ObjectList& exports, std::span<int> sizes,
              std::uint64_t limit)
      : context_(context),
        exports_(exports),
        sizes_(sizes),
        limit_(limit),
        parts_(exports.peers.size(), context.ledger),
        touched_(context.ledger),
        checksums_(context.ledger, exports.peers) {
    touched_.reserve(exports.peers.size());
    while (next()) {
      std::uint64_t bytes = 0;
      for (const std::size_t peer : touched_) {
        bytes += parts_[peer].bytes;
        if (!context.call.has_phases()) sizes[parts_[peer].last - 1] |= objects::last_of_message;
      }
      capacity_ = std::max(capacity_, bytes);
      most_objects_ = std::max(most_objects_, end_ - first_);
      ++batches_;
    }
    end_ = 0;
    batch_sizes_ = Array<int>(context_.ledger, most_objects_);
    batch_offsets_ = Array<int>(context_.ledger, most_objects_);
  }

  /// What a destination has in a batch.
  struct Part {
    std::uint64_t bytes = 0;
    std::uint64_t objects = 0;
    std::uint64_t last = 0;  ///< behind its last object, in the list
    std::uint64_t end = 0;   ///< where its packed objects end, in the memory of the batch
  };

  /// Goes on to the next batch. False when there is none.
  bool next() {
    if (end_ == sizes_.size()) return false;
    first_ = end_;
    end_ = objects::batch_end(sizes_, first_, limit_, object_bytes);
    for (const std::size_t peer : touched_) parts_[peer] = {};
    touched_.clear();
    for (std::uint64_t k = first_; k < end_; ++k) {
      Part& part = parts_[peer_at(k)];
      if (part.objects == 0) touched_.push_back(last_peer_);
      part.bytes += static_cast<std::uint64_t>(plain_size(sizes_[k]));
      ++part.objects;
      part.last = k + 1;
    }
    return true;
  }

  /// Packs it into `memory`, of capacity() bytes.
  void pack(std::byte* memory) {
    assign_offsets();
    if (diagnostic_)
      return;  // the others still get what they wait for; they learn of it before mid
    const std::size_t count = end_ - first_;
    ++context_.report.batches;
    const observe::TraceSpan span(context_.call.trace(), observe::TraceKind::gather, "pack");
    diagnostic_ = context_.callbacks.pack(
        {exports_.ids.from(context_.callbacks.entries(), first_),
         exports_.destinations() + first_,
         {batch_sizes_.data(), count},
         {batch_offsets_.data(), count},
         memory,
         context_.parameters.options.verify ? &context_.ledger : nullptr},
        sizes_.subspan(first_, count), batches_ > 1, first_, context_.report.objects_packed);
    if (context_.parameters.options.verify && !diagnostic_) add_checksums(memory);
  }

  /// Its destinations.
  [[nodiscard]] std::span<const std::size_t> touched() const { return touched_; }
  [[nodiscard]] const Part& part(std::size_t peer) const { return parts_[peer]; }

  [[nodiscard]] std::uint64_t count() const { return batches_; }
  /// Packed bytes of the largest batch, and what the lists of a batch take besides.
  [[nodiscard]] std::uint64_t capacity() const { return capacity_; }
  [[nodiscard]] std::uint64_t list_bytes() const { return most_objects_ * object_bytes; }
  /// What the application did wrong while packing, if anything.
  [[nodiscard]] const std::optional<Diagnostic>& diagnostic() const { return diagnostic_; }
  [[nodiscard]] const objects::Checksums& checksums() const { return checksums_; }

 private:
  static constexpr std::uint64_t object_bytes = 2 * sizeof(int);

  std::size_t peer_at(std::uint64_t object) {
    const int rank = exports_.procs[object];
    if (exports_.peers[last_peer_].rank != rank) last_peer_ = exports_.peer_of(rank);
    return last_peer_;
  }

  /// Where in the batch every object goes, the destinations consecutive.
  void assign_offsets() {
    std::uint64_t start = 0;
    for (const std::size_t peer : touched_) {
      parts_[peer].end = start;
      start += parts_[peer].bytes;
    }
    for (std::uint64_t k = first_; k < end_; ++k) {
      Part& part = parts_[peer_at(k)];
      batch_offsets_[k - first_] = static_cast<int>(part.end);
      part.end += static_cast<std::uint64_t>(plain_size(sizes_[k]));
    }
  }

  void add_checksums(const std::byte* memory) {
    for (std::uint64_t k = first_; k < end_; ++k)
      checksums_.add(peer_at(k), memory + batch_offsets_[k - first_],
                     static_cast<std::uint64_t>(batch_sizes_[k - first_]));
  }

  Context& context_;
  const ObjectList& exports_;
  std::span<const int> sizes_;
  std::uint64_t limit_;
  Vector<Part> parts_;
  Vector<std::size_t> touched_;
  objects::Checksums checksums_;
  std::size_t last_peer_ = 0;
  std::uint64_t first_ = 0, end_ = 0;  ///< the batch's
  std::uint64_t batches_ = 0;
  std::uint64_t capacity_ = 0;
  std::uint64_t most_objects_ = 0;
  Array<int> batch_sizes_, batch_offsets_;
  std::optional<Diagnostic> diagnostic_;
};

/// How the packed objects of HOLD get to where they are held.
class HoldExchange {
 public:
  /// @param batch  Limit of a batch. @throws std::bad_alloc.
  HoldExchange(Context& context, const ObjectList& exports, std::span<int> sizes,
               const objects::Scratch& scratch, std::uint64_t batch)
      : context_(context),
        exports_(exports),
        scratch_(scratch),
        batches_(context, exports, sizes, batch) {}
  HoldExchange(const HoldExchange&) = delete;
  HoldExchange& operator=(const HoldExchange&) = delete;
  virtual ~HoldExchange() = default;

  /// Scratch that it takes; an object larger than the budget raises it.
  [[nodiscard]] virtual std::uint64_t scratch_bytes() const = 0;
  [[nodiscard]] std::uint64_t list_bytes() const { return batches_.list_bytes(); }
  /// Packs all exports into `sent` and receives all imports, whose sizes are known, at their place
  /// in `held`. Collective. What went wrong on this rank, if anything; also throws what ranks
  /// agreed upon.
  virtual std::optional<Diagnostic> run(const Imports& imports, std::byte* sent,
                                        std::byte* held) = 0;
  [[nodiscard]] const objects::Checksums& checksums() const { return batches_.checksums(); }

 protected:
  Context& context_;
  const ObjectList& exports_;
  const objects::Scratch& scratch_;
  HoldBatches batches_;
};

/// Receives every message at its final place among the held objects.
class HoldReceiver : public objects::Incoming {
 public:
  HoldReceiver(Context& context, const Imports& imports, std::byte* held)
      : context_(context), imports_(imports), cursors_(context.ledger) {
    cursors_.reserve(imports.sources.size());
    std::uint64_t object = 0;
    for (const Peer& source : imports.sources) {
      cursors_.push_back({object, object + source.count, held});
      held += sum_of(imports.all_sizes().subspan(object, source.count));
      object += source.count;
    }
  }

  bool next(std::size_t peer, MemoryPiece& memory) override {
    Cursor& cursor = cursors_[peer];
    memory = {cursor.data, 0};
    while (cursor.object < cursor.end) {
      const int entry = imports_.sizes[cursor.object++];
      memory.bytes += static_cast<std::size_t>(plain_size(entry));
      if ((entry & objects::last_of_message) == 0 || memory.bytes == 0) continue;
      cursor.data += memory.bytes;
      return true;
    }
    return false;
  }

  void arrived(std::uint64_t bytes) override { context_.progress.advance(bytes); }

 private:
  struct Cursor {
    std::uint64_t object = 0;
    std::uint64_t end = 0;
    std::byte* data = nullptr;
  };
  Context& context_;
  const Imports& imports_;
  Vector<Cursor> cursors_;
};

/// Sends batches as they come; what a batch has for a destination is one message. Whoever receives
/// one has memory for all of them.
class HoldStream final : public HoldExchange, private objects::Outgoing {
 public:
  /// Does not take its memory yet. Local. @throws std::bad_alloc.
  HoldStream(Context& context, const ObjectList& exports, std::span<int> sizes,
             const objects::Scratch& scratch)
      : HoldExchange(context, exports, sizes, scratch, scratch.batch) {
    const std::uint64_t lists = batches_.list_bytes();
    if (batches_.count() < 2 || 2 * batches_.capacity() + lists > scratch.budget - scratch.node)
      buffers_ = 1;
  }

  [[nodiscard]] std::uint64_t scratch_bytes() const override {
    return buffers_ * batches_.capacity();
  }

  std::optional<Diagnostic> run(const Imports& imports, std::byte* sent, std::byte* held) override {
    sent_ = sent;
    HoldReceiver receiver(context_, imports, held);
    objects::Transport transport(context_.channel, context_.ledger, context_.call.node,
                                 exports_.peers, imports.sources);
    transport.run(*this, receiver);
    context_.call.messages += transport.messages();
    return batches_.diagnostic();
  }

 private:
  bool next(Vector<OutgoingMessage>& messages) override {
    if (!batches_.next()) return false;
    for (const std::size_t peer : batches_.touched())
      if (const std::uint64_t bytes = batches_.part(peer).bytes; bytes > 0)
        messages.push_back({peer, bytes});
    return true;
  }

  /// A batch for one destination is packed into the memory that it shares.
  void make(std::size_t buffer, std::span<OutgoingMessage> messages) override {
    std::byte* memory = sent_ + buffer * batches_.capacity();
    if (messages.size() == 1 && messages.front().data != nullptr) memory = messages.front().data;
    batches_.pack(memory);
    for (OutgoingMessage& message : messages)
      message.data = memory + batches_.part(message.peer).end - message.bytes;
  }

  [[nodiscard]] std::size_t buffers() const override { return buffers_; }

  std::size_t buffers_ = 2;
  std::byte* sent_ = nullptr;
};

/// Sends from the batch at hand, to each destination as it may. The next batch is packed when all
/// of this one has left, so that objects are packed in the order of the list whatever the credits
/// are.
class BatchSender final : public objects::StepSender {
 public:
  BatchSender(objects::Call& call, const ObjectList& exports, const ObjectSizes& sorted,
              HoldBatches& batches, std::uint64_t chunk)
      : StepSender(call, exports.peers, sorted, chunk),
        batches_(batches),
        packed_(exports.peers.size(), call.ledger) {}

  void use(std::byte* memory) { memory_ = memory; }

  void prepare() override {
    for (const std::size_t pair : batches_.touched())
      if (ready(pair) > 0) return;
    if (!batches_.next()) return;
    batches_.pack(memory_);
    for (const std::size_t pair : batches_.touched()) {
      const HoldBatches::Part& part = batches_.part(pair);
      packed_[pair] = {memory_ + part.end - part.bytes, flows_[pair].sent + part.objects};
    }
    if (!diagnostic) diagnostic = batches_.diagnostic();
  }
  [[nodiscard]] std::uint64_t ready(std::size_t pair) const override {
    return packed_[pair].until - flows_[pair].sent;
  }

 private:
  struct Packed {
    std::byte* next = nullptr;
    std::uint64_t until = 0;  ///< behind the last object that is packed
  };
  std::byte* own_objects(std::size_t pair, std::uint64_t, std::uint64_t, std::uint64_t bytes,
                         std::byte*, std::size_t) override {
    std::byte* const data = packed_[pair].next;
    packed_[pair].next += bytes;
    return data;
  }

  HoldBatches& batches_;
  std::byte* memory_ = nullptr;
  Vector<Packed> packed_;
};

/// PHASED and CYCLIC: in phases, none of which brings a rank more than half of its scratch. The
/// other half is for a batch.
class HoldPhases final : public HoldExchange, private objects::Owner {
 public:
  HoldPhases(Context& context, const ObjectList& exports, std::span<int> sizes,
             const objects::Scratch& scratch)
      : HoldExchange(context, exports, sizes, scratch,
                     std::min(scratch.budget / 2, objects::largest_batch)),
        limit_(scratch.budget - scratch.budget / 2),
        sorted_(exports.grouped ? Array<int>() : exports.sorted(context.ledger, sizes)),
        sender_(context.call, exports, exports.grouped ? ObjectSizes(sizes) : ObjectSizes(sorted_),
                batches_, scratch.chunk) {}

  [[nodiscard]] std::uint64_t scratch_bytes() const override {
    return batches_.capacity() + parking_bytes();
  }
  std::optional<Diagnostic> run(const Imports& imports, std::byte* sent, std::byte* held) override {
    sender_.use(sent);
    sender_.parked().use(sent + scratch_bytes());
    const std::span<const int> sizes = imports.all_sizes();
    // Everything has its place already: an object costs its bytes alone.
    constexpr std::uint64_t object_bytes = 0;
    objects::StepPlanner planner(context_.ledger, imports.sources, sizes, object_bytes,
                                 context_.channel.rank());
    planner.withhold();
    const auto division = objects::make_division(context_.call, imports.sources);
    objects::StepReceiver receiver(context_.call, *this, sizes, scratch_.chunk,
                                   objects::Placement::by_offset);
    run_steps(context_.call,
              {*this, planner, *division, sender_, receiver, held, limit_, object_bytes, true}, 0,
              0);
    return sender_.diagnostic;
  }

 private:
  std::optional<Diagnostic> find_room(std::uint64_t& bytes) override {
    return context_.find_room(bytes);
  }
  [[nodiscard]] const char* asks() const override { return memory_function; }
  void arrived(std::uint64_t bytes) override { context_.progress.advance(bytes); }
  [[nodiscard]] std::uint64_t parking_bytes() const { return context_.call.parks() ? limit_ : 0; }

  std::uint64_t limit_;
  Array<int> sorted_;
  BatchSender sender_;
};

/// Sizes to the receivers, then room for what is sent and what arrives. Collective.
objects::Room prepare(Context& context, const ObjectList& exports, std::span<int> sizes,
                      Imports& imports, const objects::Scratch& scratch,
                      std::optional<Diagnostic> mine, std::unique_ptr<HoldExchange>& exchange) {
  if (!mine) mine = check_everything(context, "packs", sum_of(sizes));
  if (!mine)
    mine = within_memory("the objects that are sent", [&] {
      if (context.call.has_phases())
        exchange = std::make_unique<HoldPhases>(context, exports, sizes, scratch);
      else
        exchange = std::make_unique<HoldStream>(context, exports, sizes, scratch);
    });
  if (!exchange) std::ranges::fill(sizes, 0);  // until all ranks know
  receive_lists(context, exports, sizes, false, imports);
  Valet_Migration_Report& report = context.report;
  mpi::Agreement agreement;
  std::uint64_t most_arrivals = report.bytes_imported;
  agreement.largest(most_arrivals);
  const objects::Room room =
      make_room(context.call, scratch,
                {.destinations = exports.peers,
                 .sources = imports.sources,
                 .moved = std::max(report.bytes_exported, report.bytes_imported),
                 .arrivals = report.bytes_imported,
                 .sent = exchange ? exchange->scratch_bytes() : 0,
                 .lists = exchange ? exchange->list_bytes() : 0},
                agreement, std::move(mine));
  report.budget_raised_bytes += room.raised;
  if (context.channel.rank() == 0) say_what_steps_save(context.parameters, most_arrivals);
  show_progress(context);
  return room;
}

}  // namespace

void migrate_held(Context& context, const ObjectList& exports, std::span<int> sizes,
                  Imports& imports, const objects::Scratch& scratch,
                  std::optional<Diagnostic> mine) {
  const double start = mpi::now();
  std::unique_ptr<HoldExchange> exchange;
  const objects::Room room =
      prepare(context, exports, sizes, imports, scratch, std::move(mine), exchange);
  const double listed = mpi::now();
  context.report.list_seconds += listed - start;
  std::optional<Diagnostic> diagnostic = exchange->run(imports, room.sent, room.arrivals);
  Vector<ArrivedRange> ranges(context.ledger);
  std::optional<objects::Checksums> received;
  if (!diagnostic)
    diagnostic = within_memory("the list of what has arrived", [&] {
      for (std::uint64_t k = 0; k < imports.count; ++k)  // the marks have served
        imports.sizes[k] = plain_size(imports.sizes[k]);
      ranges = ranges_of_held(context.ledger, imports, room.arrivals);
      if (context.parameters.options.verify) received.emplace(context.ledger, imports.sources);
    });
  mpi::agree(context.channel, diagnostic);
  context.report.objects_sent = exports.count;
  if (received) {
    for (const ArrivedRange& range : ranges) add_arrived(*received, imports.all_sizes(), range);
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
