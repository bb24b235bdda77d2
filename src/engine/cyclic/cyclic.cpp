// SPDX-License-Identifier: BSD-3-Clause
#include "engine/cyclic/cyclic.hpp"

#include <algorithm>

namespace valet::engine {
namespace {

/// Scratch is divided as STREAM divides it, but alike for both directions: the increment of a cycle
/// is the same for what a rank sends and what it receives.
template <class Index>
schedule::StreamSizes sizes_of(const ExchangeContext& context, const plan::Flows<Index>& flows) {
  const std::uint64_t most = std::max<std::uint64_t>(flows.exports.size(), flows.blocks_arriving);
  return schedule::stream_sizes(schedule::limits_of(context.options, context.blocks, most, most));
}

}  // namespace

template <class Index>
Cyclic<Index>::Cyclic(const ExchangeContext& context, const plan::Flows<Index>& flows)
    : block_bytes_(context.blocks.block_bytes),
      least_blocks_(context.blocks.least_scratch_blocks()),
      sizes_(sizes_of(context, flows)),
      follower_places_(CyclicFollower<Index>::places_needed(sizes_)) {
  const bool is_root = context.channel.rank() == cyclic_root;
  requests_ = std::make_unique<mpi::Requests>(context.ledger,
                                              follower_places_ + (is_root ? CyclicRoot::places : 0),
                                              context.channel.hooks());
  follower_ = std::make_unique<CyclicFollower<Index>>(context, flows, sizes_, *requests_, 0);
  if (is_root) root_ = std::make_unique<CyclicRoot>(context, *requests_, follower_places_);
}

template <class Index>
std::size_t Cyclic<Index>::scratch_bytes() const {
  return static_cast<std::size_t>(std::max(sizes_.scratch_blocks(), least_blocks_)) * block_bytes_;
}

template <class Index>
void Cyclic<Index>::wait(Transfer<Index>& transfer, Report& report) {
  const auto completion = requests_->wait_any();
  if (!completion)
    throw Error(ErrorCode::internal, "blocks are left and there is nothing to wait for");
  if (completion->index < follower_places_)
    follower_->completed(transfer, completion->index, report);
  else
    root_->completed(completion->index, completion->status);
  follower_->advance(transfer, report);
}

template <class Index>
void Cyclic<Index>::run(Transfer<Index>& transfer, std::span<std::byte> scratch, Report& report) {
  if (root_) root_->start();
  follower_->start(transfer, scratch.data(), report);
  follower_->advance(transfer, report);
  if (root_) root_->schedule_all([&] { wait(transfer, report); }, report);
  while (!follower_->done() || (root_ && !root_->done())) wait(transfer, report);
  follower_->finish(transfer);
  while (requests_->wait_any()) {
    // Only what others have received is left.
  }
}

template <class Index>
void Cyclic<Index>::leak() noexcept {
  static_cast<void>(requests_.release());
  static_cast<void>(follower_.release());
  static_cast<void>(root_.release());
}

template class Cyclic<std::uint32_t>;
template class Cyclic<std::uint64_t>;

}  // namespace valet::engine
