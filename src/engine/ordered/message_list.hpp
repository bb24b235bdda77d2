// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/ledger.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace valet::engine {

/// Memory for blocks that leave in the order in which they came: a ring.
class WaitingRoom {
 public:
  WaitingRoom() = default;
  WaitingRoom(std::byte* memory, std::uint64_t blocks, std::size_t block_bytes)
      : memory_(memory), blocks_(blocks), block_bytes_(block_bytes) {}

  /// Blocks for which there is room next to each other.
  [[nodiscard]] std::uint64_t next() const {
    const std::uint64_t behind = first_ + used_;
    return behind < blocks_ ? blocks_ - behind : blocks_ - used_;
  }
  [[nodiscard]] std::uint64_t blocks() const { return blocks_; }
  /// Blocks for which there is room.
  [[nodiscard]] std::uint64_t left() const { return blocks_ - used_; }
  /// Gives as many blocks room, at most next(); returns where it begins.
  std::byte* enter(std::uint64_t count) {
    const std::uint64_t index = (first_ + used_) % blocks_;
    used_ += count;
    return memory_ + index * block_bytes_;
  }
  void leave(std::uint64_t count) {
    used_ -= count;
    first_ = used_ == 0 ? 0 : (first_ + count) % blocks_;
  }

 private:
  std::byte* memory_ = nullptr;
  std::uint64_t blocks_ = 0;
  std::size_t block_bytes_ = 0;
  std::uint64_t first_ = 0;
  std::uint64_t used_ = 0;
};

/// The messages that a rank has credited and not landed, in the order of their imports: a ring of
/// fixed length, in which those that wait next to each other are joined when it is full.
///
/// Why a full list never stops an exchange: once all messages have arrived, and those that wait
/// next to each other are joined, one more fits.
/// 1. All arrive: a source needs nothing but its credit.
/// 2. Landing passes those that lie in slots or aside. The first one left is in one of two rooms,
///    and so are all behind it: those aside came before, and nothing is credited to slots while a
///    room is in use.
/// 3. Messages that follow each other in the list and lie in one room are joined, except where the
///    ring of their room begins again: once in each room.
/// 4. Where none in the room of the node is behind one in the room in scratch, that leaves four at
///    most, a run in each room, each cut once. A list is longer.
/// 5. Behind one in scratch, the next goes to the room of the node only while `for_detours` entries
///    are free: see choose_room(). Look at the last that did. It and all behind it are a run in
///    that room and then a run in scratch, each cut once: for_detours - 1 entries, so one is free.
class MessageList {
 public:
  /// Where the blocks of a message are received.
  enum class Into : std::uint8_t {
    own,    ///< the room in scratch
    node,   ///< the room in memory that the source writes to
    slots,  ///< where they belong
    aside,  ///< where the first imports wait for the last holes
  };
  /// A message, from its credit until its blocks have landed.
  struct CreditedMessage {
    std::byte* memory = nullptr;
    std::uint64_t count = 0;  ///< blocks that have not landed
    Into into = Into::own;
    bool arrived = false;
  };

  /// Messages that a list has to hold: those on their way, and all that may wait where there are no
  /// detours, joined. The next message is then in another room only where a grain ends, so these
  /// are a run for each grain at most, and one more where the ring of a room begins again.
  /// @param receives  the most on their way at once
  /// @param flows     sources; the last grain of each may be a short one
  /// @param grains    whole grains that both rooms hold
  /// @param shares    whether there is a room in the memory of the node
  static constexpr std::size_t length(std::size_t receives, std::size_t flows, std::size_t grains,
                                      bool shares) {
    constexpr std::size_t cut_grains = 2;  // the one that lands now, and the one credited last
    return receives + flows + grains + cut_grains + rooms + (shares ? for_detours : 0);
  }
  static constexpr std::uint64_t bytes_for(std::size_t length) {
    return length * sizeof(CreditedMessage);
  }

  MessageList(Ledger& ledger, std::size_t length, std::size_t block_bytes)
      : messages_(length, CreditedMessage{}, ledger), block_bytes_(block_bytes) {}

  void clear() { first_ = last_ = 0; }
  [[nodiscard]] bool empty() const { return first_ == last_; }
  [[nodiscard]] CreditedMessage& front() { return (*this)[first_]; }
  void pop_front() { ++first_; }
  [[nodiscard]] CreditedMessage& operator[](std::uint64_t number) {
    return messages_[number % messages_.size()];
  }

  /// Adds a message on its way; returns its number, which renumbering may change.
  std::uint64_t add(std::byte* memory, std::uint64_t count, Into into) {
    (*this)[last_] = {memory, count, into, false};
    return last_++;
  }
  /// Whether there is room for one more message.
  /// @param renumber  renumber(from, to): the number of a message on its way has changed.
  template <class Renumber>
  bool takes_one(Renumber&& renumber) {
    if (last_ - first_ == messages_.size()) join_arrived(renumber);
    return last_ - first_ < messages_.size();
  }
  /// Where the next message of a source that writes into the memory of the node is received: there,
  /// or by a detour through scratch, or nowhere before something else has come or gone.
  /// @param takes_less   Nothing that is on its way will make room, so a detour is right.
  /// @param node_room  Blocks that fit next to each other there.
  template <class Renumber>
  std::optional<Into> choose_room(bool takes_less, std::uint64_t node_room, Renumber&& renumber) {
    const bool after_own = !empty() && (*this)[last_ - 1].into == Into::own;
    // Once there is a detour, others go on beside it: they are joined then.
    if (takes_less) return after_own || node_room == 0 ? Into::own : Into::node;
    if (!after_own || has_spare()) return Into::node;
    join_arrived(renumber);
    return has_spare() ? std::optional(Into::node) : std::nullopt;
  }

 private:
  static constexpr std::size_t rooms = 2;
  /// A run in each room, each cut where its ring begins again, and the next message.
  static constexpr std::size_t for_detours = 2 * rooms + 1;

  [[nodiscard]] bool has_spare() const { return last_ - first_ + for_detours <= messages_.size(); }
  /// Joins messages that wait next to each other.
  template <class Renumber>
  void join_arrived(Renumber&& renumber) {
    std::uint64_t behind = first_;
    for (std::uint64_t number = first_; number < last_; ++number) {
      const CreditedMessage next = (*this)[number];
      if (behind > first_) {
        CreditedMessage& before = (*this)[behind - 1];
        if (before.arrived && next.arrived && before.into == next.into &&
            before.memory + before.count * block_bytes_ == next.memory) {
          before.count += next.count;
          continue;
        }
      }
      if (!next.arrived) renumber(number, behind);
      (*this)[behind++] = next;
    }
    last_ = behind;
  }

  Vector<CreditedMessage> messages_;
  std::size_t block_bytes_;
  std::uint64_t first_ = 0, last_ = 0;
};

}  // namespace valet::engine
