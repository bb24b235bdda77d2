// SPDX-License-Identifier: BSD-3-Clause
#include "engine/direct.hpp"

#include "mpi/message.hpp"
#include "mpi/tags.hpp"

#include <algorithm>

namespace valet::engine {

template <class Index>
Direct<Index>::Direct(const ExchangeContext& context, const plan::Flows<Index>& flows)
    : context_(context),
      flows_(flows),
      requests_(std::make_unique<mpi::Requests>(
          context.ledger, 1 + 2 * flows.incoming.size() + flows.outgoing.size(),
          context.channel.hooks())),
      credit_(std::make_unique<std::uint64_t>(0)) {}

template <class Index>
std::size_t Direct<Index>::scratch_bytes() const {
  const std::uint64_t blocks = std::max<std::uint64_t>(
      flows_.exports.size() + flows_.blocks_arriving, context_.blocks.least_scratch_blocks());
  return static_cast<std::size_t>(blocks) * context_.blocks.block_bytes;
}

template <class Index>
void Direct<Index>::gather_all(Transfer<Index>& transfer, std::byte* memory) {
  for (const plan::Outgoing<Index>& flow : flows_.outgoing)
    transfer.gather(transfer.exports(flow, 0, flow.count),
                    memory + flow.first * context_.blocks.block_bytes);
}

template <class Index>
void Direct<Index>::receive_all(std::byte* memory, Report& report) {
  const std::size_t sources = flows_.incoming.size();
  for (std::size_t s = 0; s < sources; ++s) {
    const plan::Incoming<Index>& flow = flows_.incoming[s];
    const std::uint64_t bytes = flow.count * context_.blocks.block_bytes;
    mpi::post_receive(context_.channel, memory, bytes, flow.rank, mpi::tag_data,
                      (*requests_)[1 + s]);
    mpi::post_send(context_.channel, credit_.get(), 0, flow.rank, mpi::tag_credit,
                   (*requests_)[1 + sources + s]);
    context_.observer().credits(&(*requests_)[1 + s], flow.rank, bytes);
    memory += bytes;
    ++report.credits;
  }
}

template <class Index>
void Direct<Index>::send_to(int rank, const std::byte* memory, Report& report) {
  const std::size_t d = flow_from(flows_.outgoing, rank);
  const plan::Outgoing<Index>& flow = flows_.outgoing[d];
  const std::size_t block_bytes = context_.blocks.block_bytes;
  MPI_Request& request = (*requests_)[1 + 2 * flows_.incoming.size() + d];
  mpi::post_send(context_.channel, memory + flow.first * block_bytes, flow.count * block_bytes,
                 rank, mpi::tag_data, request);
  context_.observer().sends(&request, rank, flow.count * block_bytes);
  context_.observer().moved(flow.count);
  ++report.messages;
}

template <class Index>
void Direct<Index>::note_in_use(std::uint64_t blocks) const {
  if (observe::Trace* const trace = context_.observer().trace)
    trace->counter("scratch in use", blocks * context_.blocks.block_bytes);
}

template <class Index>
void Direct<Index>::run(Transfer<Index>& transfer, std::span<std::byte> scratch, Report& report) {
  const std::size_t block_bytes = context_.blocks.block_bytes;
  std::byte* const leaving = scratch.data();
  std::byte* const arriving = leaving + flows_.exports.size() * block_bytes;
  receive_all(arriving, report);
  gather_all(transfer, leaving);
  note_in_use(flows_.exports.size() + flows_.blocks_arriving);
  std::size_t credits_to_come = flows_.outgoing.size();
  const auto listen = [&] {
    if (credits_to_come == 0) return;
    --credits_to_come;
    mpi::post_receive(context_.channel, credit_.get(), 0, MPI_ANY_SOURCE, mpi::tag_credit,
                      (*requests_)[0]);
  };
  listen();
  while (const auto completion = requests_->wait_any()) {
    const std::size_t place = completion->index;
    if (place > 0 && place <= flows_.incoming.size())
      context_.observer().moved(flows_.incoming[place - 1].count);
    if (place != 0) continue;
    send_to(completion->status.MPI_SOURCE, leaving, report);
    listen();
  }
  note_in_use(flows_.blocks_arriving);
  const std::byte* packed = arriving;
  for (const plan::Incoming<Index>& flow : flows_.incoming) {
    transfer.place(packed, flow.cursor, flow.count, Transfer<Index>::Misplace::if_needed);
    packed += flow.count * block_bytes;
  }
  note_in_use(0);
}

template <class Index>
void Direct<Index>::leak() noexcept {
  static_cast<void>(requests_.release());
  static_cast<void>(credit_.release());
}

template class Direct<std::uint32_t>;
template class Direct<std::uint64_t>;

}  // namespace valet::engine
