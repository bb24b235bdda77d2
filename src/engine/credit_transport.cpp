// SPDX-License-Identifier: BSD-3-Clause
#include "engine/credit_transport.hpp"

#include "mpi/wait_limit.hpp"
#include <valet/error.hpp>

namespace valet::engine {

CreditTransport::CreditTransport(const mpi::Channel& channel, Ledger& ledger,
                                 const storage::NodeMemory& node, const RequestCounts& counts)
    : channel_(channel),
      node_(node),
      observer_(observe::observer_of(channel)),
      counts_(counts),
      requests_(ledger, first_other() + counts.others, channel),
      given_(ledger, counts.receives) {}

bool CreditTransport::can_receive(std::size_t index) const {
  return requests_.idle(first_receive() + index) && requests_.idle(first_credit() + index);
}

void CreditTransport::give(std::size_t index, int source, std::byte* memory, std::uint64_t bytes,
                           Credit credit) {
  const bool is_written = node_.is_written_by(source) && node_.contains(memory);
  if (is_written) {
    credit.offset_bytes = static_cast<std::uint64_t>(memory - node_.own().data());
    credit.past_cache = node_.handover().choose(memory, bytes) ? 1 : 0;
  }
  MPI_Request& request = requests_[first_receive() + index];
  mpi::post_receive(channel_, memory, is_written ? 0 : bytes, source, mpi::tag_data, request);
  given_[index] = credit;
  mpi::post_send(channel_, &given_[index], sizeof(Credit), source, credit_tag_,
                 requests_[first_credit() + index]);
  if (observer_ != nullptr) observer_->credits(&request, source, bytes);
  ++credits_;
}

void CreditTransport::listen() {
  if (!requests_.idle(0)) return;
  mpi::post_receive(channel_, &incoming_, sizeof incoming_, MPI_ANY_SOURCE, credit_tag_,
                    requests_[0]);
}

bool CreditTransport::can_send(std::size_t index) const {
  return requests_.idle(first_send() + index);
}

void CreditTransport::note_sent(std::size_t request, int destination, std::uint64_t bytes) {
  if (observer_ != nullptr) observer_->sends(&requests_[request], destination, bytes);
  ++messages_;
}

void CreditTransport::send(std::size_t index, int destination, const std::byte* memory,
                           std::uint64_t bytes) {
  const std::size_t request = first_send() + index;
  mpi::post_send(channel_, memory, bytes, destination, mpi::tag_data, requests_[request]);
  note_sent(request, destination, bytes);
}

void CreditTransport::send(std::size_t index, int destination, mpi::PieceList& pieces,
                           std::uint64_t bytes) {
  const std::size_t request = first_send() + index;
  mpi::post_send_pieces(channel_, pieces, destination, mpi::tag_data, requests_[request]);
  note_sent(request, destination, bytes);
}

std::size_t CreditTransport::idle_signal() const {
  std::size_t request = first_signal();
  while (request < first_other() && !requests_.idle(request)) ++request;
  return request;
}

void CreditTransport::post_signal(std::size_t request, int destination, std::uint64_t bytes) {
  mpi::post_send(channel_, nullptr, 0, destination, mpi::tag_data, requests_[request]);
  note_sent(request, destination, bytes);
}

Event CreditTransport::event_of(const mpi::Completion& completion) const {
  using Kind = Event::Kind;
  const std::size_t index = completion.index;
  const int rank = completion.status.MPI_SOURCE;
  if (index == 0) return {Kind::credit, 0, rank, incoming_};
  if (index < first_credit()) return {Kind::received, index - first_receive(), rank, {}};
  if (index < first_send()) return {Kind::credited, index - first_credit(), mpi::no_peer, {}};
  if (index < first_signal()) return {Kind::sent, index - first_send(), mpi::no_peer, {}};
  if (index < first_other()) return {Kind::signalled, index - first_signal(), mpi::no_peer, {}};
  return {Kind::other, index - first_other(), rank, {}};
}

std::optional<Event> CreditTransport::poll() {
  const auto completion = requests_.test_any();
  return completion ? std::optional(event_of(*completion)) : std::nullopt;
}

void CreditTransport::advance(Participant& participant) const {
  participant.advance();
  note_in_use(participant);
}

void CreditTransport::note_in_use(const Participant& participant) const {
  if (observer_ != nullptr && observer_->trace != nullptr)
    observer_->trace->counter("scratch in use", participant.bytes_in_use());
}

/// Takes note of all that has completed before it goes on, so that a peer that credits fast does
/// not keep this rank from receiving: it would send everything before it receives, and its peer
/// would have to misplace what arrives.
bool CreditTransport::step(Participant& participant, bool waits) {
  std::optional<Event> event;
  bool worked = false;
  while (!event && participant.work()) {
    worked = true;
    note_in_use(participant);
    event = poll();
  }
  if (event) {
    // It comes before the work that is left.
  } else if (worked && participant.done()) {
    return true;
  } else if (participant.watches_memory()) {
    const mpi::WaitLimit limit(waits ? channel_.wait_limit() : 0);
    while (!(event = poll()) && !participant.memory_has_changed(waits)) {
      if (!waits) return worked;
      limit.check();
    }
  } else if (participant.is_full()) {
    while (!event && participant.looks_again()) {
      event = poll();
      if (!event && !waits) return worked;
    }
    if (!event) participant.force();
  } else if (!waits) {
    if (!(event = poll())) return worked;
  } else {
    const auto completion = requests_.wait_any();
    if (!completion)
      throw Error(ErrorCode::internal, "data is left and there is nothing to wait for");
    event = event_of(*completion);
  }
  for (; event; event = poll()) participant.handle(*event);
  advance(participant);
  return true;
}

void CreditTransport::begin(Participant& participant) {
  credit_tag_ = credit_tag_ == mpi::tag_credit ? mpi::tag_credit_of_next : mpi::tag_credit;
  advance(participant);
}

bool CreditTransport::progress(Participant& participant) {
  while (!participant.done())
    if (!step(participant, false)) return false;
  return true;
}

void CreditTransport::run(Participant& participant) {
  advance(participant);
  while (!participant.done()) step(participant, true);
  while (requests_.wait_any()) {
    // Only credits and signals are left: they were received, or their data would not have come.
  }
}

}  // namespace valet::engine
