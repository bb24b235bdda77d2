// SPDX-License-Identifier: BSD-3-Clause
#include "operations/alltoall/sorted_exchange.hpp"

#include "operations/alltoall/swap_methods.hpp"
#include "storage/in_place_merge.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

namespace valet::operations {
namespace {

/// What a swap costs besides its elements, as bytes: a few messages' latency.
constexpr std::uint64_t swap_cost_bytes = std::uint64_t{16} << 10;
/// Half of it is a third slower, twice as much is no faster.
constexpr std::uint64_t most_message_bytes = std::uint64_t{256} << 10;

std::uint64_t sum(std::span<const std::uint64_t> values) {
  return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}

/// The free slots of all ranks, told to all: one by one, so that it takes 16*P bytes only.
class FreeSlots {
 public:
  FreeSlots(const mpi::Channel& channel, Ledger& ledger, std::uint64_t before, std::uint64_t after)
      : mine_(ledger, static_cast<std::size_t>(channel.size())), all_(ledger, mine_.size()) {
    tell(channel, before);
    const auto self = static_cast<std::size_t>(channel.rank());
    begin_ = sum({all_.begin(), self});
    count_ = before;
    tell(channel, after);
  }

  /// Calls each(destination, count): the free slots of all ranks, in order, become those of rank
  /// 0, 1, and so on. These are this rank's share.
  template <class Each>
  void for_each(Each&& each) const {
    std::uint64_t at = 0;
    for (std::size_t destination = 0; destination < all_.size(); ++destination) {
      const std::uint64_t low = std::max(at, begin_);
      at += all_[destination];
      const std::uint64_t high = std::min(at, begin_ + count_);
      each(destination, high > low ? high - low : 0);
    }
  }

 private:
  void tell(const mpi::Channel& channel, std::uint64_t value) {
    std::fill(mine_.begin(), mine_.end(), value);
    mpi::exchange_all(channel, {mine_.begin(), mine_.size()}, {all_.begin(), all_.size()});
  }

