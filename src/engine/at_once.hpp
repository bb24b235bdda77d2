// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Everything at once, the usual protocol: post all receives, then send a message to each
/// neighbour.
///
/// Source: A. Pinar, B. Hendrickson, "Interprocessor Communication with Limited Memory", IEEE TPDS
/// 15(7), 2004, section 1. The right choice where all that leaves and all that arrives fits the
/// budget. Between the two the ranks meet, which is everybody's credit: no message is unexpected,
/// and MPI buffers no data. An agreement of all ranks that comes after the receives is a meeting
/// as well, and costs nothing more. A credit for each message would take up to twice the time where
/// little moves (schedule::most_bytes_at_once). Requests: two for each neighbour, and as many
/// more where the next ones may stand.
///
/// In executions of a bound plan nobody meets: each message says, too, that its sender has posted
/// the receive of the next execution, and a neighbour that gets no blocks gets an empty message.
/// Who has received those of all neighbours may send the next ones, so that no rank is ahead by
/// more than one execution, for which there is a second half of the memory that blocks arrive in.

#include "mpi/channel.hpp"
#include "mpi/message.hpp"
#include "mpi/tags.hpp"
#include "observe/observer.hpp"

#include <cstddef>

namespace valet::engine {

/// The messages of one exchange on one rank. Where a function throws, MPI may still touch the
/// memory of all messages.
class AtOnce {
 public:
  /// @throws std::bad_alloc. Local.
  AtOnce(const mpi::Channel& channel, Ledger& ledger, std::size_t receives, std::size_t sends)
      : channel_(channel),
        observer_(*observe::observer_of(channel)),
        receives_(receives),
        requests_(ledger, receives + sends, channel) {}

  /// To be called before another exchange with as many messages.
  void restart() { posted_ = sent_ = 0; }
  /// Posts the next receive. Local.
  void receive(int rank, std::byte* memory, std::size_t bytes) {
    MPI_Request& request = requests_[posted_++];
    mpi::post_receive(channel_, memory, bytes, rank, mpi::tag_data, request);
    observer_.receives(&request, rank, bytes);
  }
  /// Takes the receives back that are posted: no rank sends.
  void withdraw() {
    while (posted_ > 0) {
      MPI_Status status;
      requests_.withdraw(--posted_, status);
      observer_.completed(&requests_[posted_], MPI_Status{});  // nothing has arrived
    }
  }
  /// Waits until all ranks have posted their receives, where no agreement has told. Collective.
  void meet() {
    if (channel_.size() > 1) mpi::barrier(channel_);
  }
  /// Sends the next message, once all ranks have met.
  void send(int rank, const std::byte* memory, std::size_t bytes) {
    MPI_Request& request = requests_[receives_ + sent_++];
    mpi::post_send(channel_, memory, bytes, rank, mpi::tag_data, request);
    observer_.sends(&request, rank, bytes);
  }
  /// Lets messages go on without waiting. @return Whether all have arrived and left.
  bool progress() {
    while (requests_.test_any()) {
    }
    std::size_t k = 0;
    while (k < receives_ + sent_ && requests_.idle(k)) ++k;
    return k == receives_ + sent_;
  }
  /// Waits for the receive that was posted as number `k`.
  void wait_for(std::size_t k) {
    if (!requests_.idle(k)) requests_.wait(k);
  }
  /// Waits until all messages have arrived and left.
  void wait_for_all() {
    for (std::size_t k = 0; k < posted_; ++k) wait_for(k);
    wait_for_sends();
  }
  /// Waits until all messages have left.
  void wait_for_sends() {
    for (std::size_t k = 0; k < sent_; ++k) wait_for(receives_ + k);
  }
  [[nodiscard]] std::size_t messages() const { return sent_; }

 private:
  const mpi::Channel& channel_;
  const observe::Observer& observer_;
  std::size_t receives_;
  std::size_t posted_ = 0, sent_ = 0;
  mpi::Requests requests_;  ///< receives, then sends
};

}  // namespace valet::engine
