// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What ranks tell each other of every object before it moves: ids, sizes, parts.

#include "objects/transport.hpp"
#include <valet/export.hpp>
#include <valet/ledger.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

namespace valet::objects {

/// Objects in the order of a list, and the ranks at the other end.
struct SortedObjects {
  std::span<const Peer> peers;  ///< ascending by rank
  /// The places of the objects in the list, sorted by rank; empty where the list is.
  std::span<const std::uint32_t> order;
};

/// The objects of a list by the rank at their other end.
struct RankOrder {
  explicit RankOrder(Ledger& ledger) : peers(ledger) {}

  Vector<Peer> peers;          ///< ascending, with their numbers of objects
  Array<std::uint32_t> order;  ///< places in the list, by rank; none where the list has them so
  bool grouped = true;         ///< the list has them by ascending rank
  bool blocked = true;         ///< those of each rank stand together, in whatever order
};

/// Orders them; those of a rank keep the order of the list. @throws std::bad_alloc. Local.
/// @param without  A rank whose objects are left out; none: -1.
[[nodiscard]] VALET_EXPORT RankOrder order_by_rank(Ledger& ledger, std::span<const int> ranks,
                                                   int without = -1);

/// Records of one size, one for every object.
struct RecordColumn {
  std::size_t bytes = 0;       ///< of a record
  const void* from = nullptr;  ///< in the order of the list
  void* to = nullptr;          ///< filled by ascending source rank, then the source's order
  bool sorted = false;         ///< `from` is sorted by rank, whatever the list is
};

/// How many records a message has.
inline std::uint64_t records_of(const RecordColumn& column, std::uint64_t chunk_bytes) {
  return std::max<std::uint64_t>(1, chunk_bytes / column.bytes);
}

/// Where a peer's records of one column are cut into messages.
struct RecordCursor {
  std::size_t column = 0;
  std::uint64_t done = 0;  ///< records of it

  /// The records of the next message; 0 when there is none.
  std::uint64_t take(std::span<const RecordColumn> columns, std::uint64_t count,
                     std::uint64_t chunk_bytes) {
    if (count > 0 && done == count) {
      ++column;
      done = 0;
    }
    if (count == 0 || column == columns.size()) return 0;
    const std::uint64_t records = std::min(records_of(columns[column], chunk_bytes), count - done);
    done += records;
    return records;
  }
};

class RecordSender : public Outgoing {
 public:
  RecordSender(Ledger& ledger, const SortedObjects& list, std::span<const RecordColumn> columns,
               std::uint64_t chunk_bytes)
      : list_(list), columns_(columns), chunk_bytes_(chunk_bytes) {
    std::uint64_t most = 0;
    for (const Peer& peer : list.peers) most = std::max(most, peer.count);
    for (const RecordColumn& column : columns)
      if (gathers(column))
        room_ = std::max(room_, std::min(records_of(column, chunk_bytes), most) * column.bytes);
    buffers_ = Array<std::byte>(ledger, 2 * room_);
  }

  bool next(Vector<OutgoingMessage>& messages) override {
    for (; peer_ < list_.peers.size(); ++peer_) {
      const std::uint64_t count = list_.peers[peer_].count;
      records_ = cursor_.take(columns_, count, chunk_bytes_);
      if (records_ > 0) break;
      first_ += count;
      cursor_ = {};
    }
    if (peer_ == list_.peers.size()) return false;
    messages.push_back({peer_, records_ * columns_[cursor_.column].bytes});
    return true;
  }

  void make(std::size_t buffer, std::span<OutgoingMessage> messages) override {
    const RecordColumn& column = columns_[cursor_.column];
    const std::uint64_t first = first_ + cursor_.done - records_;
    const auto* const from = static_cast<const std::byte*>(column.from);
    if (!gathers(column)) {
      messages.front().data = const_cast<std::byte*>(from) + first * column.bytes;
      return;
    }
    std::byte* const packed = buffers_.data() + buffer * room_;
    for (std::uint64_t k = 0; k < records_; ++k)
      std::memcpy(packed + k * column.bytes, from + list_.order[first + k] * column.bytes,
                  column.bytes);
    messages.front().data = packed;
  }

 private:
  [[nodiscard]] bool gathers(const RecordColumn& column) const {
    return !list_.order.empty() && !column.sorted;
  }

  SortedObjects list_;
  std::span<const RecordColumn> columns_;
  std::uint64_t chunk_bytes_;
  std::uint64_t room_ = 0;  ///< bytes of a buffer
  Array<std::byte> buffers_;
  std::size_t peer_ = 0;
  std::uint64_t first_ = 0;  ///< of the peer, among all objects by rank
  RecordCursor cursor_;
  std::uint64_t records_ = 0;  ///< of the message
};

class RecordReceiver : public Incoming {
 public:
  RecordReceiver(Ledger& ledger, std::span<const Peer> sources,
                 std::span<const RecordColumn> columns, std::uint64_t chunk_bytes)
      : sources_(sources), columns_(columns), chunk_bytes_(chunk_bytes), from_(ledger) {
    from_.reserve(sources.size());
    std::uint64_t first = 0;
    for (const Peer& source : sources) {
      from_.push_back({{}, first});
      first += source.count;
    }
  }

  bool next(std::size_t peer, MemoryPiece& memory) override {
    auto& [cursor, first] = from_[peer];
    const std::uint64_t records = cursor.take(columns_, sources_[peer].count, chunk_bytes_);
    if (records == 0) return false;
    const RecordColumn& column = columns_[cursor.column];
    memory = {static_cast<std::byte*>(column.to) + (first + cursor.done - records) * column.bytes,
              records * column.bytes};
    return true;
  }

 private:
  struct Source {
    RecordCursor cursor;
    std::uint64_t first = 0;
  };
  std::span<const Peer> sources_;
  std::span<const RecordColumn> columns_;
  std::uint64_t chunk_bytes_;
  Vector<Source> from_;
};

/// Records of all objects from a list to the ranks at its other end. Collective.
///
/// @param columns      Of the same bytes on all ranks.
/// @param chunk_bytes  Of one message; the same on all ranks.
/// @param turn   Of the transport: calls without an agreement between them have different ones.
inline void send_records(const mpi::Channel& channel, Ledger& ledger, const SortedObjects& list,
                         std::span<const Peer> sources, std::span<const RecordColumn> columns,
                         std::size_t chunk_bytes, int turn = 0) {
  if (columns.empty()) return;
  RecordReceiver receiver(ledger, sources, columns, chunk_bytes);
  RecordSender sender(ledger, list, columns, chunk_bytes);
  NodeSlots none(ledger);
  Transport(channel, ledger, none, list.peers, sources, turn).run(sender, receiver);
}

}  // namespace valet::objects
