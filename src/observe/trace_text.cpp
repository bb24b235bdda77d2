// SPDX-License-Identifier: BSD-3-Clause
#include "observe/trace_text.hpp"

#include <algorithm>
#include <charconv>

namespace valet::observe {
namespace {

constexpr std::size_t longest_name = 64;

constexpr std::array<std::string_view, trace_kinds> categories{
    "stage", "phase", "wait",    "gather",         "scatter", "copy",
    "swap",  "send",  "receive", "credit,receive", "mark",    "counter"};

bool is_interval(TraceKind kind) { return kind != TraceKind::counter && kind != TraceKind::mark; }

std::uint64_t thread_of(TraceKind kind, std::uint16_t lane) {
  if (kind == TraceKind::send) return TraceText::first_send_thread + lane;
  if (TraceText::is_receive(kind)) return TraceText::first_receive_thread + lane;
  return TraceText::work_thread;
}

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

}  // namespace

Text& Text::operator<<(std::uint64_t value) {
  constexpr int most = 20;
  if (value < 10)
    *at_++ = static_cast<char>('0' + value);
  else
    at_ = std::to_chars(at_, at_ + most, value).ptr;
  return *this;
}

void TraceText::start(int rank, std::int64_t zero) {
  process_ = static_cast<std::uint64_t>(rank) + 1;
  zero_ = zero;
  for (Tail& tail : tails_) tail.size = 0;
}

void TraceText::put_event(Text& text, const TraceEntry& entry) {
  text << (is_interval(entry.kind)            ? ",\n{\"ph\":\"X\",\"pid\":"
           : entry.kind == TraceKind::counter ? ",\n{\"ph\":\"C\",\"pid\":"
                                              : ",\n{\"ph\":\"i\",\"pid\":")
       << process_ << ",\"tid\":" << thread_of(entry.kind, entry.lane) << ",\"ts\":";
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

std::uint64_t TraceText::most_bytes(const TraceEntry& entry, std::uint64_t process) {
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

std::uint64_t TraceText::most_digits_until(std::int64_t end) const {
  return most_digits(static_cast<std::uint64_t>(std::max<std::int64_t>(end - zero_, 0)) / 1000);
}

void TraceText::begin_label(Text& text, std::uint64_t thread, std::string_view name) const {
  text << R"({"ph":"M","pid":)" << process_ << R"(,"tid":)" << thread
       << R"(,"ts":0,"cat":"__metadata","name":")" << name << R"(","args":{)";
}

void TraceText::put_rank(Text& text, std::uint64_t budget_bytes) const {
  const std::uint64_t rank = process_ - 1;
  begin_label(text, work_thread, "process_name");
  text << R"("name":"rank )" << rank << R"(","budget_bytes":)" << budget_bytes << "}},\n";
  begin_label(text, work_thread, "process_sort_index");
  text << R"("sort_index":)" << rank << "}}";
}

void TraceText::put_thread(Text& text, std::uint64_t thread) const {
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

}  // namespace valet::observe
