// SPDX-License-Identifier: BSD-3-Clause
#include "hold_exchange.hpp"

#include <algorithm>

namespace valet::zoltan {
namespace {

/// Sends batches as they come; what a batch has for a destination is one message.
class HoldStream final : public HoldExchange, private Outgoing {
 public:
  /// Marks in `sizes` the last object of every message; does not take its memory yet. Local.
  /// @throws std::bad_alloc.
  HoldStream(Context& context, const ObjectList& exports, std::span<int> sizes,
             const Scratch& scratch);

  [[nodiscard]] std::uint64_t needed_bytes() const override {
    return buffers_ * batches_.capacity() + batches_.list_bytes();
  }
  void allocate() override;
  std::optional<Diagnostic> run(const Imports& imports, std::byte* held) override;
  [[nodiscard]] const Checksums& checksums() const override { return batches_.checksums(); }

 private:
  bool next(Vector<OutgoingMessage>& messages) override;
  void make(std::size_t buffer, std::span<OutgoingMessage> messages) override;
  [[nodiscard]] std::size_t buffers() const override { return buffers_; }

  Context& context_;
  const ObjectList& exports_;
  const Scratch& scratch_;
  HoldBatches batches_;
  std::size_t buffers_ = 2;
};

/// Receives every message at its final place among the held objects.
class HoldReceiver : public Incoming {
 public:
  HoldReceiver(Context& context, const Imports& imports, std::byte* held);
  bool next(std::size_t peer, MemoryPiece& memory) override;
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

HoldStream::HoldStream(Context& context, const ObjectList& exports, std::span<int> sizes,
                       const Scratch& scratch)
    : context_(context),
      exports_(exports),
      scratch_(scratch),
      batches_(context, exports, sizes, scratch.batch) {
  batches_.look_at_all(
      [&](const HoldBatches::Part& part) { sizes[part.last - 1] |= last_of_message; });
  const std::uint64_t lists = batches_.list_bytes();
  if (batches_.count() < 2 || 2 * batches_.capacity() + lists > scratch.budget - scratch.node)
    buffers_ = 1;
}

void HoldStream::allocate() {
  const std::uint64_t bytes = buffers_ * batches_.capacity();
  context_.workspace.sent.reserve(bytes, 2 * scratch_.chunk);
  batches_.allocate();
}

bool HoldStream::next(Vector<OutgoingMessage>& messages) {
  if (!batches_.next()) return false;
  for (const std::size_t peer : batches_.touched())
    if (const std::uint64_t bytes = batches_.part(peer).bytes; bytes > 0)
      messages.push_back({peer, bytes});
  return true;
}

/// A batch for one destination is packed into the memory that it shares.
void HoldStream::make(std::size_t buffer, std::span<OutgoingMessage> messages) {
  std::byte* memory = context_.workspace.sent.data() + buffer * batches_.capacity();
  if (messages.size() == 1 && messages.front().data != nullptr) memory = messages.front().data;
  batches_.pack(memory);
  for (OutgoingMessage& message : messages)
    message.data = memory + batches_.part(message.peer).end - message.bytes;
}

HoldReceiver::HoldReceiver(Context& context, const Imports& imports, std::byte* held)
    : context_(context), imports_(imports), cursors_(context.ledger) {
  cursors_.reserve(imports.sources.size());
  std::uint64_t object = 0;
  for (const Peer& source : imports.sources) {
    cursors_.push_back({object, object + source.count, held});
    held += sum_of(imports.all_sizes().subspan(object, source.count));
    object += source.count;
  }
}

bool HoldReceiver::next(std::size_t peer, MemoryPiece& memory) {
  Cursor& cursor = cursors_[peer];
  memory = {cursor.data, 0};
  while (cursor.object < cursor.end) {
    const int entry = imports_.sizes[cursor.object++];
    memory.bytes += static_cast<std::size_t>(plain_size(entry));
    if ((entry & last_of_message) == 0 || memory.bytes == 0) continue;
    cursor.data += memory.bytes;
    return true;
  }
  return false;
}

std::optional<Diagnostic> HoldStream::run(const Imports& imports, std::byte* held) {
  HoldReceiver receiver(context_, imports, held);
  Transport transport(context_.channel, context_.ledger, context_.workspace.node, exports_.peers,
                      imports.sources);
  transport.run(*this, receiver);
  context_.report.messages += transport.messages();
  return batches_.diagnostic();
}

}  // namespace

std::unique_ptr<HoldExchange> make_hold_stream(Context& context, const ObjectList& exports,
                                               std::span<int> sizes, const Scratch& scratch) {
  return std::make_unique<HoldStream>(context, exports, sizes, scratch);
}

}  // namespace valet::zoltan
