// SPDX-License-Identifier: BSD-3-Clause
#include "objects/steps.hpp"

#include "base/memory_reserve.hpp"
#include "mpi/agreement.hpp"

#include <algorithm>
#include <utility>

namespace valet::objects {

/// Packs a message when it is its turn.
class Steps::PackingSender final : public StepSender {
 public:
  PackingSender(Call& call, StepOwner& owner, const Traffic& traffic, const Scratch& scratch)
      : StepSender(call, traffic.destinations, traffic.leaving, scratch.chunk),
        owner_(owner),
        capacity_(largest_of(traffic.leaving)) {
    const bool is_large = capacity_ + call.message_object_bytes > chunk_;
    if (is_large && 2 * capacity_ > scratch.budget / 2) buffers_ = 1;
    capacity_ =
        std::min(std::max(chunk_, capacity_), std::max(sum_of(traffic.leaving), std::uint64_t{1}));
  }

  [[nodiscard]] std::size_t buffers() const override { return buffers_; }
  /// Memory for packed objects.
  [[nodiscard]] std::uint64_t memory_bytes() const { return buffers_ * capacity_; }
  void use(std::byte* memory) { memory_ = memory; }

 private:
  std::byte* own_objects(std::size_t pair, std::uint64_t first, std::uint64_t end, std::uint64_t,
                         std::byte* shared, std::size_t buffer) override {
    std::byte* const memory = shared != nullptr ? shared : memory_ + buffer * capacity_;
    // After a failure the others still get what they wait for; they learn of it before they use it.
    if (diagnostic) return memory;
    const observe::TraceSpan span(call_.trace(), observe::TraceKind::gather, "pack");
    diagnostic = owner_.pack(first, end, memory);
    if (diagnostic || !call_.options.verify) return memory;
    const std::byte* next = memory;
    for (std::uint64_t k = first; k < end; next += sizes_[k++])
      checksums_.add(pair, next, sizes_[k]);
    return memory;
  }

  StepOwner& owner_;
  std::uint64_t capacity_;
  std::size_t buffers_ = 2;
  std::byte* memory_ = nullptr;
};

void add_arrived(Checksums& sums, const ObjectSizes& arriving, const ArrivedObjects& arrived) {
  const std::byte* next = arrived.data;
  for (std::uint64_t k = 0; k < arrived.count; ++k) {
    const std::uint64_t bytes = arriving[arrived.first + k];
    sums.add(arrived.source, arrived.number + k, next, bytes);
    next += bytes;
  }
}

std::uint64_t most_in_message(const Call& call, const Scratch& scratch, std::uint64_t leaving) {
  const std::uint64_t most = scratch.chunk / call.message_object_bytes;
  return std::min(std::max<std::uint64_t>(most, 1), leaving);
}

Steps::Steps(Call& call, StepOwner& owner, const Traffic& traffic, const Scratch& scratch,
             std::uint64_t arrival_bytes, std::optional<Diagnostic> mine)
    : call_(call),
      owner_(owner),
      traffic_(traffic),
      scratch_(scratch),
      arrival_bytes_(arrival_bytes),
      mine_(std::move(mine)) {
  if (!mine_)
    mine_ = detail::unless_out_of_memory([&] { make_parts(); }, "no memory for the steps");
}

Steps::~Steps() = default;

void Steps::make_parts() {
  Ledger& ledger = call_.ledger;
  sender_ = std::make_unique<PackingSender>(call_, owner_, traffic_, scratch_);
  receiver_ = std::make_unique<StepReceiver>(call_, owner_, traffic_.arriving, scratch_.chunk,
                                             Placement::packed);
  planner_ = std::make_unique<StepPlanner>(ledger, traffic_.sources, traffic_.arriving,
                                           arrival_bytes_, call_.channel.rank());
  division_ = make_division(call_, traffic_.sources);
  received_ = std::make_unique<Checksums>(ledger, traffic_.sources);
  own_steps_ = call_.has_phases() ? 0 : planner_->count_steps(*division_, step_limit());
}

/// What arrives in a step at most.
std::uint64_t Steps::arrivals() const {
  // Where objects of others may wait, all of it.
  const std::uint64_t used =
      call_.parks() ? step_limit() : std::min(step_limit(), sum_of(traffic_.arriving));
  return std::max(largest_of(traffic_.arriving), used);
}

std::uint64_t Steps::step_limit() const { return std::min(scratch_.step, largest_batch); }

std::uint64_t Steps::prepare() {
  const std::uint64_t arriving = arrivals();
  // At least one step, so that mid runs where nothing moves. PHASED finds out as it goes, and so do
  // all where the owner's memory decides.
  all_steps_ = std::max<std::uint64_t>(own_steps_, 1);
  bool is_open = call_.has_phases() || owner_.limits_steps();
  mpi::Agreement agreement;
  agreement.largest(all_steps_);
  agreement.largest(is_open);
  const Room room =
      make_room(call_, scratch_,
                {.destinations = traffic_.destinations,
                 .sources = traffic_.sources,
                 .moved = std::max(sum_of(traffic_.leaving), sum_of(traffic_.arriving)),
                 .arrivals = arriving,
                 .sent = mine_ ? 0 : sender_->memory_bytes(),
                 .arrivals_are_scratch = true},
                agreement, std::move(mine_));
  if (is_open) all_steps_ = 0;
  memory_ = room.arrivals;
  sender_->use(room.sent);
  sender_->parked().use(memory_ + arriving);
  return room.raised;
}

std::optional<Diagnostic> Steps::run() {
  run_steps(call_,
            {owner_, *planner_, *division_, *sender_, *receiver_, memory_, step_limit(),
             arrival_bytes_, false},
            own_steps_, all_steps_);
  return std::move(sender_->diagnostic);
}

const StepSender& Steps::sender() const { return *sender_; }

void Steps::verify() {
  if (!call_.options.verify) return;
  mpi::agree(call_.channel, sender_->checksums().compare(call_.channel, call_.ledger, *received_));
}

}  // namespace valet::objects
