// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "mpi/channel.hpp"
#include "mpi/message.hpp"
#include "mpi/requests.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace valet::mpi {

/// Sends and receives lists of 64-bit words between ranks that both know the length of each list.
///
/// Sends go to the ranks behind this one in ring order, receives come from the ranks before it. So
/// of all lists that are not done, the one over the smallest distance is first in line on both of
/// its ranks, and with a few messages outstanding in either direction nothing can get stuck.
///
/// Outgoing and Incoming have: size(), rank(i) ascending in i, count(i) > 0. Outgoing also
/// provide(i, first, words): fill `words` with the list from `first` on; Incoming also
/// consume(i, first, words).
template <class Outgoing, class Incoming>
class NeighbourWords {
 public:
  static constexpr std::size_t window = 4;  ///< messages in either direction

  /// Messages of at most `entries` words; allocates 8*window messages in `ledger`.
  NeighbourWords(const Channel& channel, Ledger& ledger, int tag, std::size_t entries,
                 Outgoing outgoing, Incoming incoming)
      : channel_(channel),
        tag_(tag),
        entries_(entries),
        outgoing_(outgoing),
        incoming_(incoming),
        buffers_(ledger, 2 * window * entries),
        requests_(ledger, 2 * window, channel.hooks()) {}

  /// Blocking; nothing is pending on return. May be called again, and does not allocate.
  void run() {
    sending_ = {first_above(outgoing_), outgoing_.size(), 0};
    receiving_ = {first_above(incoming_) + incoming_.size(), incoming_.size(), 0};
    if (incoming_.size() > 0) receiving_.list = (receiving_.list - 1) % incoming_.size();
    for (std::size_t slot = 0; slot < window; ++slot) {
      receive_next(slot);
      send_next(window + slot);
    }
    while (const auto completion = requests_.wait_any()) {
      const std::size_t slot = completion->index;
      if (slot < window) {
        const Pending& pending = pending_[slot];
        incoming_.consume(pending.list, pending.first, buffer(slot).first(pending.size));
        receive_next(slot);
      } else {
        send_next(slot);
      }
    }
  }

 private:
  struct Walk {
    std::size_t list = 0;
    std::size_t lists_left = 0;
    std::uint64_t done = 0;  ///< words of the list
  };
  struct Pending {
    std::size_t list = 0;
    std::uint64_t first = 0;
    std::size_t size = 0;
  };

  template <class Lists>
  std::size_t first_above(const Lists& lists) const {
    std::size_t i = 0;
    while (i < lists.size() && lists.rank(i) < channel_.rank()) ++i;
    return i;
  }

  std::span<std::uint64_t> buffer(std::size_t slot) {
    return {buffers_.data() + slot * entries_, entries_};
  }

  void receive_next(std::size_t slot) {
    if (receiving_.lists_left == 0) return;
    const std::size_t list = receiving_.list;
    const std::uint64_t count = incoming_.count(list);
    const std::size_t size = std::min<std::uint64_t>(entries_, count - receiving_.done);
    pending_[slot] = {list, receiving_.done, size};
    post_receive(channel_, buffer(slot).data(), size * sizeof(std::uint64_t), incoming_.rank(list),
                 tag_, requests_[slot]);
    receiving_.done += size;
    if (receiving_.done == count)
      receiving_ = {(list + incoming_.size() - 1) % incoming_.size(), receiving_.lists_left - 1, 0};
  }

  void send_next(std::size_t slot) {
    if (sending_.lists_left == 0) return;
    const std::size_t list = sending_.list % outgoing_.size();
    const std::uint64_t count = outgoing_.count(list);
    const std::size_t size = std::min<std::uint64_t>(entries_, count - sending_.done);
    outgoing_.provide(list, sending_.done, buffer(slot).first(size));
    post_send(channel_, buffer(slot).data(), size * sizeof(std::uint64_t), outgoing_.rank(list),
              tag_, requests_[slot]);
    sending_.done += size;
    if (sending_.done == count) sending_ = {list + 1, sending_.lists_left - 1, 0};
  }

  const Channel& channel_;
  int tag_;
  std::size_t entries_;
  Outgoing outgoing_;
  Incoming incoming_;
  Array<std::uint64_t> buffers_;
  Requests requests_;
  std::array<Pending, window> pending_{};
  Walk sending_, receiving_;
};

}  // namespace valet::mpi
