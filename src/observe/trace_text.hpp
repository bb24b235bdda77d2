// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Entries of a trace, and their text: Chrome trace events, a line of JSON each.
///
/// Readers may take process 0 and thread 0 for the idle task of the system: both count from 1.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace valet::observe {

/// What an entry is; its name is the category of the event.
enum class TraceKind : std::uint8_t {
  stage,     ///< plan, exchange, local, verify
  phase,     ///< in a method that has phases
  wait,      ///< blocked in MPI
  gather,    ///< blocks from slots to packed memory
  scatter,   ///< blocks from packed memory to slots
  copy,      ///< blocks inside the rank
  swap,      ///< two ranks swap elements
  send,      ///< data, from its posting to its completion
  receive,   ///< the same
  credited,  ///< a receive that begins with the credit that allows it
  mark,      ///< an instant of any kind
  counter,   ///< a number that has changed
};
constexpr std::size_t trace_kinds = 12;

/// What is known of an entry beside its time.
struct TraceDetails {
  static constexpr int no_peer = -1;
  static constexpr std::uint64_t no_number = ~std::uint64_t{0};
  int peer = no_peer;                ///< "peer": the other rank
  std::uint64_t bytes = no_number;   ///< "bytes"
  std::uint64_t number = no_number;  ///< "number": of the phase
};

struct TraceEntry {
  std::int64_t start = 0;                         ///< nanoseconds, from any moment on
  std::int64_t duration = 0;                      ///< nanoseconds
  std::uint64_t value = TraceDetails::no_number;  ///< bytes, or a number
  const char* name = nullptr;
  std::int32_t peer = TraceDetails::no_peer;
  std::uint16_t lane = 0;  ///< a message's
  TraceKind kind = TraceKind::mark;
  bool counts = false;  ///< value is a number, not bytes
};

/// Text that is put together without printf, which takes longer than all else here. There must be
/// room.
class Text {
 public:
  explicit Text(char* memory) : begin_(memory), at_(memory) {}

  Text& operator<<(std::string_view text) {
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
    return *this;
  }
  Text& operator<<(std::uint64_t value);
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(at_ - begin_); }

 private:
  char* begin_;
  char* at_;
};

/// Writes the events of one rank.
class TraceText {
 public:
  static constexpr std::uint64_t work_thread = 1, first_send_thread = 2,
                                 first_receive_thread = 1001;

  static bool is_receive(TraceKind kind) {
    return kind == TraceKind::receive || kind == TraceKind::credited;
  }

  /// Before the first event.
  /// @param zero  The moment that is 0 in the picture, as TraceEntry::start.
  void start(int rank, std::int64_t zero);

  /// An event, with a comma before it.
  void put_event(Text& text, const TraceEntry& entry);
  /// How long such an event is at most, but for the microseconds of its start. Little more than it
  /// is, and quickly found.
  static std::uint64_t most_bytes(const TraceEntry& entry, std::uint64_t process);
  /// Digits of the microseconds, at most.
  [[nodiscard]] std::uint64_t most_digits_until(std::int64_t end) const;

  /// The name of a rank, and its place among the others; no comma before it.
  void put_rank(Text& text, std::uint64_t budget_bytes) const;
  /// The name of a thread, with a number where it is not the one for work.
  void put_thread(Text& text, std::uint64_t thread) const;
  static constexpr std::size_t most_label_bytes = 320;

 private:
  static constexpr std::size_t most_tail = 160;
  /// What comes behind the times, as it was in the last event of a kind: mostly the same again.
  struct Tail {
    TraceEntry entry;
    std::uint8_t size = 0;  ///< 0 before the first event
    std::array<char, most_tail> text;
  };

  void begin_label(Text& text, std::uint64_t thread, std::string_view name) const;

  std::array<Tail, trace_kinds> tails_;
  std::uint64_t process_ = 0;
  std::int64_t zero_ = 0;
};

}  // namespace valet::observe
