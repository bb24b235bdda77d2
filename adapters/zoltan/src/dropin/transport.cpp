// SPDX-License-Identifier: BSD-3-Clause
#include "transport.hpp"

#include "mpi/check.hpp"
#include "mpi/message.hpp"
#include "observe/observer.hpp"

#include <algorithm>

namespace valet::zoltan {
namespace {

constexpr int tag_word = 11;
constexpr int tag_credit = 12;
constexpr int tag_packed = 13;

}  // namespace

Transport::Transport(const mpi::Channel& channel, Ledger& ledger,
                     std::span<const Peer> destinations, std::span<const Peer> sources)
    : channel_(channel),
      destinations_(destinations),
      sources_(sources),
      requests_(ledger, 1 + sources.size() * (window + 1) + destinations.size() + send_places,
                channel.hooks()),
      posted_(sources.size() * window, LedgerAllocator<std::uint64_t>(ledger)),
      from_(sources.size(), LedgerAllocator<Source>(ledger)),
      to_(destinations.size(), LedgerAllocator<Destination>(ledger)),
      waiting_(LedgerAllocator<Waiting>(ledger)),
      batch_(LedgerAllocator<OutgoingMessage>(ledger)) {
  waiting_.reserve(2 * destinations.size());
  batch_.reserve(destinations.size());
}

void Transport::begin(Incoming& incoming, std::span<const std::uint64_t> to_sources,
                      std::span<std::uint64_t> from_destinations) {
  incoming_ = &incoming;
  words_expected_ = 0;
  exhausted_ = true;
  for (std::size_t d = 0; d < destinations_.size(); ++d) {
    to_[d] = {};
    if (from_destinations[d] == no_word) continue;
    to_[d].credits = window;
    mpi::post_receive(channel_, &from_destinations[d], sizeof(std::uint64_t), destinations_[d].rank,
                      tag_word, requests_[word_receive_place(d)]);
    ++words_expected_;
  }
  for (std::size_t s = 0; s < sources_.size(); ++s) {
    from_[s] = {};
    if (to_sources[s] == no_word) continue;
    for (std::uint64_t w = 0; w < window; ++w)
      if (!post_next(s, receive_place(s, w))) break;
    from_[s].word = to_sources[s];
    mpi::post_send(channel_, &from_[s].word, sizeof(std::uint64_t), sources_[s].rank, tag_word,
                   requests_[word_send_place(s)]);
  }
  while (words_expected_ > 0)
    if (const auto completion = requests_.wait_any()) handle(*completion);
}

void Transport::run(Outgoing& outgoing) {
  credits_expected_ = 0;
  for (std::size_t d = 0; d < destinations_.size(); ++d) {
    const std::uint64_t messages = outgoing.messages_to(d);
    if (messages > window) credits_expected_ += messages - window;
  }
  if (credits_expected_ > 0) receive_credits();
  unsent_ = {0, 0};
  exhausted_ = false;
  fill_buffers(outgoing);
  while (const auto completion = requests_.wait_any()) {
    handle(*completion);
    fill_buffers(outgoing);
  }
}

void Transport::fill_buffers(Outgoing& outgoing) {
  for (std::size_t buffer = 0; buffer < outgoing.buffers() && !exhausted_; ++buffer) {
    while (unsent_[buffer] == 0 && !exhausted_) {
      batch_.clear();
      exhausted_ = !outgoing.fill(buffer, batch_);
      unsent_[buffer] = batch_.size();
      for (const OutgoingMessage& message : batch_) waiting_.push_back({buffer, message});
      send_what_may_go();
    }
  }
}

/// In the order of the batches to each destination, as far as credits and places go.
void Transport::send_what_may_go() {
  for (const Waiting& one : waiting_) to_[one.message.peer].blocked = false;
  std::size_t place = 0;
  auto kept = waiting_.begin();
  for (const Waiting& one : waiting_) {
    Destination& destination = to_[one.message.peer];
    while (place < send_places && !requests_.idle(first_send_place() + place)) ++place;
    if (place == send_places || destination.credits == 0 || destination.blocked) {
      destination.blocked = true;
      *kept++ = one;
      continue;
    }
    mpi::post_send(channel_, one.message.data, one.message.bytes,
                   destinations_[one.message.peer].rank, tag_packed,
                   requests_[first_send_place() + place]);
    if (const observe::Observer* const observer = observe::observer_of(channel_))
      observer->sends(&requests_[first_send_place() + place], destinations_[one.message.peer].rank,
                      one.message.bytes);
    buffer_of_[place] = one.buffer;
    --destination.credits;
    ++messages_;
  }
  waiting_.erase(kept, waiting_.end());
}

bool Transport::post_next(std::size_t source, std::size_t place) {
  MemoryPiece piece;
  if (!incoming_->next(source, piece)) return false;
  posted_[place - 1] = piece.bytes;
  mpi::post_receive(channel_, piece.data, piece.bytes, sources_[source].rank, tag_packed,
                    requests_[place]);
  if (const observe::Observer* const observer = observe::observer_of(channel_))
    observer->receives(&requests_[place], sources_[source].rank, piece.bytes);
  return true;
}

void Transport::send_credits(std::size_t source) {
  Source& from = from_[source];
  if (from.owed == 0 || !requests_.idle(word_send_place(source))) return;
  from.word = from.owed;
  from.owed = 0;
  mpi::post_send(channel_, &from.word, sizeof(std::uint64_t), sources_[source].rank, tag_credit,
                 requests_[word_send_place(source)]);
}

void Transport::receive_credits() {
  mpi::post_receive(channel_, &credit_word_, sizeof credit_word_, MPI_ANY_SOURCE, tag_credit,
                    requests_[credit_place]);
}

void Transport::handle_credits(const MPI_Status& status) {
  const auto at = std::lower_bound(destinations_.begin(), destinations_.end(), status.MPI_SOURCE,
                                   [](const Peer& peer, int rank) { return peer.rank < rank; });
  to_[static_cast<std::size_t>(at - destinations_.begin())].credits += credit_word_;
  credits_expected_ -= credit_word_;
  if (credits_expected_ > 0) receive_credits();
  send_what_may_go();
}

void Transport::handle(const mpi::Completion& completion) {
  const std::size_t place = completion.index;
  if (place == credit_place) {
    handle_credits(completion.status);
  } else if (place < word_send_place(0)) {
    const std::size_t source = (place - 1) / window;
    incoming_->arrived(posted_[place - 1]);
    if (post_next(source, place)) ++from_[source].owed;
    send_credits(source);
  } else if (place < word_receive_place(0)) {
    send_credits(place - word_send_place(0));
  } else if (place < first_send_place()) {
    --words_expected_;
  } else {
    --unsent_[buffer_of_[place - first_send_place()]];
    send_what_may_go();
  }
}

}  // namespace valet::zoltan
