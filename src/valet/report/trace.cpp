// SPDX-License-Identifier: BSD-3-Clause
#include <valet/report/trace.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>

namespace valet {
namespace {

constexpr std::uint64_t first_receive_thread = 1000;
/// Most waits end at once: they would be a third of all entries and nobody would see them.
constexpr double shortest_wait_seconds = 2e-6;

const char* category(TraceKind kind) {
  static constexpr std::array names{"stage", "phase", "wait",    "gather", "scatter", "copy",
                                    "swap",  "send",  "receive", "grant",  "mark",    "counter"};
  return names[static_cast<std::size_t>(kind)];
}

std::uint64_t thread_of(TraceKind kind, std::uint16_t lane) {
  if (kind == TraceKind::send) return 1U + lane;
  if (kind == TraceKind::receive) return first_receive_thread + lane;
  return 0;
}

/// Text that is put together without printf, which takes longer than all else here. There must be
/// room: Trace::least_text for each event.
class Text {
 public:
  explicit Text(char* memory) : begin_(memory), at_(memory) {}

  Text& operator<<(std::string_view text) {
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
    return *this;
  }
  Text& operator<<(std::uint64_t value) {
    constexpr int most_digits = 20;
    at_ = std::to_chars(at_, at_ + most_digits, value).ptr;
    return *this;
  }
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(at_ - begin_); }

 private:
  char* begin_;
  char* at_;
};

/// How long such a text would be.
class Length {
 public:
  Length& operator<<(std::string_view text) {
    size_ += text.size();
    return *this;
  }
  Length& operator<<(std::uint64_t value) {
    for (; value >= 1000; value /= 1000) size_ += 3;
    size_ += value < 10 ? 1 : value < 100 ? 2 : 3;
    return *this;
  }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::size_t size_ = 0;
};

/// Seconds as microseconds with three digits behind the point.
template <class Text>
void put_microseconds(Text& text, double seconds) {
  const auto nanoseconds = static_cast<std::uint64_t>(std::llrint(std::max(seconds, 0.0) * 1e9));
  const std::uint64_t rest = nanoseconds % 1000;
  text << nanoseconds / 1000 << (rest < 10 ? ".00" : rest < 100 ? ".0" : ".") << rest;
}

}  // namespace

Trace::Trace(Ledger& ledger, int rank, Clock clock)
    : rank_(rank),
      clock_(clock),
      memory_(ledger, memory_bytes),
      parts_(::new (static_cast<void*>(memory_.data())) Parts) {}

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
  if (count_ == most_entries && !spool()) {
    ++lost_;
    return;
  }
  parts_->entries[count_++] = entry;
}

bool Trace::spool() {
  if (!file_.append(std::as_bytes(std::span(parts_->entries).first(count_)))) return false;
  spooled_ += count_;
  count_ = 0;
  return true;
}

void Trace::begin(TraceKind kind, const char* name, const TraceDetails& details) {
  if (depth_ < most_nested) parts_->nested[depth_] = entry_of(kind, name, look(), details);
  ++depth_;
}

void Trace::end() {
  if (depth_ == 0 || --depth_ >= most_nested) return;
  Entry& entry = parts_->nested[depth_];
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
    if (parts_->messages[k].key == nullptr)
      idle = std::min(idle, k);
    else if (parts_->messages[k].entry.kind == kind)
      taken |= std::uint64_t{1} << parts_->messages[k].entry.lane;
  }
  const Entry entry = entry_of(kind, category(kind), look(), details);
  if (idle == most_messages) return add(entry);
  open_ = std::max(open_, idle + 1);
  parts_->messages[idle] = {key, entry};
  std::uint16_t& lane = parts_->messages[idle].entry.lane;
  lane = static_cast<std::uint16_t>(std::countr_one(taken));
  std::uint16_t& lanes = kind == TraceKind::send ? send_lanes_ : receive_lanes_;
  lanes = std::max(lanes, static_cast<std::uint16_t>(lane + 1));
}

