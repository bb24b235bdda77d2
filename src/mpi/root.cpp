// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/root.hpp"

#include "mpi/agreement.hpp"
#include "mpi/check.hpp"
#include "mpi/message.hpp"
#include "mpi/tags.hpp"
#include "mpi/wait_limit.hpp"

#include <algorithm>
#include <array>
#include <memory>

namespace valet::mpi {
namespace {

/// Where each list begins.
Array<int> begins_of(std::span<const int> counts, Ledger& ledger) {
  Array<int> begins(ledger, counts.size());
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    begins[i] = checked_count(sum);
    sum += static_cast<std::uint64_t>(counts[i]);
  }
  return begins;
}

/// What the root does until all texts have ended.
void take_texts(const Channel& channel, std::uint64_t texts, std::span<char> buffer,
                const TakeText& take) {
  const std::size_t chunk_bytes = buffer.size() / 2;
  std::array<MPI_Request, 2> requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  const auto memory_of = [&](std::size_t k) {
    return buffer.subspan(k * chunk_bytes, chunk_bytes);
  };
  const auto post = [&](std::size_t k) {
    post_receive(channel, memory_of(k).data(), chunk_bytes, MPI_ANY_SOURCE, tag_trace, requests[k]);
  };
  // A text ends with a message of its own, so that so many more will come at least. No receive is
  // posted for one that may not come.
  for (std::size_t k = 0; k < std::min<std::uint64_t>(requests.size(), texts); ++k) post(k);
  // In the order of posting, which is that of the chunks of a rank.
  for (std::size_t k = 0; texts > 0; k = 1 - k) {
    if (requests[k] == MPI_REQUEST_NULL) post(k);
    MPI_Status status{};
    int count = 0;
    wait_for(requests[k], &status, channel.wait_limit());
    check(MPI_Get_count(&status, MPI_CHAR, &count), "MPI_Get_count");
    if (count > 0)
      take(memory_of(k).first(static_cast<std::size_t>(count)));
    else
      --texts;
    if (texts >= requests.size()) post(k);
  }
}

/// With a limit, in memory of its own: it is leaked where MPI may still write to it.
void take_all_texts(const Channel& channel, std::uint64_t texts, std::span<char> buffer,
                    const TakeText& take) {
  if (channel.wait_limit() == 0) return take_texts(channel, texts, buffer, take);
  auto own = std::make_unique<char[]>(buffer.size());
  try {
    take_texts(channel, texts, {own.get(), buffer.size()}, take);
  } catch (...) {
    static_cast<void>(own.release());
    throw;
  }
}

}  // namespace

void gather_words(const Channel& channel, std::span<const std::uint64_t> words,
                  std::span<std::uint64_t> all) {
  const int count = checked_count(words.size());
  const Waiting waiting(channel.hooks());
  call_blocking(
      channel, "MPI_Gather", MPI_Gather, MPI_Igather,
      {std::as_bytes(words), std::as_writable_bytes(all), {}},
      [&](auto* call, const CallMemory& memory, auto... request) {
        return call(memory.sent.data(), count, MPI_UINT64_T, memory.received.data(), count,
                    MPI_UINT64_T, root, channel.get(), request...);
      },
      root);
}

void gather_lists(const Channel& channel, std::span<const std::uint64_t> words,
                  std::span<const int> counts, std::span<std::uint64_t> all, Ledger& ledger) {
  const Array<int> begins = begins_of(counts, ledger);
  const Waiting waiting(channel.hooks());
  call_blocking(
      channel, "MPI_Gatherv", MPI_Gatherv, MPI_Igatherv,
      {std::as_bytes(words), std::as_writable_bytes(all), counts, begins},
      [&](auto* call, const CallMemory& memory, auto... request) {
        return call(memory.sent.data(), checked_count(words.size()), MPI_UINT64_T,
                    memory.received.data(), memory.counts.data(), memory.begins.data(),
                    MPI_UINT64_T, root, channel.get(), request...);
      },
      root);
}

