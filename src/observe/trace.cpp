// SPDX-License-Identifier: BSD-3-Clause
#include "observe/trace.hpp"

#include "base/promise.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <string_view>

namespace valet::observe {

static_assert(Trace::memory_bytes == detail::promised_of_trace);

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

namespace {

/// Most waits end at once: they would be a third of all entries and nobody would see them.
constexpr double shortest_wait_seconds = 2e-6;
constexpr std::int64_t shortest_value_nanoseconds = 10'000;
/// Read from the file at a time: the fewer, the more text is written at once.
constexpr std::size_t entries_loaded = 128;

const char* name_of(TraceKind kind) {
  if (kind == TraceKind::send) return "send";
  return kind == TraceKind::credited ? "credited receive" : "receive";
}

TraceEntry entry_of(TraceKind kind, const char* name, std::int64_t start,
                    const TraceDetails& details) {
  const bool counts = details.number != TraceDetails::no_number;
  return {.start = start,
          .value = counts ? details.number : details.bytes,
          .name = name,
          .peer = details.peer,
          .kind = kind,
          .counts = counts};
}

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
  Text& operator<<(std::uint64_t value) {
    constexpr int most = 20;
    if (value < 10)
      *at_++ = static_cast<char>('0' + value);
    else
      at_ = std::to_chars(at_, at_ + most, value).ptr;
    return *this;
  }
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(at_ - begin_); }

 private:
  char* begin_;
  char* at_;
};

constexpr std::size_t longest_name = 64;

constexpr std::array<std::string_view, 12> categories{
    "stage", "phase", "wait",    "gather",         "scatter", "copy",
    "swap",  "send",  "receive", "credit,receive", "mark",    "counter"};

bool is_interval(TraceKind kind) { return kind != TraceKind::counter && kind != TraceKind::mark; }

/// The digits of a number, or one more: 1233/4096 is little more than the decimal logarithm of 2.
std::uint64_t most_digits(std::uint64_t value) {
  return (static_cast<std::uint64_t>(std::bit_width(value)) * 1233 >> 12) + 1;
}

/// Nanoseconds as microseconds with three digits behind the point.
void put_microseconds(Text& text, std::int64_t nanoseconds) {
  const auto whole = static_cast<std::uint64_t>(std::max<std::int64_t>(nanoseconds, 0));
  const std::uint64_t rest = whole % 1000;
  const std::array<char, 4> digits{'.', static_cast<char>('0' + rest / 100),
                                   static_cast<char>('0' + rest / 10 % 10),
                                   static_cast<char>('0' + rest % 10)};
  text << whole / 1000 << std::string_view(digits.data(), digits.size());
}

bool has_same_tail(const TraceEntry& a, const TraceEntry& b) {
  return a.name == b.name && a.value == b.value && a.peer == b.peer && a.counts == b.counts;
}

std::string_view name_of(const TraceEntry& entry) {
  return {entry.name, strnlen(entry.name, longest_name)};
}

void put_tail(Text& text, const TraceEntry& entry) {
  text << ",\"cat\":\"" << categories[static_cast<std::size_t>(entry.kind)] << "\",\"name\":\""
       << name_of(entry) << "\",\"args\":{";
  const bool has_peer = entry.peer != TraceDetails::no_peer;
  if (has_peer) text << "\"peer\":" << static_cast<std::uint64_t>(entry.peer);
  if (entry.value != TraceDetails::no_number)
    text << (has_peer ? ",\"" : "\"") << (entry.counts ? "number\":" : "bytes\":") << entry.value;
  text << "}}";
}

/// Writes the events of one rank: Chrome trace events, a line of JSON each. Readers may take
/// process 0 and thread 0 for the idle task of the system: both count from 1.
class TraceText {
 public:
  static constexpr std::uint64_t work_thread = 1, first_send_thread = 2,
                                 first_receive_thread = 1001;
  static constexpr std::size_t most_label_bytes = 320;

