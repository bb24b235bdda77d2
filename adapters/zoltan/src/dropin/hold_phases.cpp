// SPDX-License-Identifier: BSD-3-Clause
#include "arrivals.hpp"
#include "hold_exchange.hpp"
#include "step_loop.hpp"

#include <algorithm>

namespace valet::zoltan {
namespace {

/// Sends from the batch at hand, to each destination as it may. The next batch is packed when all
/// of this one has left, so that objects are packed in the order of the list whatever the credits
/// are.
class BatchSender final : public StepSender {
 public:
  BatchSender(Context& context, const ObjectList& exports, std::span<const int> sorted,
              HoldBatches& batches, std::uint64_t chunk)
      : StepSender(context, exports, sorted, chunk),
        batches_(batches),
        packed_(exports.peers.size(), context.ledger) {}

  void allocate() { context_.workspace.sent.reserve(batches_.capacity(), 0); }

  void prepare() override {
    for (const std::size_t pair : batches_.touched())
      if (ready(pair) > 0) return;
    if (!batches_.next()) return;
    std::byte* const memory = context_.workspace.sent.data();
    batches_.pack(memory);
    for (const std::size_t pair : batches_.touched()) {
      const HoldBatches::Part& part = batches_.part(pair);
      packed_[pair] = {memory + part.end - part.bytes, flows_[pair].sent + part.objects};
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
  Vector<Packed> packed_;
};

/// Half of the scratch for a batch.
std::uint64_t batch_limit(const Scratch& scratch) {
  return std::min(scratch.budget / 2, largest_batch);
}

class HoldPhases final : public HoldExchange {
 public:
  HoldPhases(Context& context, const ObjectList& exports, std::span<int> sizes,
             const Scratch& scratch)
      : context_(context),
        scratch_(scratch),
        limit_(scratch.budget - scratch.budget / 2),
        batches_(context, exports, sizes, batch_limit(scratch)),
        sorted_(exports.grouped ? Array<int>() : exports.sorted(context.ledger, sizes)),
        sender_(context, exports,
                exports.grouped ? std::span<const int>(sizes)
                                : std::span<const int>(sorted_.data(), sorted_.size()),
                batches_, scratch.chunk),
        parking_(context.ledger) {}

  [[nodiscard]] std::uint64_t needed_bytes() const override {
    return batches_.capacity() + batches_.list_bytes() + parking_bytes();
  }
  void allocate() override {
    batches_.allocate();
    sender_.allocate();
    parking_.reserve(parking_bytes(), 0);
    sender_.parked().use(parking_.data() + parking_bytes());
  }
  std::optional<Diagnostic> run(const Imports& imports, std::byte* held) override {
    const std::span<const int> sizes = imports.all_sizes();
    // Everything has its place already: an object costs its bytes alone.
    constexpr std::uint64_t object_bytes = 0;
    StepPlanner planner(context_.ledger, imports.sources, sizes, object_bytes,
                        context_.channel.rank());
    planner.withhold();
    const std::unique_ptr<Division> division = make_division(context_, imports.sources);
    StepReceiver receiver(context_, sizes, scratch_.chunk, Placement::by_offset);
    StepLoop loop(context_,
                  {planner, *division, sender_, receiver, held, limit_, object_bytes, true});
    loop.run(0, 0, [] {});
    return sender_.diagnostic;
  }
  [[nodiscard]] const Checksums& checksums() const override { return batches_.checksums(); }

 private:
  [[nodiscard]] std::uint64_t parking_bytes() const {
    return context_.parameters.parks() ? limit_ : 0;
  }

  Context& context_;
  const Scratch& scratch_;
  std::uint64_t limit_;
  HoldBatches batches_;
  Array<int> sorted_;
  BatchSender sender_;
  PackedMemory parking_;
};

}  // namespace

std::unique_ptr<HoldExchange> make_hold_phases(Context& context, const ObjectList& exports,
                                               std::span<int> sizes, const Scratch& scratch) {
  return std::make_unique<HoldPhases>(context, exports, sizes, scratch);
}

}  // namespace valet::zoltan
