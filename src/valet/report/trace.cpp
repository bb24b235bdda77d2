// SPDX-License-Identifier: BSD-3-Clause
#include <valet/report/trace.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <type_traits>
#include <utility>

namespace valet {
namespace {

constexpr std::size_t text_bytes = 4096;
constexpr int first_receive_thread = 1000;
/// Most waits end at once: they would be a third of all entries and nobody would see them.
constexpr double shortest_wait_seconds = 2e-6;

const char* category(TraceKind kind) {
  constexpr std::array names{"stage", "phase", "wait",    "gather", "scatter", "copy",
                             "swap",  "send",  "receive", "grant",  "mark",    "counter"};
  return names[static_cast<std::size_t>(kind)];
}

int thread_of(TraceKind kind, std::uint16_t lane) {
  if (kind == TraceKind::send) return 1 + lane;
  if (kind == TraceKind::receive) return first_receive_thread + lane;
  return 0;
}

std::size_t length_of(int printed) { return static_cast<std::size_t>(std::max(printed, 0)); }

/// Text that is put together without printf, which takes longer than all else here.
class Text {
 public:
  explicit Text(std::span<char> memory)
      : begin_(memory.data()), at_(begin_), end_(begin_ + memory.size()) {}

  Text& operator<<(std::string_view text) {
    const std::size_t size = std::min(text.size(), static_cast<std::size_t>(end_ - at_));
    at_ = std::copy_n(text.data(), size, at_);
    return *this;
  }
  template <class Integer>
  requires std::is_integral_v<Integer> Text& operator<<(Integer value) {
    at_ = std::to_chars(at_, end_, value).ptr;
    return *this;
  }
  /// Seconds as microseconds with three digits behind the point.
  Text& microseconds(double seconds) {
    const std::int64_t nanoseconds = std::llround(std::max(seconds, 0.0) * 1e9);
    const auto rest = static_cast<int>(nanoseconds % 1000);
    *this << nanoseconds / 1000 << (rest < 10 ? ".00" : rest < 100 ? ".0" : ".") << rest;
    return *this;
  }
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(at_ - begin_); }

 private:
  char* begin_;
  char* at_;
  char* end_;
};

}  // namespace

Trace::Trace(Ledger& ledger, int rank, Clock clock)
    : rank_(rank),
      clock_(clock),
      entries_(ledger, (memory_bytes - text_bytes - most_messages * sizeof(Open) -
                        most_nested * sizeof(Entry)) /
                           sizeof(Entry)),
      messages_(ledger, most_messages),
      nested_(ledger, most_nested),
      text_(ledger, text_bytes) {}

Trace::Entry Trace::entry_of(TraceKind kind, const char* name, double start,
                             const TraceDetails& details) {
  const bool counts = details.number != TraceDetails::no_number;
  return {.start = start,
          .seconds = 0,
          .value = counts ? details.number : details.bytes,
          .name = name,
          .peer = details.peer,
          .lane = 0,
          .kind = kind,
          .counts = counts};
}

void Trace::add(const Entry& entry) {
  if (entries() == 0 || entry.start < first_) first_ = entry.start;
  if (count_ == entries_.size() && !spool()) {
    ++lost_;
    return;
  }
  entries_[count_++] = entry;
}

bool Trace::spool() {
  if (!file_.append(std::as_bytes(std::span(entries_.data(), count_)))) return false;
  spooled_ += count_;
  count_ = 0;
  return true;
}

void Trace::begin(TraceKind kind, const char* name, const TraceDetails& details) {
  if (depth_ < most_nested) nested_[depth_] = entry_of(kind, name, look(), details);
  ++depth_;
}

void Trace::end() {
  if (depth_ == 0 || --depth_ >= most_nested) return;
  Entry& entry = nested_[depth_];
  entry.seconds = look() - entry.start;
  add(entry);
}

void Trace::span(TraceKind kind, const char* name, double start, double end,
                 const TraceDetails& details) {
  latest_ = end;
  if (kind == TraceKind::wait && end - start < shortest_wait_seconds) return;
  Entry entry = entry_of(kind, name, start, details);
  entry.seconds = end - start;
  add(entry);
}

void Trace::instant(TraceKind kind, const char* name, const TraceDetails& details) {
  add(entry_of(kind, name, look(), details));
}

void Trace::counter(const char* name, std::uint64_t value) {
  if (counted_ == name && counted_value_ == value) return;
  counted_ = name;
  counted_value_ = value;
  TraceDetails details;
  details.bytes = value;
  add(entry_of(TraceKind::counter, name, latest_, details));
}

void Trace::message_begins(TraceKind kind, const void* key, const TraceDetails& details) {
  std::uint64_t taken = 0;  // a bit for each lane of this kind
  static_assert(most_messages <= 64);
  std::size_t idle = open_;
  for (std::size_t k = 0; k < open_; ++k) {
    if (messages_[k].key == nullptr)
      idle = std::min(idle, k);
    else if (messages_[k].entry.kind == kind)
      taken |= std::uint64_t{1} << messages_[k].entry.lane;
  }
  const Entry entry = entry_of(kind, category(kind), look(), details);
  if (idle == most_messages) return add(entry);
  open_ = std::max(open_, idle + 1);
  messages_[idle] = {key, entry};
  std::uint16_t& lane = messages_[idle].entry.lane;
  lane = static_cast<std::uint16_t>(std::countr_one(taken));
  std::uint16_t& lanes = kind == TraceKind::send ? send_lanes_ : receive_lanes_;
  lanes = std::max(lanes, static_cast<std::uint16_t>(lane + 1));
}