  /// Before the first event.
  /// @param zero  The moment that is 0 in the picture, as TraceEntry::start.
  void start(int rank, std::int64_t zero) {
    process_ = static_cast<std::uint64_t>(rank) + 1;
    zero_ = zero;
    for (Tail& tail : tails_) tail.size = 0;
  }

  /// An event, with a comma before it.
  void put_event(Text& text, const TraceEntry& entry) {
    text << (is_interval(entry.kind)            ? ",\n{\"ph\":\"X\",\"pid\":"
             : entry.kind == TraceKind::counter ? ",\n{\"ph\":\"C\",\"pid\":"
                                                : ",\n{\"ph\":\"i\",\"pid\":")
         << process_ << ",\"tid\":" << thread_of(entry) << ",\"ts\":";
    put_microseconds(text, entry.start - zero_);
    if (is_interval(entry.kind)) {
      text << ",\"dur\":";
      put_microseconds(text, entry.duration);
    }
    Tail& tail = tails_[static_cast<std::size_t>(entry.kind)];
    if (tail.size == 0 || !has_same_tail(tail.entry, entry)) {
      Text made(tail.text.data());
      put_tail(made, entry);
      tail.entry = entry;
      tail.size = static_cast<std::uint8_t>(made.size());
    }
    text << std::string_view(tail.text.data(), tail.size);
  }

  /// How long such an event is at most, but for the microseconds of its start. Little more than it
  /// is, and quickly found.
  static std::uint64_t most_bytes(const TraceEntry& entry, std::uint64_t process) {
    constexpr std::string_view fixed =
        R"(,.{"ph":"X","pid":,"tid":1001,"ts":.000,"cat":"","name":"","args":{}})";
    std::uint64_t bytes = fixed.size() + most_digits(process) +
                          categories[static_cast<std::size_t>(entry.kind)].size() +
                          name_of(entry).size();
    if (is_interval(entry.kind))
      bytes += std::string_view(R"(,"dur":.000)").size() +
               most_digits(static_cast<std::uint64_t>(entry.duration) / 1000);
    if (entry.peer != TraceDetails::no_peer)
      bytes += std::string_view(R"("peer":,)").size() +
               most_digits(static_cast<std::uint64_t>(entry.peer));
    if (entry.value != TraceDetails::no_number)
      bytes += std::string_view(R"("number":)").size() + most_digits(entry.value);
    return bytes;
  }

  /// Digits of the microseconds, at most.
  [[nodiscard]] std::uint64_t most_digits_until(std::int64_t end) const {
    return most_digits(static_cast<std::uint64_t>(std::max<std::int64_t>(end - zero_, 0)) / 1000);
  }

  /// The name of a rank, and its place among the others; no comma before it.
  void put_rank(Text& text, std::uint64_t budget_bytes) const {
    const std::uint64_t rank = process_ - 1;
    begin_label(text, work_thread, "process_name");
    text << R"("name":"rank )" << rank << R"(","budget_bytes":)" << budget_bytes << "}},\n";
    begin_label(text, work_thread, "process_sort_index");
    text << R"("sort_index":)" << rank << "}}";
  }

  /// The name of a thread, with a number where it is not the one for work.
  void put_thread(Text& text, std::uint64_t thread) const {
    text << ",\n";
    begin_label(text, thread, "thread_name");
    if (thread == work_thread)
      text << R"("name":"work)";
    else if (thread < first_receive_thread)
      text << R"("name":"sends )" << thread - first_send_thread;
    else
      text << R"("name":"receives )" << thread - first_receive_thread;
    text << "\"}},\n";
    begin_label(text, thread, "thread_sort_index");
    text << R"("sort_index":)" << thread << "}}";
  }

 private:
  static constexpr std::size_t most_tail = 160;
  /// What comes behind the times, as it was in the last event of a kind: mostly the same again.
  struct Tail {
    TraceEntry entry;
    std::uint8_t size = 0;  ///< 0 before the first event
    std::array<char, most_tail> text;
  };

  void begin_label(Text& text, std::uint64_t thread, std::string_view name) const {
    text << R"({"ph":"M","pid":)" << process_ << R"(,"tid":)" << thread
         << R"(,"ts":0,"cat":"__metadata","name":")" << name << R"(","args":{)";
  }

  static std::uint64_t thread_of(const TraceEntry& entry) {
    if (entry.kind == TraceKind::send) return first_send_thread + entry.lane;
    const bool is_receive = entry.kind == TraceKind::receive || entry.kind == TraceKind::credited;
    return is_receive ? first_receive_thread + entry.lane : work_thread;
  }

  std::array<Tail, categories.size()> tails_;
  std::uint64_t process_ = 0;
  std::int64_t zero_ = 0;
};

}  // namespace

