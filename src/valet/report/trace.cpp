// SPDX-License-Identifier: BSD-3-Clause
#include <valet/report/trace.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

namespace valet {
namespace {

constexpr std::size_t text_bytes = 4096;
constexpr int first_receive_thread = 1000;

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

double microseconds(double seconds) { return seconds * 1e6; }

std::size_t length_of(int printed) { return static_cast<std::size_t>(std::max(printed, 0)); }

}  // namespace

Trace::Trace(Ledger& ledger, int rank, Clock clock)
    : rank_(rank),
      clock_(clock),
      entries_(ledger, (memory_bytes - text_bytes - most_messages * sizeof(Open) -
                        most_nested * sizeof(Entry)) /
                           sizeof(Entry)),
      messages_(ledger, most_messages),
      nested_(ledger, most_nested),
      text_(ledger, text_bytes) {
  std::fill(messages_.begin(), messages_.end(), Open{});
}

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
  if (depth_ < most_nested) nested_[depth_] = entry_of(kind, name, now(), details);
  ++depth_;
}

void Trace::end() {
  if (depth_ == 0 || --depth_ >= most_nested) return;
  Entry& entry = nested_[depth_];
  entry.seconds = now() - entry.start;
  add(entry);
}

void Trace::span(TraceKind kind, const char* name, double start, const TraceDetails& details) {
  Entry entry = entry_of(kind, name, start, details);
  entry.seconds = now() - start;
  add(entry);
}

void Trace::instant(TraceKind kind, const char* name, const TraceDetails& details) {
  add(entry_of(kind, name, now(), details));
}

void Trace::counter(const char* name, std::uint64_t value) {
  if (counted_ == name && counted_value_ == value) return;
  counted_ = name;
  counted_value_ = value;
  TraceDetails details;
  details.bytes = value;
  add(entry_of(TraceKind::counter, name, now(), details));
}

void Trace::message_begins(TraceKind kind, const void* key, const TraceDetails& details) {
  std::uint64_t taken = 0;  // a bit for each lane of this kind
  static_assert(most_messages <= 64);
  Open* idle = nullptr;
  for (Open& open : messages_) {
    if (open.key == nullptr)
      idle = &open;
    else if (open.entry.kind == kind)
      taken |= std::uint64_t{1} << open.entry.lane;
  }
  if (idle == nullptr) return add(entry_of(kind, category(kind), now(), details));
  *idle = {key, entry_of(kind, category(kind), now(), details)};
  while ((taken >> idle->entry.lane & 1U) != 0) ++idle->entry.lane;
  std::uint16_t& lanes = kind == TraceKind::send ? send_lanes_ : receive_lanes_;
  lanes = std::max(lanes, static_cast<std::uint16_t>(idle->entry.lane + 1));
}

void Trace::message_ends(const void* key) {
  for (Open& open : messages_) {
    if (open.key != key) continue;
    open.entry.seconds = now() - open.entry.start;
    add(open.entry);
    open.key = nullptr;
    return;
  }
}

void Trace::clear() {
  std::fill(messages_.begin(), messages_.end(), Open{});
  file_.clear();
  count_ = depth_ = 0;
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

std::size_t Trace::format(const Entry& entry, std::span<char> text) const {
  std::size_t size = 0;
  const auto print = [&](const char* pattern, auto... values) {
    size += length_of(std::snprintf(text.data() + size, text.size() - size, pattern, values...));
  };
  const double start = microseconds(entry.start - zero_);
  const auto value = static_cast<unsigned long long>(entry.value);
  if (entry.kind == TraceKind::counter) {
    print(
        ",\n{\"ph\":\"C\",\"pid\":%d,\"tid\":0,\"ts\":%.3f,\"name\":\"%.64s\",\"args\":{"
        "\"bytes\":%llu}}",
        rank_, start, entry.name, value);
    return size;
  }
  const bool instant = entry.kind == TraceKind::grant || entry.kind == TraceKind::mark;
  print(",\n{\"ph\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,", instant ? "i" : "X", rank_,
        thread_of(entry.kind, entry.lane), start);
  if (instant)
    print("\"s\":\"t\",");
  else
    print("\"dur\":%.3f,", microseconds(entry.seconds));
  print("\"cat\":\"%s\",\"name\":\"%.64s\",\"args\":{", category(entry.kind), entry.name);
  if (entry.peer != TraceDetails::no_peer) print("\"peer\":%d", entry.peer);
  if (entry.value != TraceDetails::no_number)
    print("%s\"%s\":%llu", entry.peer != TraceDetails::no_peer ? "," : "",
          entry.counts ? "number" : "bytes", value);
  print("}}");
  return size;
}

}  // namespace valet
