// SPDX-License-Identifier: BSD-3-Clause
#include "observe/trace.hpp"

#include "base/promise.hpp"

#include <algorithm>
#include <bit>

namespace valet::observe {

static_assert(Trace::memory_bytes == detail::promised_of_trace);

namespace {

/// Most waits end at once: they would be a third of all entries and nobody would see them.
constexpr double shortest_wait_seconds = 2e-6;
constexpr std::int64_t shortest_value_nanoseconds = 10'000;

const char* name_of(TraceKind kind) {
  if (kind == TraceKind::send) return "send";
  return kind == TraceKind::credited ? "credited receive" : "receive";
}

}  // namespace

Trace::Trace(Ledger& ledger, int rank, Clock clock)
    : rank_(rank),
      clock_(clock),
      zero_seconds_(clock()),
      memory_(ledger, memory_bytes),
      parts_(::new (static_cast<void*>(memory_.data())) Parts) {}

std::int64_t Trace::nanoseconds(double seconds) const {
  const double since = (seconds - zero_seconds_) * 1e9;
  return static_cast<std::int64_t>(since + (since < 0 ? -0.5 : 0.5));
}

TraceEntry Trace::entry_of(TraceKind kind, const char* name, std::int64_t start,
                           const TraceDetails& details) {
  const bool counts = details.number != TraceDetails::no_number;
  return {.start = start,
          .duration = 0,
          .value = counts ? details.number : details.bytes,
          .name = name,
          .peer = details.peer,
          .lane = 0,
          .kind = kind,
          .counts = counts};
}

void Trace::add(const TraceEntry& entry) {
  if (entries_ - spooled_ == most_entries && !spool()) {
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
  TraceDetails details;
  details.bytes = counted_.value;
  add(entry_of(TraceKind::counter, counted_.name, counted_.time, details));
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
  return {reinterpret_cast<char*>(entries + (spooled_ > 0 ? entries_loaded : most_entries)),
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
  const std::size_t most = spooled_ > 0 ? entries_loaded : most_entries;
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