/// How the memory is used; the behind part of it holds text while the trace is read.
struct Trace::Parts {
  static constexpr std::size_t most_entries =
      (memory_bytes - least_buffer - sizeof(TraceText)) / sizeof(TraceEntry);

  TraceText text;
  std::array<TraceEntry, most_entries> entries;
  std::array<const void*, most_messages> keys;
  std::array<TraceEntry, most_messages> messages;
};

Trace::Trace(Ledger& ledger, int rank, Clock clock)
    : rank_(rank),
      clock_(clock),
      zero_seconds_(clock()),
      memory_(ledger, memory_bytes),
      parts_(::new (static_cast<void*>(memory_.data())) Parts) {
  static_assert(sizeof(Parts) <= memory_bytes);
}

std::int64_t Trace::nanoseconds(double seconds) const {
  const double since = (seconds - zero_seconds_) * 1e9;
  return static_cast<std::int64_t>(since + (since < 0 ? -0.5 : 0.5));
}

void Trace::add(const TraceEntry& entry) {
  if (entries_ - spooled_ == Parts::most_entries && !spool()) {
    ++lost_;
    return;
  }
  if (entries_ == 0 || entry.start < first_) first_ = entry.start;
  last_ = std::max(last_, entry.start);
  event_bytes_ += TraceText::most_bytes(entry, static_cast<std::uint64_t>(rank_) + 1);
  parts_->entries[entries_++ - spooled_] = entry;
}

/// The entries in memory to the file.
bool Trace::spool() {
  file_.create_temporary();
  file_.write({reinterpret_cast<const char*>(parts_->entries.data()),
               (entries_ - spooled_) * sizeof(TraceEntry)});
  if (file_.error() != 0) return false;
  spooled_ = entries_;
  return true;
}

void Trace::span(TraceKind kind, const char* name, double start, double end,
                 const TraceDetails& details) {
  latest_ = nanoseconds(end);
  if (kind == TraceKind::wait && end - start < shortest_wait_seconds) return;
  TraceEntry entry = entry_of(kind, name, nanoseconds(start), details);
  entry.duration = latest_ - entry.start;
  add(entry);
}

void Trace::instant(TraceKind kind, const char* name, const TraceDetails& details) {
  add(entry_of(kind, name, look(), details));
}

void Trace::counter(const char* name, std::uint64_t value) {
  if (counted_.name == name && counted_.value == value) return;
  if (counted_.name != name || counted_.value > counted_.highest ||
      latest_ - counted_.time >= shortest_value_nanoseconds)
    add_counter();
  counted_.name = name;
  counted_.value = value;
  counted_.time = latest_;
}

/// Records the latest value.
void Trace::add_counter() {
  if (counted_.name == nullptr) return;
  add(entry_of(TraceKind::counter, counted_.name, counted_.time, {.bytes = counted_.value}));
  counted_.highest = std::max(counted_.highest, counted_.value);
}

