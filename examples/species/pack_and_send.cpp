// SPDX-License-Identifier: BSD-3-Clause
#include "support/data_limit.hpp"
#include "support/table.hpp"
#include "ways.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <numeric>

namespace species {
namespace {

/// Counts and places for MPI_Alltoallv.
struct Exchange {
  std::vector<int> send_counts, receive_counts, send_places, receive_places;

  Exchange(MPI_Comm communicator, std::vector<int> counts)
      : send_counts(std::move(counts)),
        receive_counts(send_counts.size()),
        send_places(send_counts.size()),
        receive_places(send_counts.size()) {
    MPI_Alltoall(send_counts.data(), 1, MPI_INT, receive_counts.data(), 1, MPI_INT, communicator);
    std::exclusive_scan(send_counts.begin(), send_counts.end(), send_places.begin(), 0);
    std::exclusive_scan(receive_counts.begin(), receive_counts.end(), receive_places.begin(), 0);
  }
  [[nodiscard]] std::uint64_t sent() const { return sum(send_counts); }
  [[nodiscard]] std::uint64_t received() const { return sum(receive_counts); }

  /// From `packed` to `arrived`.
  template <class Entry>
  void run(MPI_Comm communicator, const Entry* packed, Entry* arrived) const {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(sizeof(Entry), MPI_BYTE, &type);
    MPI_Type_commit(&type);
    MPI_Alltoallv(packed, send_counts.data(), send_places.data(), type, arrived,
                  receive_counts.data(), receive_places.data(), type, communicator);
    MPI_Type_free(&type);
  }

 private:
  static std::uint64_t sum(const std::vector<int>& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  }
};

/// Throws OutOfMemory on all ranks where the system refused memory to one.
void agree_on_memory(MPI_Comm communicator, bool refused, std::uint64_t bytes) {
  const int size = example::size_of(communicator);
  int first = refused ? example::rank_of(communicator) : size;
  MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, communicator);
  if (first == size) return;
  std::uint64_t numbers[2] = {bytes, example::data_bytes()};
  MPI_Bcast(numbers, 2, MPI_UINT64_T, first, communicator);
  throw example::OutOfMemory(example::formatted(
      "out of memory: the system refuses rank %d %.1f MB for packed cells (--exchange packed), "
      "beyond the %.1f MB of data that it has",
      first, example::megabytes(numbers[0]), example::megabytes(numbers[1])));
}

}  // namespace

Moved pack_and_send(MPI_Comm communicator, Cells& cells, std::span<const int> ranks) {
  const auto size = static_cast<std::size_t>(example::size_of(communicator));
  const int own = example::rank_of(communicator);
  std::vector<int> head_counts(size, 0), record_counts(head_counts);
  std::uint64_t kept = cells.count, kept_records = cells.used();
  for (std::uint64_t k = 0; k < cells.count; ++k) {
    if (ranks[k] == own) continue;
    const auto to = static_cast<std::size_t>(ranks[k]);
    ++head_counts[to];
    record_counts[to] += static_cast<int>(cells.species(k));
    kept_records -= cells.species(k);
    --kept;
  }
  const Exchange heads(communicator, std::move(head_counts));
  const Exchange records(communicator, std::move(record_counts));
  require_room(communicator, cells, kept_records + records.received(), kept + heads.received());

  const std::uint64_t bytes =
      records.sent() * sizeof(Record) + (heads.sent() + heads.received()) * sizeof(Head);
  const std::unique_ptr<Record[]> packed_records(new (std::nothrow) Record[records.sent()]);
  const std::unique_ptr<Head[]> packed_heads(new (std::nothrow) Head[heads.sent()]);
  const std::unique_ptr<Head[]> new_heads(new (std::nothrow) Head[heads.received()]);
  agree_on_memory(communicator, !packed_records || !packed_heads || !new_heads, bytes);

  std::vector<int> next_head = heads.send_places, next_record = records.send_places;
  const Record* list = cells.records.data();
  Record* end = cells.records.data();
  std::uint64_t stay = 0;
  for (std::uint64_t k = 0; k < cells.count; ++k) {
    const Head head = cells.head(k);
    const std::uint64_t species = cells.species(k);
    if (ranks[k] == own) {
      std::memmove(end, list, head.length);
      end += species;
      cells.set_head(stay++, head);
    } else {
      const auto to = static_cast<std::size_t>(ranks[k]);
      packed_heads[static_cast<std::size_t>(next_head[to]++)] = head;
      std::copy_n(list, species, &packed_records[static_cast<std::size_t>(next_record[to])]);
      next_record[to] += static_cast<int>(species);
    }
    list += species;
  }
  heads.run(communicator, packed_heads.get(), new_heads.get());
  records.run(communicator, packed_records.get(), end);
  cells.count = kept + heads.received();
  for (std::uint64_t k = kept; k < cells.count; ++k) cells.set_head(k, new_heads[k - kept]);
  return {records.sent() * sizeof(Record) + heads.sent() * sizeof(Head), bytes, 0};
}

}  // namespace species