void gather_lists(const Channel& channel, std::span<const std::uint64_t> words,
                  std::span<int> counts, Vector<std::uint64_t>& all, Ledger& ledger) {
  std::uint64_t sum = 0;
  {
    const std::array<std::uint64_t, 1> length{words.size()};
    Array<std::uint64_t> lengths(ledger, counts.size());
    gather_words(channel, length, lengths);
    for (std::size_t rank = 0; rank < counts.size(); ++rank) {
      counts[rank] = checked_count(lengths[rank]);
      sum += lengths[rank];
    }
  }
  all.resize(static_cast<std::size_t>(sum));
  gather_lists(channel, words, std::span<const int>(counts), std::span<std::uint64_t>(all), ledger);
}

void scatter_lists(const Channel& channel, std::span<const std::uint64_t> all,
                   std::span<const int> counts, Vector<std::uint64_t>& own, Ledger& ledger) {
  int count = 0;
  const Waiting waiting(channel.hooks());
  call_blocking(
      channel, "MPI_Scatter", MPI_Scatter, MPI_Iscatter,
      {std::as_bytes(counts), std::as_writable_bytes(std::span(&count, 1)), {}},
      [&](auto* call, const CallMemory& memory, auto... request) {
        return call(memory.sent.data(), 1, MPI_INT, memory.received.data(), 1, MPI_INT, root,
                    channel.get(), request...);
      },
      root);
  const Array<int> begins = begins_of(counts, ledger);
  own.resize(static_cast<std::size_t>(count));
  call_blocking(
      channel, "MPI_Scatterv", MPI_Scatterv, MPI_Iscatterv,
      {std::as_bytes(all), std::as_writable_bytes(std::span(own)), counts, begins},
      [&](auto* call, const CallMemory& memory, auto... request) {
        return call(memory.sent.data(), memory.counts.data(), memory.begins.data(), MPI_UINT64_T,
                    memory.received.data(), count, MPI_UINT64_T, root, channel.get(), request...);
      },
      root);
}

void broadcast_words(const Channel& channel, std::span<std::uint64_t> words) {
  const Waiting waiting(channel.hooks());
  call_blocking(
      channel, "MPI_Bcast", MPI_Bcast, MPI_Ibcast, {{}, std::as_writable_bytes(words), {}},
      [&](auto* call, const CallMemory& memory, auto... request) {
        return call(memory.received.data(), checked_count(words.size()), MPI_UINT64_T, root,
                    channel.get(), request...);
      },
      root);
}

void send_texts_to_root(const Channel& channel, std::uint64_t texts, std::span<char> buffer,
                        const std::function<void(const TakeText&)>& produce, const TakeText& take) {
  if (channel.rank() == root) return take_all_texts(channel, texts, buffer, take);
  if (!produce) return;
  const auto send = [&](std::span<const char> chunk) {
    call_blocking(
        channel, "MPI_Ssend", MPI_Ssend, MPI_Issend, {std::as_bytes(chunk), {}, {}},
        [&](auto* call, const CallMemory& memory, auto... request) {
          return call(memory.sent.data(), checked_count(chunk.size()), MPI_CHAR, root, tag_trace,
                      channel.get(), request...);
        },
        root);
  };
  produce(send);
  send({});
}

double clock_ahead_of_root(const Channel& channel) {
  // A rank that the system wakes up late is wrong in some of them, not in most.
  const Channel unwatched = channel.again();
  std::array<double, 5> mine{};
  for (double& seconds : mine) {
    barrier(unwatched);
    seconds = now();
  }
  std::array<double, 5> theirs = mine;
  broadcast(unwatched, std::as_writable_bytes(std::span(theirs)), root);
  for (std::size_t k = 0; k < mine.size(); ++k) mine[k] -= theirs[k];
  std::ranges::sort(mine);
  return mine[mine.size() / 2];
}

}  // namespace valet::mpi