void Trace::message_begins(TraceKind kind, const void* key, const TraceDetails& details) {
  static_assert(most_messages == 64, "a bit for each");
  TraceEntry entry = entry_of(kind, name_of(kind), look(), details);
  const auto bit = static_cast<std::size_t>(std::countr_one(under_way_));
  if (bit == most_messages) return add(entry);
  Lanes& lanes = lanes_of(kind);
  entry.lane = static_cast<std::uint16_t>(std::countr_one(lanes.taken));
  lanes.used = std::max(lanes.used, static_cast<std::uint16_t>(entry.lane + 1));
  lanes.taken |= std::uint64_t{1} << entry.lane;
  under_way_ |= std::uint64_t{1} << bit;
  parts_->keys[bit] = key;
  parts_->messages[bit] = entry;
}

void Trace::message_ends(const void* key, std::uint64_t received_bytes) {
  for (std::uint64_t left = under_way_; left != 0; left &= left - 1) {
    const auto bit = static_cast<std::size_t>(std::countr_zero(left));
    if (parts_->keys[bit] != key) continue;
    TraceEntry& entry = parts_->messages[bit];
    entry.duration = latest_ - entry.start;
    if (entry.kind != TraceKind::send && received_bytes > 0) entry.value = received_bytes;
    add(entry);
    lanes_of(entry.kind).taken ^= std::uint64_t{1} << entry.lane;
    under_way_ ^= std::uint64_t{1} << bit;
    return;
  }
}

void Trace::clear() {
  file_.restart();
  entries_ = spooled_ = lost_ = event_bytes_ = 0;
  under_way_ = 0;
  sends_ = receives_ = {};
  counted_ = {};
}

void Trace::rewind(double zero_seconds, std::uint64_t budget_bytes) {
  add_counter();
  // Where some entries are in the file all are, or the last ones are lost with it.
  if (spooled_ > 0 && !spool()) {
    lost_ += entries_ - spooled_;
    entries_ = spooled_;
  }
  parts_->text.start(rank_, nanoseconds(zero_seconds));
  budget_bytes_ = budget_bytes;
}

std::uint64_t Trace::most_text_bytes() const {
  const std::uint64_t lines = 2U + sends_.used + receives_.used;
  return lines * TraceText::most_label_bytes + event_bytes_ +
         entries_ * parts_->text.most_digits_until(last_);
}

/// What is under way is forgotten when the trace is read: its memory is free for text, too.
std::span<char> Trace::text_buffer() {
  char* const begin = reinterpret_cast<char*>(memory_.data());
  TraceEntry* const entries = parts_->entries.data();
  return {reinterpret_cast<char*>(entries + (spooled_ > 0 ? entries_loaded : Parts::most_entries)),
          begin + memory_.size()};
}

void Trace::read(std::span<char> buffer, const std::function<void(std::span<const char>)>& put) {
  Text text(buffer.data());
  const auto make_room = [&] {
    if (buffer.size() - text.size() >= least_text) return;
    put(buffer.first(text.size()));
    text = Text(buffer.data());
  };
  // Metadata: the rank, then the threads that its messages take.
  parts_->text.put_rank(text, budget_bytes_);
  const auto put_threads = [&](std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t thread = first; thread < first + count; ++thread) {
      make_room();
      parts_->text.put_thread(text, thread);
    }
  };
  put_threads(TraceText::work_thread, 1);
  put_threads(TraceText::first_send_thread, sends_.used);
  put_threads(TraceText::first_receive_thread, receives_.used);
  const std::size_t most = spooled_ > 0 ? entries_loaded : Parts::most_entries;
  for (std::uint64_t first = 0; first < entries_; first += most) {
    const auto entries =
        std::span(parts_->entries).first(std::min<std::uint64_t>(most, entries_ - first));
    if (spooled_ > 0 &&
        !file_.read(first * sizeof(TraceEntry),
                    {reinterpret_cast<char*>(entries.data()), entries.size_bytes()})) {
      lost_ += entries_ - first;
      break;
    }
    for (const TraceEntry& entry : entries) {
      make_room();
      parts_->text.put_event(text, entry);
    }
  }
  put(buffer.first(text.size()));
}

}  // namespace valet::observe
