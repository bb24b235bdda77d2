// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/root.hpp"

#include "mpi/check.hpp"
#include "mpi/message.hpp"
#include "mpi/tags.hpp"

#include <algorithm>
#include <array>

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
    check(MPI_Wait(&requests[k], &status), "MPI_Wait");
    check(MPI_Get_count(&status, MPI_CHAR, &count), "MPI_Get_count");
    if (count > 0)
      take(memory_of(k).first(static_cast<std::size_t>(count)));
    else
      --texts;
    if (texts >= requests.size()) post(k);
  }
}

}  // namespace

void gather_words(const Channel& channel, std::span<const std::uint64_t> words,
                  std::span<std::uint64_t> all) {
  const int count = checked_count(words.size());
  const void* const sent = words.data();
  void* const received = all.data();
  const Waiting waiting(channel.hooks());
  check(MPI_Gather(sent, count, MPI_UINT64_T, received, count, MPI_UINT64_T, root, channel.get()),
        "MPI_Gather", root);
}

void gather_lists(const Channel& channel, std::span<const std::uint64_t> words,
                  std::span<const int> counts, std::span<std::uint64_t> all, Ledger& ledger) {
  const Array<int> begins = begins_of(counts, ledger);
  const Waiting waiting(channel.hooks());
  check(MPI_Gatherv(words.data(), checked_count(words.size()), MPI_UINT64_T, all.data(),
                    counts.data(), begins.data(), MPI_UINT64_T, root, channel.get()),
        "MPI_Gatherv", root);
}

void gather_lists(const Channel& channel, std::span<const std::uint64_t> words,
                  std::span<int> counts, Vector<std::uint64_t>& all, Ledger& ledger) {
  std::uint64_t sum = 0;
  {
    const std::array<std::uint64_t, 1> length{words.size()};
    Array<std::uint64_t> lengths(ledger, counts.size());
    gather_words(channel, length, {lengths.data(), lengths.size()});
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
  check(MPI_Scatter(counts.data(), 1, MPI_INT, &count, 1, MPI_INT, root, channel.get()),
        "MPI_Scatter", root);
  const Array<int> begins = begins_of(counts, ledger);
  own.resize(static_cast<std::size_t>(count));
  check(MPI_Scatterv(all.data(), counts.data(), begins.data(), MPI_UINT64_T, own.data(), count,
                     MPI_UINT64_T, root, channel.get()),
        "MPI_Scatterv", root);
}

void broadcast_words(const Channel& channel, std::span<std::uint64_t> words) {
  void* const data = words.data();
  const Waiting waiting(channel.hooks());
  check(MPI_Bcast(data, checked_count(words.size()), MPI_UINT64_T, root, channel.get()),
        "MPI_Bcast", root);
}

void send_texts_to_root(const Channel& channel, std::uint64_t texts, std::span<char> buffer,
                        const std::function<void(const TakeText&)>& produce, const TakeText& take) {
  if (channel.rank() == root) return take_texts(channel, texts, buffer, take);
  if (!produce) return;
  const auto send = [&](std::span<const char> chunk) {
    check(MPI_Ssend(chunk.data(), checked_count(chunk.size()), MPI_CHAR, root, tag_trace,
                    channel.get()),
          "MPI_Ssend", root);
  };
  produce(send);
  send({});
}

double clock_ahead_of_root(const Channel& channel) {
  // A rank that the system wakes up late is wrong in some of them, not in most.
  std::array<double, 5> mine{};
  for (double& seconds : mine) {
    check(MPI_Barrier(channel.get()), "MPI_Barrier");
    seconds = now();
  }
  std::array<double, 5> theirs = mine;
  check(MPI_Bcast(theirs.data(), static_cast<int>(theirs.size()), MPI_DOUBLE, root, channel.get()),
        "MPI_Bcast", root);
  for (std::size_t k = 0; k < mine.size(); ++k) mine[k] -= theirs[k];
  std::ranges::sort(mine);
  return mine[mine.size() / 2];
}

}  // namespace valet::mpi
