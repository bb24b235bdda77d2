// SPDX-License-Identifier: BSD-3-Clause
#include "engine/cyclic/cyclic_follower.hpp"

#include "mpi/message.hpp"
#include "mpi/tags.hpp"

#include <algorithm>

namespace valet::engine {
namespace {

// Places, from the first one on: those of the sender and of the receiver follow.
constexpr std::size_t place_action = 0;
constexpr std::size_t place_edge = 1;
constexpr std::size_t place_done = 2;
constexpr std::size_t own_places = 3;

template <class Index>
std::size_t first_edge(const ExchangeContext& context, const plan::Flows<Index>& flows) {
  if (context.options.cyclic.edge_order == EdgeOrder::ascending) return 0;
  return flow_from(flows.outgoing, context.channel.rank() + 1);
}

}  // namespace

template <class Index>
CyclicFollower<Index>::CyclicFollower(const ExchangeContext& context,
                                      const plan::Flows<Index>& flows,
                                      const schedule::StreamSizes& sizes, mpi::Requests& requests,
                                      std::size_t first_place)
    : context_(context),
      flows_(flows),
      sizes_(sizes),
      requests_(requests),
      first_place_(first_place),
      first_edge_(first_edge(context, flows)),
      sender_(context, flows, sizes, requests, first_place + own_places),
      receiver_(context, flows, sizes, requests,
                first_place + own_places + CyclicSender<Index>::places_needed(sizes)),
      actions_(context.ledger, action_window) {}

template <class Index>
std::size_t CyclicFollower<Index>::places_needed(const schedule::StreamSizes& sizes) {
  return own_places + CyclicSender<Index>::places_needed(sizes) +
         CyclicReceiver<Index>::places_needed(sizes);
}

/// The k-th in the order of the options (schedule::edge_place).
template <class Index>
const plan::Outgoing<Index>& CyclicFollower<Index>::edge(std::size_t k) const {
  return flows_.outgoing[(first_edge_ + k) % flows_.outgoing.size()];
}

template <class Index>
void CyclicFollower<Index>::start(const Transfer<Index>& transfer, std::byte* buffers,
                                  Report& report) {
  receiver_.start(buffers);
  sender_.start(buffers +
                sizes_.receive_blocks * sizes_.receive_buffers * context_.blocks.block_bytes);
  next_ = waiting_ = 0;
  busy_ = false;
  unscheduled_ = flows_.exports.size() + flows_.blocks_arriving;
  carried_out_ = 0;
  edge_ = 0;
  owes_edge_ = false;
  CyclicNote note{.kind = CyclicNote::Kind::joins};
  note.edges = static_cast<std::uint32_t>(flows_.outgoing.size());
  note.most_increment =
      static_cast<std::uint32_t>(std::min(sizes_.send_blocks, sizes_.receive_blocks));
  note.free = transfer.free().count() + sizes_.receive_blocks * sizes_.receive_buffers;
  if (note.edges > 0) {
    edge_left_ = edge(0).count;
    note.destination = static_cast<std::uint32_t>(edge(0).rank);
    note.blocks = edge_left_;
  }
  post_note(place_edge, note, report);
  listen();
}

template <class Index>
void CyclicFollower<Index>::post_note(std::size_t place, const CyclicNote& note, Report& report) {
  CyclicNote& message = notes_[place - place_edge];
  message = note;
  mpi::post_send(context_.channel, &message, sizeof message, cyclic_root, mpi::tag_note,
                 requests_[first_place_ + place]);
  ++report.credits;
}

/// Waits for the next action while there is one to come. The root knows how many fit here.
template <class Index>
void CyclicFollower<Index>::listen() {
  if (unscheduled_ == 0 || waiting_ == action_window ||
      !requests_.idle(first_place_ + place_action))
    return;
  mpi::post_receive(context_.channel, &incoming_, sizeof incoming_, cyclic_root, mpi::tag_action,
                    requests_[first_place_ + place_action]);
}

template <class Index>
void CyclicFollower<Index>::take_action(Report& report) {
  actions_[(next_ + waiting_) % action_window] = incoming_;
  ++waiting_;
  if (observe::Trace* const trace = context_.observer().trace)
    trace->instant(observe::TraceKind::mark, "action", {.number = incoming_.step});
  report.steps = std::max<std::uint64_t>(report.steps, incoming_.step + std::uint64_t{1});
  if (incoming_.source != schedule::no_rank) unscheduled_ -= incoming_.blocks;
  if (incoming_.destination == schedule::no_rank) return;
  unscheduled_ -= incoming_.blocks;
  edge_left_ -= incoming_.blocks;
  if (edge_left_ > 0 || edge_ + 1 == flows_.outgoing.size()) return;
  edge_left_ = edge(++edge_).count;
  owes_edge_ = true;
}

template <class Index>
void CyclicFollower<Index>::tell(Report& report) {
  if (owes_edge_ && requests_.idle(first_place_ + place_edge)) {
    owes_edge_ = false;
    post_note(place_edge,
              {.kind = CyclicNote::Kind::edge,
               .destination = static_cast<std::uint32_t>(edge(edge_).rank),
               .blocks = edge_left_},
              report);
  }
  if (carried_out_ >= actions_per_note && requests_.idle(first_place_ + place_done)) {
    carried_out_ -= actions_per_note;
    post_note(place_done, {.kind = CyclicNote::Kind::done}, report);
  }
}

template <class Index>
void CyclicFollower<Index>::begin_action() {
  if (busy_ || waiting_ == 0) return;
  const schedule::Action& action = actions_[next_];
  busy_ = true;
  if (action.source != schedule::no_rank)
    receiver_.begin(action.source, action.blocks, action.increment);
  if (action.destination != schedule::no_rank)
    sender_.begin(action.destination, action.blocks, action.increment);
}

template <class Index>
bool CyclicFollower<Index>::end_action() {
  if (!busy_ || !sender_.done() || !receiver_.done()) return false;
  busy_ = false;
  next_ = (next_ + 1) % action_window;
  --waiting_;
  ++carried_out_;
  return true;
}

template <class Index>
void CyclicFollower<Index>::advance(Transfer<Index>& transfer, Report& report) {
  do {
    begin_action();
    // What is packed leaves its slots, where arrivals then land at once.
    sender_.advance(transfer, report);
    receiver_.advance(transfer, report);
  } while (end_action());
  tell(report);
  listen();
  if (observe::Trace* const trace = context_.observer().trace)
    trace->counter("scratch in use", sender_.bytes_in_use() + receiver_.bytes_in_use());
}

template <class Index>
void CyclicFollower<Index>::completed(Transfer<Index>& transfer, std::size_t place,
                                      Report& report) {
  const std::size_t own = place - first_place_;
  const std::size_t receiving = own_places + CyclicSender<Index>::places_needed(sizes_);
  if (own == place_action)
    take_action(report);
  else if (own >= receiving)
    receiver_.completed(transfer, place);
  else if (own >= own_places)
    sender_.completed(transfer, place);
}

template class CyclicFollower<std::uint32_t>;
template class CyclicFollower<std::uint64_t>;

}  // namespace valet::engine