void Trace::message_ends(const void* key) {
  for (std::size_t k = 0; k < open_; ++k) {
    Open& open = parts_->messages[k];
    if (open.key != key) continue;
    open.entry.seconds = latest_ - open.entry.start;
    add(open.entry);
    open.key = nullptr;
    while (open_ > 0 && parts_->messages[open_ - 1].key == nullptr) --open_;
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
      static_cast<std::size_t>(std::min<std::uint64_t>(entries_loaded, spooled_ - read_));
  if (size == 0) return false;
  if (!file_.read(read_ * sizeof(Entry),
                  std::as_writable_bytes(std::span(parts_->entries).first(size)))) {
    lost_ += spooled_ - read_;
    spooled_ = read_;
    return false;
  }
  count_ = size;
  next_ = 0;
  return true;
}

std::uint64_t Trace::text_bytes() {
  Length length;
  while (put_label(length)) {
  }
  const bool from_file = in_file();
  while (next_ < count_ || (from_file && load())) {
    put(length, parts_->entries[next_++]);
    ++read_;
  }
  read_ = next_ = label_ = 0;
  if (from_file) count_ = 0;
  return length.size();
}

/// What is under way is forgotten when the trace is read: its place is free for text, too.
std::span<char> Trace::text_buffer() {
  const std::size_t taken = (in_file() ? entries_loaded : most_entries) * sizeof(Entry);
  return {reinterpret_cast<char*>(memory_.data()) + taken, memory_.size() - taken};
}

std::size_t Trace::read(std::span<char> memory) {
  Text text(memory.data());
  const bool from_file = in_file();
  while (memory.size() - text.size() >= least_text) {
    if (put_label(text)) continue;
    if (next_ == count_ && (!from_file || !load())) break;
    put(text, parts_->entries[next_++]);
    ++read_;
  }
  return text.size();
}

/// Metadata: the rank, then the threads that its messages take. False after the last.
template <class Text>
bool Trace::put_label(Text& text) {
  const std::uint32_t line = label_;
  if (line > 1U + send_lanes_ + receive_lanes_) return false;
  ++label_;
  const auto rank = static_cast<std::uint64_t>(rank_);
  const auto begin = [&](std::uint64_t thread, const char* name) {
    text << R"({"ph":"M","pid":)" << rank << R"(,"tid":)" << thread
         << R"(,"ts":0,"cat":"__metadata","name":")" << name << R"(","args":{)";
  };
  if (line == 0) {
    begin(0, "process_name");
    text << R"("name":"rank )" << rank << R"(","budget_bytes":)" << budget_bytes_ << "}},\n";
    begin(0, "process_sort_index");
    text << R"("sort_index":)" << rank << "}}";
    return true;
  }
  const bool sends = line - 2 < send_lanes_;
  const auto lane = static_cast<std::uint16_t>(sends ? line - 2 : line - 2U - send_lanes_);
  const std::uint64_t thread =
      line == 1 ? 0 : thread_of(sends ? TraceKind::send : TraceKind::receive, lane);
  text << ",\n";
  begin(thread, "thread_name");
  text << R"("name":")";
  if (line == 1)
    text << "work";
  else
    text << (sends ? "sends " : "receives ") << std::uint64_t{lane};
  text << "\"}},\n";
  begin(thread, "thread_sort_index");
  text << R"("sort_index":)" << thread << "}}";
  return true;
}

template <class Text>
void Trace::put(Text& text, const Entry& entry) const {
  constexpr std::size_t longest_name = 64;
  const bool is_counter = entry.kind == TraceKind::counter;
  const bool is_instant = entry.kind == TraceKind::grant || entry.kind == TraceKind::mark;
  const char phase = is_counter ? 'C' : is_instant ? 'i' : 'X';
  text << ",\n{\"ph\":\"" << std::string_view(&phase, 1)
       << "\",\"pid\":" << static_cast<std::uint64_t>(rank_)
       << ",\"tid\":" << thread_of(entry.kind, entry.lane) << ",\"ts\":";
  put_microseconds(text, entry.start - zero_);
  if (!is_counter && !is_instant) {
    text << ",\"dur\":";
    put_microseconds(text, entry.seconds);
  }
  text << ",\"cat\":\"" << category(entry.kind) << "\"";
  text << ",\"name\":\"" << std::string_view(entry.name, strnlen(entry.name, longest_name))
       << "\",\"args\":{";
  const bool has_peer = entry.peer != TraceDetails::no_peer;
  if (has_peer) text << "\"peer\":" << static_cast<std::uint64_t>(entry.peer);
  if (entry.value != TraceDetails::no_number)
    text << (has_peer ? ",\"" : "\"") << (entry.counts ? "number" : "bytes")
         << "\":" << entry.value;
  text << "}}";
}

}  // namespace valet