void Trace::message_ends(const void* key) {
  for (std::size_t k = 0; k < open_; ++k) {
    Open& open = messages_[k];
    if (open.key != key) continue;
    open.entry.seconds = latest_ - open.entry.start;
    add(open.entry);
    open.key = nullptr;
    while (open_ > 0 && messages_[open_ - 1].key == nullptr) --open_;
    return;
  }
}

void Trace::clear() {
  file_.clear();
  count_ = depth_ = open_ = 0;
  spooled_ = lost_ = 0;
  counted_ = nullptr;
  send_lanes_ = receive_lanes_ = 0;
}

void Trace::rewind(double zero_seconds, std::uint64_t budget_bytes) {
  // Where some entries are in the file all are, or the last ones are lost with it.
  if (spooled_ > 0 && !spool()) lost_ += std::exchange(count_, 0);
  zero_ = zero_seconds;
  budget_bytes_ = budget_bytes;
  read_ = next_ = label_ = 0;
  if (spooled_ > 0) count_ = 0;
}

/// The next entries of the file into memory.
bool Trace::load() {
  const auto size =
      static_cast<std::size_t>(std::min<std::uint64_t>(entries_.size(), spooled_ - read_));
  if (size == 0) return false;
  if (!file_.read(read_ * sizeof(Entry),
                  std::as_writable_bytes(std::span(entries_.data(), size)))) {
    lost_ += spooled_ - read_;
    spooled_ = read_;
    return false;
  }
  count_ = size;
  next_ = 0;
  return true;
}

std::size_t Trace::read(std::span<char> text) {
  std::size_t size = 0;
  const bool in_file = spooled_ > 0;
  while (text.size() - size >= least_text) {
    const std::span<char> rest = text.subspan(size);
    if (const std::size_t label = format_label(rest); label > 0) {
      size += label;
      continue;
    }
    if (next_ == count_ && (!in_file || !load())) break;
    size += format(entries_[next_++], rest);
    ++read_;
  }
  return size;
}

/// One line of metadata: the rank, then the threads that its messages take. 0 after the last.
std::size_t Trace::format_label(std::span<char> text) {
  const std::uint32_t line = label_;
  if (line > 1U + send_lanes_ + receive_lanes_) return 0;
  ++label_;
  if (line == 0)
    return length_of(std::snprintf(
        text.data(), text.size(),
        "{\"ph\":\"M\",\"pid\":%d,\"tid\":0,\"name\":\"process_name\",\"args\":{\"name\":\"rank "
        "%d\",\"budget_bytes\":%llu}},\n{\"ph\":\"M\",\"pid\":%d,\"tid\":0,\"name\":"
        "\"process_sort_index\",\"args\":{\"sort_index\":%d}}",
        rank_, rank_, static_cast<unsigned long long>(budget_bytes_), rank_, rank_));
  int thread = 0;
  std::array<char, 32> name{"work"};
  if (line > 1) {
    const bool sends = line - 2 < send_lanes_;
    const auto lane = static_cast<std::uint16_t>(sends ? line - 2 : line - 2U - send_lanes_);
    thread = thread_of(sends ? TraceKind::send : TraceKind::receive, lane);
    std::snprintf(name.data(), name.size(), "%s %d", sends ? "sends" : "receives", lane);
  }
  return length_of(std::snprintf(
      text.data(), text.size(),
      ",\n{\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"name\":\"thread_name\",\"args\":{\"name\":\"%s\"}},"
      "\n{\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"name\":\"thread_sort_index\",\"args\":{"
      "\"sort_index\":%d}}",
      rank_, thread, name.data(), rank_, thread, thread));
}

std::size_t Trace::format(const Entry& entry, std::span<char> memory) const {
  constexpr std::size_t longest_name = 64;
  const std::string_view name = std::string_view(entry.name).substr(0, longest_name);
  const bool is_counter = entry.kind == TraceKind::counter;
  const bool is_instant = entry.kind == TraceKind::grant || entry.kind == TraceKind::mark;
  Text text(memory);
  text << ",\n{\"ph\":\""
       << (is_counter   ? "C"
           : is_instant ? "i"
                        : "X")
       << "\",\"pid\":" << rank_ << ",\"tid\":" << thread_of(entry.kind, entry.lane) << ",\"ts\":";
  text.microseconds(entry.start - zero_);
  if (is_instant) text << ",\"s\":\"t\"";
  if (!is_counter && !is_instant) (text << ",\"dur\":").microseconds(entry.seconds);
  if (!is_counter) text << ",\"cat\":\"" << category(entry.kind) << "\"";
  text << ",\"name\":\"" << name << "\",\"args\":{";
  const bool has_peer = entry.peer != TraceDetails::no_peer;
  if (has_peer) text << "\"peer\":" << entry.peer;
  if (entry.value != TraceDetails::no_number)
    text << (has_peer ? ",\"" : "\"") << (entry.counts ? "number" : "bytes")
         << "\":" << entry.value;
  text << "}}";
  return text.size();
}

}  // namespace valet
