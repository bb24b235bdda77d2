// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/sparse_exchange.hpp"

#include "base/memory_reserve.hpp"
#include "mpi/check.hpp"
#include "mpi/message.hpp"
#include "mpi/tags.hpp"

#include <algorithm>
#include <array>
#include <new>

namespace valet::mpi {
namespace {

using Words = std::array<std::uint64_t, 2>;

constexpr std::size_t window = sparse_counts_at_once;
constexpr std::size_t barrier_request = window;
constexpr std::size_t first_send = barrier_request + 1;

/// One run of the protocol: sends acknowledged, then a barrier, then no message can be under way.
class NbxExchange {
 public:
  NbxExchange(const Channel& channel, Ledger& ledger, std::span<const SparseCount> outgoing,
              Vector<SparseCount>& received)
      : channel_(channel),
        outgoing_(outgoing),
        received_(received),
        requests_(ledger, first_send + window, channel),
        incoming_(ledger, window),
        words_(ledger, window) {}

  void run() {
    try {
      exchange();
    } catch (const Error&) {
      incoming_.leak();  // MPI may still touch both
      words_.leak();
      throw;
    }
    if (lacks_memory_) throw std::bad_alloc();
  }

 private:
  void exchange() {
    for (std::size_t request = 0; request < window; ++request) post_receive(request);
    for (std::size_t request = 0; request < window; ++request) send_next(request);
    enter_barrier_when_acknowledged();
    while (const auto completion = requests_.wait_any())
      if (completed(*completion)) break;
    for (std::size_t request = 0; request < window; ++request) {
      MPI_Status status{};
      if (!requests_.withdraw(request, status)) keep_received(request, status);
    }
  }

  void keep_received(std::size_t request, const MPI_Status& status) {
    try {
      const detail::LeaveReserve leave;
      if (!lacks_memory_)
        received_.push_back({status.MPI_SOURCE, incoming_[request][0], incoming_[request][1]});
    } catch (const std::bad_alloc&) {
      lacks_memory_ = true;
    }
  }

  void post_receive(std::size_t request) {
    check(MPI_Irecv(incoming_[request].data(), 2, MPI_UINT64_T, MPI_ANY_SOURCE, tag_sparse_count,
                    channel_.get(), &requests_[request]),
          "MPI_Irecv");
  }

  void send_next(std::size_t request) {
    if (next_ == outgoing_.size()) return;
    const SparseCount& count = outgoing_[next_++];
    words_[request] = {count.count, count.detail};
    check(MPI_Issend(words_[request].data(), 2, MPI_UINT64_T, count.rank, tag_sparse_count,
                     channel_.get(), &requests_[first_send + request]),
          "MPI_Issend", count.rank);
  }

  void enter_barrier_when_acknowledged() {
    if (acknowledged_ == outgoing_.size()) post_barrier(channel_, requests_[barrier_request]);
  }

  /// True when the messages of all ranks have arrived.
  bool completed(const Completion& completion) {
    if (completion.index == barrier_request) return true;
    if (completion.index < window) {
      keep_received(completion.index, completion.status);
      post_receive(completion.index);
      return false;
    }
    ++acknowledged_;
    send_next(completion.index - first_send);
    enter_barrier_when_acknowledged();
    return false;
  }

  const Channel& channel_;
  std::span<const SparseCount> outgoing_;
  Vector<SparseCount>& received_;
  Requests requests_;
  Array<Words> incoming_, words_;
  std::size_t next_ = 0;
  std::size_t acknowledged_ = 0;
  bool lacks_memory_ = false;  ///< for what arrives; the others still wait for an answer
};

}  // namespace

void exchange_sparse_counts(const Channel& channel, Ledger& ledger,
                            std::span<const SparseCount> outgoing, Vector<SparseCount>& received) {
  NbxExchange(channel, ledger, outgoing, received).run();
  std::ranges::sort(received, {}, &SparseCount::rank);
}

std::size_t sparse_exchange_bytes() {
  return (first_send + window) * sizeof(MPI_Request) + 2 * window * sizeof(Words);
}

}  // namespace valet::mpi