  Array<std::uint64_t> mine_, all_;
  std::uint64_t begin_ = 0, count_ = 0;
};

}  // namespace

SwapSizes::SwapSizes(std::uint64_t most, std::size_t element_bytes, std::size_t budget_bytes)
    : most_anywhere(most),
      message_elements(std::max<std::uint64_t>(
          1, std::min<std::uint64_t>(budget_bytes / 4, most_message_bytes) / element_bytes)) {}

SortedExchange::SortedExchange(plan::State& state, const AlltoallBuffer& buffer,
                               std::span<const std::uint64_t> sent, std::uint64_t elements_after,
                               std::size_t budget_bytes, const SwapSizes& sizes)
    : state_(state),
      channel_(state.channel),
      buffer_(buffer),
      sent_(sent),
      before_(sum(sent)),
      after_(elements_after),
      sizes_(sizes),
      budget_bytes_(budget_bytes),
      scratch_bytes_(budget_bytes / 2) {}

/// A network that sorts needs equally many slots on all ranks; swaps in pairs do not.
std::uint64_t SortedExchange::slots(AlltoallMethod method) const {
  return method == AlltoallMethod::bitonic ? sizes_.most_anywhere : std::max(before_, after_);
}

/// Half of the budget, and parts of what is promised beyond it: 32 of the 64*P are counts.
ChunkLimits SortedExchange::limits(AlltoallMethod method) const {
  const auto ranks = static_cast<std::uint64_t>(channel_.size());
  const std::uint64_t traced = state_.trace ? observe::Trace::memory_bytes : 0;
  return {.bytes = budget_bytes_ / 2 + (std::uint64_t{48} << 10) - traced + 24 * ranks,
          .most_chunks = method == AlltoallMethod::pairwise
                             ? 4 * ranks
                             : std::numeric_limits<std::uint64_t>::max() / 64};
}

std::unique_ptr<SwapSequence> SortedExchange::make_sequence(AlltoallMethod method) {
  auto sequence = std::make_unique<SwapSequence>(channel_, state_.ledger, limits(method),
                                                 swap_cost_bytes / buffer_.element_bytes);
  const FreeSlots free(channel_, state_.ledger, slots(method) - before_, slots(method) - after_);
  const auto for_each = [&](auto&& each) {
    free.for_each([&](std::size_t destination, std::uint64_t count) {
      const auto to = static_cast<std::int32_t>(destination);
      each(Chunk{to, channel_.rank(), 0, sent_[destination]});
      each(Chunk{to, free_slot, 0, count});
    });
  };
  std::uint64_t size = 0;
  for_each([&](const Chunk& chunk) { size += chunk.count > 0 ? 1 : 0; });
  sequence->start(size, for_each);
  return sequence;
}

void SortedExchange::exchange(SwapSequence& sequence, AlltoallMethod method) const {
  if (method == AlltoallMethod::bitonic)
    sort_bitonic(sequence, slots(method));
  else
    exchange_pairwise(sequence);
}

std::optional<Diagnostic> SortedExchange::diagnostic_of(const Trial& trial,
                                                        AlltoallMethod method) const {
  const std::string name = to_string(method);
  if (trial.gave_up)
    return Diagnostic{ErrorCode::budget_too_small,
                      name + " needs more memory for its tables than half of the budget of " +
                          std::to_string(budget_bytes_) +
                          " bytes; raise budget_bytes, or take stream"};
  const std::uint64_t most = trial.tally.most_elements;
  if (most > buffer_.bytes / buffer_.element_bytes)
    return Diagnostic{ErrorCode::infeasible,
                      name + " has " + std::to_string(most) +
                          " elements here for a time, but the buffer has room for " +
                          std::to_string(buffer_.bytes / buffer_.element_bytes) +
                          "; enlarge it to that many, or take stream or pairwise"};
  if (storage::BlockMerge::block_elements(most, buffer_.element_bytes, scratch_bytes_) == 0)
    return Diagnostic{ErrorCode::budget_too_small,
                      "the budget of " + std::to_string(budget_bytes_) + " bytes is below the " +
                          std::to_string(2 * storage::BlockMerge::least_scratch_bytes(
                                                 most, buffer_.element_bytes)) +
                          " that " + name + " takes to merge " + std::to_string(most) +
                          " elements; set budget_bytes to at least that"};
  return std::nullopt;
}

SortedExchange::Trial SortedExchange::try_on_counts(AlltoallMethod method) {
  const std::unique_ptr<SwapSequence> sequence = make_sequence(method);
  exchange(*sequence, method);
  Trial trial;
  trial.tally = sequence->tally();
  trial.gave_up = sequence->gave_up();
  (method == AlltoallMethod::pairwise ? moves_by_pairwise_ : moves_by_bitonic_) =
      trial.tally.sent + trial.tally.received;
  trial.diagnostic = diagnostic_of(trial, method);
  trial.volume = trial.tally.volume;
  trial.suits = !trial.diagnostic;
  return trial;
}

SortedExchange::Choice SortedExchange::try_all(AlltoallMethod wish) {
  std::optional<Trial> pairwise;
  mpi::Agreement agreement;
  if (wish != AlltoallMethod::bitonic) {
    pairwise = try_on_counts(AlltoallMethod::pairwise);
    pairwise->join(agreement);
  }
  if (wish == AlltoallMethod::pairwise) {
    agreement.run(channel_, std::nullopt);
    if (pairwise->suits) return {wish, true, std::nullopt};
    agreement = {};
  }
  Trial bitonic = try_on_counts(AlltoallMethod::bitonic);
  bitonic.join(agreement);
  agreement.run(channel_, std::nullopt);
  if (pairwise && pairwise->suits && (!bitonic.suits || pairwise->volume <= bitonic.volume))
    return {AlltoallMethod::pairwise, true, std::nullopt};
  return {AlltoallMethod::bitonic, bitonic.suits, bitonic.diagnostic};
}

AlltoallMethod SortedExchange::choose(AlltoallMethod wish) {
  const Choice choice = try_all(wish);
  if (!choice.suits) mpi::agree(channel_, choice.diagnostic);
  return choice.method;
}

std::optional<AlltoallMethod> SortedExchange::find_suited() {
  const Choice choice = try_all(AlltoallMethod::swaps);
  return choice.suits ? std::optional(choice.method) : std::nullopt;
}

Report SortedExchange::run(AlltoallMethod method, const ProgressWish& progress) {
  std::unique_ptr<SwapSequence> sequence = make_sequence(method);
  Array<std::byte> scratch(state_.ledger, scratch_bytes_);
  observe::WatchedProgress watched(
      state_.observer,
      progress.meter(method == AlltoallMethod::pairwise ? moves_by_pairwise_ : moves_by_bitonic_,
                     buffer_.element_bytes));
  const double waited = state_.observer.waiting_seconds;
  try {
    const observe::TraceSpan span(state_.observer.trace, observe::TraceKind::stage, "exchange");
    sequence->attach({{static_cast<std::byte*>(buffer_.data), buffer_.bytes},
                      buffer_.element_bytes,
                      {scratch.begin(), scratch.size()},
                      sizes_.message_elements});
    exchange(*sequence, method);
    if (sequence->gave_up() || elements_of(sequence->chunks()) != after_)
      throw Error(ErrorCode::internal, std::string(to_string(method)) + " ended elsewhere");
    watched.finish();
  } catch (...) {
    scratch.leak();  // MPI may still read and write both
    static_cast<void>(sequence.release());
    throw;
  }
  const SwapTally& tally = sequence->tally();
  Report report;
  report.method = to_string(method);
  report.block_bytes = buffer_.element_bytes;
  report.blocks_sent = tally.sent;
  report.blocks_received = tally.received;
  report.bytes_sent = tally.sent * buffer_.element_bytes;
  report.messages = tally.messages;
  report.local_copies = tally.copied;
  report.swaps = tally.swaps;
  report.neighbours = static_cast<std::uint64_t>(channel_.size() - 1);
  report.exchange_seconds = tally.exchange_seconds;
  report.local_seconds = tally.local_seconds;
  report.peak_extra_bytes = state_.ledger.peak_bytes();
  report.waiting_seconds = state_.observer.waiting_seconds - waited;
  if (state_.trace)
    state_.trace->write(channel_, {report.method, report.block_bytes, budget_bytes_});
  return report;
}

}  // namespace valet::operations
