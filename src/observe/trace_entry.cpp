// SPDX-License-Identifier: BSD-3-Clause
#include "observe/trace_entry.hpp"

#include <cstring>

namespace valet::observe {
namespace {

// The first byte: the kind, and what is not as it was.
constexpr unsigned kind_bits = 4;
constexpr unsigned new_name = 16, new_value = 32, new_peer = 64, new_lane = 128;
static_assert(trace_kinds <= 1U << kind_bits);

// Seven bits to a byte; the highest bit says that more follow.
constexpr unsigned digit_bits = 7;
constexpr std::uint64_t digit = 1U << digit_bits;

std::byte* put(std::byte* at, std::uint64_t number) {
  for (; number >= digit; number >>= digit_bits)
    *at++ = static_cast<std::byte>(number % digit + digit);
  *at++ = static_cast<std::byte>(number);
  return at;
}

const std::byte* get(const std::byte* at, std::uint64_t& number) {
  number = 0;
  for (unsigned shift = 0;; shift += digit_bits) {
    const auto byte = std::to_integer<std::uint64_t>(*at++);
    number |= byte % digit << shift;
    if (byte < digit) return at;
  }
}

/// Small numbers of either sign as small numbers.
std::uint64_t folded(std::int64_t number) {
  const auto bits = static_cast<std::uint64_t>(number);
  return bits << 1 ^ (number < 0 ? ~std::uint64_t{0} : 0);
}
std::int64_t unfolded(std::uint64_t bits) {
  return static_cast<std::int64_t>(bits >> 1 ^ (bits % 2 == 0 ? 0 : ~std::uint64_t{0}));
}

}  // namespace

std::size_t TracePacking::pack(const TraceEntry& entry, std::byte* memory) {
  Last& last = last_[static_cast<std::size_t>(entry.kind)];
  unsigned head = static_cast<unsigned>(entry.kind);
  std::byte* at = put(memory + 1, folded(entry.start + entry.duration - end_));
  at = put(at, static_cast<std::uint64_t>(entry.duration));
  if (entry.name != last.name || entry.counts != last.counts) {
    head |= new_name;
    std::memcpy(at, static_cast<const void*>(&entry.name), sizeof entry.name);
    at += sizeof entry.name;
    *at++ = static_cast<std::byte>(entry.counts);
  }
  // What is not known is the largest number, or -1: one more is 0.
  if (entry.value != last.value) {
    head |= new_value;
    at = put(at, entry.value + 1);
  }
  if (entry.peer != last.peer) {
    head |= new_peer;
    at = put(at, static_cast<std::uint64_t>(std::int64_t{entry.peer} + 1));
  }
  if (entry.lane != last.lane) {
    head |= new_lane;
    at = put(at, entry.lane);
  }
  *memory = static_cast<std::byte>(head);
  last = {entry.name, entry.value, entry.peer, entry.lane, entry.counts};
  end_ = entry.start + entry.duration;
  return static_cast<std::size_t>(at - memory);
}

std::size_t TracePacking::unpack(const std::byte* memory, TraceEntry& entry, bool& repeats) {
  const auto head = std::to_integer<unsigned>(*memory);
  const unsigned kind = head % (1U << kind_bits);
  repeats = (head & (new_name | new_value | new_peer)) == 0;
  Last& last = last_[kind];
  std::uint64_t end = 0, duration = 0, number = 0;
  const std::byte* at = get(get(memory + 1, end), duration);
  if ((head & new_name) != 0) {
    std::memcpy(static_cast<void*>(&last.name), at, sizeof last.name);
    at += sizeof last.name;
    last.counts = *at++ != std::byte{0};
  }
  if ((head & new_value) != 0) {
    at = get(at, number);
    last.value = number - 1;
  }
  if ((head & new_peer) != 0) {
    at = get(at, number);
    last.peer = static_cast<std::int32_t>(static_cast<std::int64_t>(number) - 1);
  }
  if ((head & new_lane) != 0) {
    at = get(at, number);
    last.lane = static_cast<std::uint16_t>(number);
  }
  end_ += unfolded(end);
  entry = {.start = end_ - static_cast<std::int64_t>(duration),
           .duration = static_cast<std::int64_t>(duration),
           .value = last.value,
           .name = last.name,
           .peer = last.peer,
           .lane = last.lane,
           .kind = static_cast<TraceKind>(kind),
           .counts = last.counts};
  return static_cast<std::size_t>(at - memory);
}

}  // namespace valet::observe
