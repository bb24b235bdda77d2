// SPDX-License-Identifier: BSD-3-Clause
#include "observe/trace.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace valet::observe {
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
  if (size_ + TracePacking::most_bytes > most_packed && !spool()) {
    ++lost_;
    return;
  }
  if (entries_++ == 0 || entry.start < first_) first_ = entry.start;
  last_ = std::max(last_, entry.start);
  event_bytes_ += TraceText::most_bytes(entry, static_cast<std::uint64_t>(rank_) + 1);
  size_ += parts_->packing.pack(entry, parts_->packed.data() + size_);
}

bool Trace::spool() {
  if (!file_.append(std::span(parts_->packed).first(size_))) return false;
  spooled_ = entries_;
  size_ = 0;
  return true;
}

void Trace::begin(TraceKind kind, const char* name, const TraceDetails& details) {
  if (depth_ < most_nested) parts_->nested[depth_] = entry_of(kind, name, look(), details);
  ++depth_;
}

void Trace::end() {
  if (depth_ == 0 || --depth_ >= most_nested) return;
  TraceEntry& entry = parts_->nested[depth_];
  entry.duration = look() - entry.start;
  add(entry);
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
  const auto slot = static_cast<std::size_t>(std::countr_one(under_way_));
  if (slot == most_messages) return add(entry);
  const bool sends = kind == TraceKind::send;
  std::uint64_t& taken = sends ? send_lanes_taken_ : receive_lanes_taken_;
  std::uint16_t& lanes = sends ? send_lanes_ : receive_lanes_;
  entry.lane = static_cast<std::uint16_t>(std::countr_one(taken));
  lanes = std::max(lanes, static_cast<std::uint16_t>(entry.lane + 1));
  taken |= std::uint64_t{1} << entry.lane;
  under_way_ |= std::uint64_t{1} << slot;
  parts_->keys[slot] = key;
  parts_->messages[slot] = entry;
}

void Trace::message_ends(const void* key) {
  for (std::uint64_t left = under_way_; left != 0; left &= left - 1) {
    const auto slot = static_cast<std::size_t>(std::countr_zero(left));
    if (parts_->keys[slot] != key) continue;
    TraceEntry& entry = parts_->messages[slot];
    entry.duration = latest_ - entry.start;
    add(entry);
    (entry.kind == TraceKind::send ? send_lanes_taken_ : receive_lanes_taken_) ^= std::uint64_t{1}
                                                                                  << entry.lane;
    under_way_ ^= std::uint64_t{1} << slot;
    return;
  }
}

void Trace::clear() {
  file_.clear();
  parts_->packing = {};
  size_ = depth_ = 0;
  under_way_ = send_lanes_taken_ = receive_lanes_taken_ = 0;
  entries_ = spooled_ = lost_ = event_bytes_ = 0;
  counted_ = {};
  send_lanes_ = receive_lanes_ = 0;
}

void Trace::rewind(double zero_seconds, std::uint64_t budget_bytes) {
  add_counter();
  // Where some entries are in the file all are, or the last ones are lost with it.
  if (in_file() && !spool()) {
    lost_ += entries_ - spooled_;
    entries_ = spooled_;
  }
  parts_->text.start(rank_, nanoseconds(zero_seconds));
  parts_->packing = {};
  budget_bytes_ = budget_bytes;
  read_ = loaded_ = 0;
  at_ = label_ = 0;
  if (in_file()) size_ = 0;
}

/// The next bytes of the file into memory, behind those that are left.
bool Trace::load() {
  const auto memory = std::span(parts_->packed).first(bytes_loaded);
  const std::size_t left = size_ - at_;
  std::memmove(memory.data(), memory.data() + at_, left);
  const auto wanted = memory.subspan(left, static_cast<std::size_t>(std::min<std::uint64_t>(
                                               bytes_loaded - left, file_.size() - loaded_)));
  at_ = 0;
  size_ = left + wanted.size();
  loaded_ += wanted.size();
  return file_.read(loaded_ - wanted.size(), wanted);
}

bool Trace::next(TraceEntry& entry, bool& repeats) {
  if (read_ == entries_) return false;
  if (in_file() && size_ - at_ < TracePacking::most_bytes && loaded_ < file_.size() && !load()) {
    lost_ += entries_ - read_;
    entries_ = read_;
    return false;
  }
  at_ += parts_->packing.unpack(parts_->packed.data() + at_, entry, repeats);
  ++read_;
  return true;
}

std::uint64_t Trace::most_text_bytes() const {
  const std::uint64_t lines = 2U + send_lanes_ + receive_lanes_;
  return lines * TraceText::most_label_bytes + event_bytes_ +
         entries_ * parts_->text.most_digits_until(last_);
}

/// What is under way is forgotten when the trace is read: its memory is free for text, too.
std::span<char> Trace::text_buffer() {
  char* const begin = reinterpret_cast<char*>(memory_.data());
  char* const text =
      reinterpret_cast<char*>(parts_->packed.data()) + (in_file() ? bytes_loaded : most_packed);
  return {text, begin + memory_.size()};
}

std::size_t Trace::read(std::span<char> memory) {
  Text text(memory.data());
  const auto has_room = [&] { return memory.size() - text.size() >= least_text; };
  while (has_room() && put_label(text)) {
  }
  TraceEntry entry;
  for (bool repeats = false; has_room() && next(entry, repeats);)
    parts_->text.put_event(text, entry, repeats);
  return text.size();
}

/// Metadata: the rank, then the threads that its messages take. False after the last.
bool Trace::put_label(Text& text) {
  const std::uint32_t line = label_;
  if (line > 1U + send_lanes_ + receive_lanes_) return false;
  ++label_;
  if (line == 0)
    parts_->text.put_rank(text, budget_bytes_);
  else if (line == 1)
    parts_->text.put_thread(text, TraceText::work_thread);
  else if (line - 2 < send_lanes_)
    parts_->text.put_thread(text, TraceText::first_send_thread + line - 2);
  else
    parts_->text.put_thread(text, TraceText::first_receive_thread + line - 2U - send_lanes_);
  return true;
}

}  // namespace valet::observe
