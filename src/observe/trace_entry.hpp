// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What a trace knows of one event, and how many of them fit into little memory: a rank may record
/// one every few microseconds, and what does not fit has to be written to a file meanwhile.

#include <valet/export.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace valet::observe {

/// What an entry is; its name is the category of the event.
enum class TraceKind : std::uint8_t {
  stage,     ///< plan, exchange, local, verify
  phase,     ///< of a method that has phases
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
constexpr std::size_t trace_kinds = 12;

/// What is known of an entry beside its time.
struct TraceDetails {
  static constexpr int no_peer = -1;
  static constexpr std::uint64_t no_number = ~std::uint64_t{0};
  int peer = no_peer;                ///< "peer": the other rank
  std::uint64_t bytes = no_number;   ///< "bytes"
  std::uint64_t number = no_number;  ///< "number": of the phase
};

struct TraceEntry {
  std::int64_t start = 0;                         ///< nanoseconds, from any moment on
  std::int64_t duration = 0;                      ///< nanoseconds
  std::uint64_t value = TraceDetails::no_number;  ///< bytes, or a number
  const char* name = nullptr;
  std::int32_t peer = TraceDetails::no_peer;
  std::uint16_t lane = 0;  ///< of a message
  TraceKind kind = TraceKind::mark;
  bool counts = false;  ///< value is a number, not bytes
};

/// Packs consecutive entries and unpacks them in the same order: times as differences, the rest
/// where it differs from the last entry of that kind. Six bytes for most.
class VALET_EXPORT TracePacking {
 public:
  /// The longest entry.
  static constexpr std::size_t most_bytes = 64;

  /// @return  Bytes written, at most most_bytes.
  std::size_t pack(const TraceEntry& entry, std::byte* memory);
  /// @param repeats  Whether name, value and peer are those of the last entry of that kind.
  /// @return  Bytes read; as many as were written.
  std::size_t unpack(const std::byte* memory, TraceEntry& entry, bool& repeats);

 private:
  struct Last {
    const char* name = nullptr;
    std::uint64_t value = TraceDetails::no_number;
    std::int32_t peer = TraceDetails::no_peer;
    std::uint16_t lane = 0;
    bool counts = false;
  };

  std::array<Last, trace_kinds> last_{};
  std::int64_t end_ = 0;  ///< of the entry before
};

}  // namespace valet::observe
