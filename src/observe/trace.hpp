// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What a rank did and when, for a picture of a migration: recorded as binary entries, read
/// back as Chrome trace events (JSON), which ui.perfetto.dev and chrome://tracing show. Recording
/// is local; trace_file.hpp brings the entries of all ranks together.
///
/// A rank is a process of the picture. Its first thread has what it does one after the other and
/// nested: stages, phases, waits, copies. Messages on their way overlap, so they are on threads of
/// their own: each takes the lowest one that is free, sends apart from receives.

#include "mpi/check.hpp"
#include "observe/file.hpp"
#include <valet/export.hpp>
#include <valet/ledger.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

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

/// What is known of an entry beside its time.
struct TraceDetails {
  static constexpr int no_peer = -1;
  static constexpr std::uint64_t no_number = ~std::uint64_t{0};
  int peer = no_peer;                ///< "peer": the other rank
  std::uint64_t bytes = no_number;   ///< "bytes"
  std::uint64_t number = no_number;  ///< "number": of the phase
};

struct TraceEntry;

/// The trace of one rank. Not thread safe.
///
/// Memory: memory_bytes, counted by the ledger, whatever is recorded. What does not fit goes to an
/// unlinked file in $TMPDIR, or /tmp; where none can be written, later entries are lost() and
/// nothing else happens. Names must outlive the trace and need no escapes in JSON.
class VALET_EXPORT Trace {
 public:
  static constexpr std::size_t memory_bytes = std::size_t{24} << 10;
  /// On their way at once; of others only the posting is recorded.
  static constexpr std::size_t most_messages = 64;
  using Clock = double (*)();

  /// @param clock  Seconds, from any moment on.
  Trace(Ledger& ledger, int rank, Clock clock = mpi::now);

  /// What this rank did, from a moment on the trace's clock to now.
  void span(TraceKind kind, const char* name, double start, double end,
            const TraceDetails& details = {});
  void instant(TraceKind kind, const char* name, const TraceDetails& details = {});
  /// A track of a number over time, changed since the clock was last read. A value that is repeated
  /// is recorded once; one that is replaced at once is left out, unless it is the highest so far.
  void counter(const char* name, std::uint64_t value);

  /// A message on its way, TraceKind::send, receive or credited. `key` identifies it among all that
  /// are on their way.
  void message_begins(TraceKind kind, const void* key, const TraceDetails& details);
  /// Takes the time at which the clock was last read: a wait read it at its end. Does nothing for a
  /// key that did not begin.
  /// @param received_bytes  What a receive got; 0 where all was written into shared memory.
  void message_ends(const void* key, std::uint64_t received_bytes = 0);

  /// Forgets all entries.
  void clear();

  /// Looks at the clock.
  [[nodiscard]] double now() {
    const double seconds = clock_();
    latest_ = nanoseconds(seconds);
    return seconds;
  }
  /// Seconds of the first entry, or of now.
  [[nodiscard]] double first_seconds() const {
    return entries() > 0 ? zero_seconds_ + static_cast<double>(first_) / 1e9 : clock_();
  }
  [[nodiscard]] std::uint64_t entries() const { return entries_; }
  [[nodiscard]] std::uint64_t lost() const { return lost_; }

  /// Starts reading. No entries must be added before clear().
  /// @param zero_seconds  On this clock: the moment that is 0 in the picture.
  /// @param budget_bytes  Scratch that this rank may use, for its label.
  void rewind(double zero_seconds, std::uint64_t budget_bytes);
  /// How many bytes read() will give in all, at most: a few more than it does.
  [[nodiscard]] std::uint64_t most_text_bytes() const;
  /// Calls put(text) with whole events, separated by commas, in chunks as large as the buffer. At
  /// least least_text bytes. Once after rewind().
  void read(std::span<char> buffer, const std::function<void(std::span<const char>)>& put);
  static constexpr std::size_t least_text = 512;
  /// Memory of the trace to read into: what reading does not need. Between rewind() and clear().
  [[nodiscard]] std::span<char> text_buffer();
  static constexpr std::size_t least_buffer = 4096;

 private:
  struct Parts;
  /// Threads of messages under way.
  struct Lanes {
    std::uint64_t taken = 0;  ///< a bit for each
    std::uint16_t used = 0;   ///< ever
  };
  struct Counter {
    const char* name = nullptr;
    std::uint64_t value = 0;
    std::int64_t time = 0;
    std::uint64_t highest = 0;  ///< ever recorded
  };

  [[nodiscard]] std::int64_t nanoseconds(double seconds) const;
  /// Looking at the clock takes longer than recording an entry.
  std::int64_t look() { return latest_ = nanoseconds(clock_()); }
  void add(const TraceEntry& entry);
  void add_counter();
  bool spool();
  [[nodiscard]] Lanes& lanes_of(TraceKind kind) {
    return kind == TraceKind::send ? sends_ : receives_;
  }

  int rank_;
  Clock clock_;
  double zero_seconds_;  ///< all other times are nanoseconds since then
  Array<std::byte> memory_;
  Parts* parts_;
  File file_;
  std::uint64_t entries_ = 0, spooled_ = 0;  ///< in all, and of them in the file
  std::uint64_t lost_ = 0;
  std::uint64_t event_bytes_ = 0;  ///< text at most, but for the digits of starts
  std::uint64_t under_way_ = 0;    ///< a bit for each of the messages
  Lanes sends_, receives_;
  std::int64_t first_ = 0, last_ = 0;
  std::int64_t latest_ = 0;         ///< what the clock showed last
  Counter counted_;                 ///< the latest value, not recorded yet
  std::uint64_t budget_bytes_ = 0;  ///< while reading
};

/// Something that is done until the end of a scope. Nothing where there is no trace.
class TraceSpan {
 public:
  TraceSpan(Trace* trace, TraceKind kind, const char* name, const TraceDetails& details = {})
      : trace_(trace), kind_(kind), name_(name), details_(details) {
    if (trace_ != nullptr) start_ = trace_->now();
  }
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;
  ~TraceSpan() {
    if (trace_ != nullptr) trace_->span(kind_, name_, start_, trace_->now(), details_);
  }

 private:
  Trace* trace_;
  TraceKind kind_;
  const char* name_;
  TraceDetails details_;
  double start_ = 0;
};

}  // namespace valet::observe
