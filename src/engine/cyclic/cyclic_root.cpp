// SPDX-License-Identifier: BSD-3-Clause
#include "engine/cyclic/cyclic_root.hpp"

#include "mpi/message.hpp"
#include "mpi/tags.hpp"

namespace valet::engine {

CyclicRoot::CyclicRoot(const ExchangeContext& context, CreditTransport& transport,
                       std::size_t first_other)
    : context_(context),
      transport_(transport),
      first_other_(first_other),
      scheduler_(context.ledger, static_cast<std::size_t>(context.channel.size())),
      peers_(context.ledger, static_cast<std::size_t>(context.channel.size())),
      messages_(context.ledger, others - 1) {}

void CyclicRoot::start() {
  for (Peer& peer : peers_) peer = Peer{.window = action_window};
  to_join_ = peers_.size();
  to_come_ = peers_.size();
  actions_sent_ = 0;
  listen();
}

void CyclicRoot::listen() {
  if (to_come_ == 0 || !transport_.idle_other(first_other_)) return;
  mpi::post_receive(context_.channel, &note_, sizeof note_, MPI_ANY_SOURCE, mpi::tag_note,
                    transport_.other(first_other_));
}

void CyclicRoot::schedule_all(const std::function<void()>& wait) {
  wait_ = &wait;
  while (to_join_ > 0) wait();
  scheduler_.run(*this);
}

void CyclicRoot::completed(std::size_t other, int rank) {
  if (other != first_other_) return;  // an action has left
  const auto source = static_cast<std::uint32_t>(rank);
  Peer& peer = peers_[source];
  --to_come_;
  if (note_.kind == CyclicNote::Kind::done) {
    peer.window = static_cast<std::uint16_t>(peer.window + actions_per_note);
  } else {
    peer.blocks = note_.blocks;
    peer.destination = note_.destination;
  }
  if (note_.kind == CyclicNote::Kind::joins) {
    scheduler_.set(source, note_.known);
    --to_join_;
    if (note_.known.edges > 0) to_come_ += note_.known.edges - 1;
  }
  listen();
}

schedule::Edge CyclicRoot::next_edge(std::uint32_t rank) {
  Peer& peer = peers_[rank];
  while (peer.blocks == 0) (*wait_)();
  const schedule::Edge edge{peer.destination, peer.blocks};
  peer.blocks = 0;
  return edge;
}

std::size_t CyclicRoot::idle_message() const {
  std::size_t k = 0;
  while (k < messages_.size() && !transport_.idle_other(first_other_ + 1 + k)) ++k;
  return k;
}

void CyclicRoot::schedule(std::uint32_t rank, const schedule::Action& action) {
  Peer& peer = peers_[rank];
  while (peer.window == 0 || idle_message() == messages_.size()) (*wait_)();
  const std::size_t k = idle_message();
  messages_[k] = action;
  mpi::post_send(context_.channel, &messages_[k], sizeof messages_[k], static_cast<int>(rank),
                 mpi::tag_action, transport_.other(first_other_ + 1 + k));
  ++actions_sent_;
  --peer.window;
  if (++peer.scheduled < actions_per_note) return;
  peer.scheduled = 0;
  ++to_come_;
  listen();
}

}  // namespace valet::engine
