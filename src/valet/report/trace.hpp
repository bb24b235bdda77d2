// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What a rank did and when, for a picture of a migration: recorded as small binary entries, read
/// back as Chrome trace events (JSON), which ui.perfetto.dev and chrome://tracing show. Recording
/// is local; report/trace_file.hpp brings the entries of all ranks together.
///
/// A rank is a process of the picture. Its first thread has what it does one after the other and
/// nested: stages, phases, waits, copies. Messages on their way overlap, so they are on threads of
/// their own: each takes the lowest one that is free, sends apart from receives.

#include <valet/export.hpp>
#include <valet/mpi/check.hpp>
#include <valet/report/spool_file.hpp>
#include <valet/storage/ledger.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace valet {

/// What an entry is; its name is the category of the event.
enum class TraceKind : std::uint8_t {
  stage,    ///< plan, exchange, local, verify
  phase,    ///< of a method that has phases
  wait,     ///< blocked in MPI
  gather,   ///< blocks from slots to packed memory
  scatter,  ///< blocks from packed memory to slots
  copy,     ///< blocks inside the rank
  swap,     ///< two ranks swap elements
  send,     ///< data, from its posting to its completion
  receive,  ///< the same
  grant,    ///< an instant: a receiver permits data
  mark,     ///< an instant of any kind
  counter,  ///< a number that has changed
};

/// What is known of an entry beside its time.
struct TraceDetails {
  static constexpr int no_peer = -1;
  static constexpr std::uint64_t no_number = ~std::uint64_t{0};
  int peer = no_peer;                ///< "peer": the other rank
  std::uint64_t bytes = no_number;   ///< "bytes"
  std::uint64_t number = no_number;  ///< "number": of the phase
};

/// The trace of one rank. Not thread safe.
///
/// Memory: memory_bytes, counted by the ledger, whatever is recorded. What does not fit goes to an
/// unlinked file in $TMPDIR, or /tmp; where none can be written, later entries are lost() and
/// nothing else happens. Names must outlive the trace and need no escapes in JSON.
class VALET_EXPORT Trace {
 public:
  static constexpr std::size_t memory_bytes = std::size_t{16} << 10;
  /// On their way at once; of others only the posting is recorded.
  static constexpr std::size_t most_messages = 64;
  static constexpr std::size_t most_nested = 16;
  using Clock = double (*)();

  /// @param clock  Seconds, from any moment on.
  Trace(Ledger& ledger, int rank, Clock clock = mpi::now);

  /// What this rank does until the end() that belongs to it. Nests.
  void begin(TraceKind kind, const char* name, const TraceDetails& details = {});
  void end();
  /// The same, of what is over now.
  void span(TraceKind kind, const char* name, double start, double end,
            const TraceDetails& details = {});
  void instant(TraceKind kind, const char* name, const TraceDetails& details = {});
  /// A track of a number over time, changed since the clock was last looked at. Said twice in a
  /// row, a value is recorded once.
  void counter(const char* name, std::uint64_t value);

  /// A message on its way, TraceKind::send or receive. `key` tells it from all others on their way.
  void message_begins(TraceKind kind, const void* key, const TraceDetails& details);
  /// When the clock was last looked at: a wait has told of its end. Does nothing for a key that did
  /// not begin.
  void message_ends(const void* key);

  /// Forgets all entries.
  void clear();

  [[nodiscard]] double now() const { return clock_(); }
  /// Seconds of the first entry, or of now.
  [[nodiscard]] double first_seconds() const { return entries() > 0 ? first_ : now(); }
  [[nodiscard]] std::uint64_t entries() const { return spooled_ + count_; }
  [[nodiscard]] std::uint64_t lost() const { return lost_; }

  /// Starts reading. Entries must not be added before the end of it, or clear().
  /// @param zero_seconds  On this clock: the moment that is 0 in the picture.
  /// @param budget_bytes  Scratch that this rank may use, for its label.
  void rewind(double zero_seconds, std::uint64_t budget_bytes);
  /// How many bytes read() will write in all. Between rewind() and the first read().
  [[nodiscard]] std::uint64_t text_bytes();
  /// Writes whole events, separated by commas, into `text`; 0 when there are no more. At least
  /// least_text bytes.
  std::size_t read(std::span<char> text);
  static constexpr std::size_t least_text = 512;
  /// Memory of the trace to read into: what reading does not need. Between rewind() and clear().
  [[nodiscard]] std::span<char> text_buffer();
  static constexpr std::size_t least_buffer = 4096;

 private:
  /// Of the file at a time: the fewer, the more text is written at once.
  static constexpr std::size_t entries_loaded = 64;

  struct Entry {
    double start = 0;
    double seconds = 0;
    std::uint64_t value = 0;  ///< bytes, or a number
    const char* name = nullptr;
    std::int32_t peer = TraceDetails::no_peer;
    std::uint16_t lane = 0;  ///< of a message
    TraceKind kind = TraceKind::mark;
    bool counts = false;  ///< value is a number, not bytes
  };
  /// A message on its way, or what is being done.
  struct Open {
    const void* key = nullptr;
    Entry entry;
  };

  static constexpr std::size_t most_entries =
      (memory_bytes - least_buffer - most_messages * sizeof(Open) - most_nested * sizeof(Entry)) /
      sizeof(Entry);
  /// How the memory is used; the behind part of it holds text while the trace is read.
  struct Parts {
    std::array<Entry, most_entries> entries;
    std::array<Open, most_messages> messages;
    std::array<Entry, most_nested> nested;
  };
  static_assert(sizeof(Parts) + least_buffer <= memory_bytes);

  /// Looking at the clock takes longer than recording an entry.
  double look() { return latest_ = clock_(); }
  static Entry entry_of(TraceKind kind, const char* name, double start,
                        const TraceDetails& details);
  void add(const Entry& entry);
  bool spool();
  template <class Text>
  bool put_label(Text& text);
  template <class Text>
  void put(Text& text, const Entry& entry) const;
  bool load();
  [[nodiscard]] bool in_file() const { return spooled_ > 0; }

  int rank_;
  Clock clock_;
  Array<std::byte> memory_;
  Parts* parts_;
  SpoolFile file_;
  std::size_t count_ = 0;  ///< entries in memory
  std::size_t depth_ = 0;
  std::size_t open_ = 0;  ///< messages_ that may be on their way
  std::uint64_t spooled_ = 0;
  std::uint64_t lost_ = 0;
  double first_ = 0;
  double latest_ = 0;              ///< what the clock said last
  const char* counted_ = nullptr;  ///< the counter said last, and its value
  std::uint64_t counted_value_ = 0;
  std::uint16_t send_lanes_ = 0, receive_lanes_ = 0;  ///< ever used

  // While reading.
  double zero_ = 0;
  std::uint64_t budget_bytes_ = 0;
  std::uint64_t read_ = 0;   ///< entries read
  std::size_t next_ = 0;     ///< in memory
  std::uint32_t label_ = 0;  ///< lines of metadata written
};

/// Something that is done until the end of a scope. Nothing where there is no trace.
class TraceSpan {
 public:
  TraceSpan(Trace* trace, TraceKind kind, const char* name, const TraceDetails& details = {})
      : trace_(trace) {
    if (trace_ != nullptr) trace_->begin(kind, name, details);
  }
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;
  ~TraceSpan() {
    if (trace_ != nullptr) trace_->end();
  }

 private:
  Trace* trace_;
};

}  // namespace valet
