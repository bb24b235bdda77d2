// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "engine/exchange.hpp"
#include "mpi/requests.hpp"
#include "schedule/stream_sizes.hpp"

#include <cstdint>

namespace valet::engine {

/// The receiving half of CYCLIC on one rank: credits the increments of an action as it has buffers
/// for them, and brings what arrives to its slots. Where the final slots of an increment are free
/// and consecutive in memory it lands there at once. Otherwise blocks wait in buffers for
/// their final slots, and beyond the end of an action, as long as half of the buffers are idle.
template <class Index>
class CyclicReceiver {
 public:
  /// Uses places_needed() places of `requests`, from `first_place` on.
  CyclicReceiver(const ExchangeContext& context, const plan::Flows<Index>& flows,
                 const schedule::StreamSizes& sizes, mpi::Requests& requests,
                 std::size_t first_place);
  [[nodiscard]] static std::size_t places_needed(const schedule::StreamSizes& sizes) {
    return 2 * sizes.receive_buffers;
  }

  /// Starts an execution; `buffers` has the memory of all receive buffers.
  void start(std::byte* buffers);
  /// Begins an action; the one before must be done.
  void begin(std::uint32_t source, std::uint64_t blocks, std::uint64_t increment);
  /// Everything that can be done without waiting.
  void advance(Transfer<Index>& transfer, Report& report);
  /// Takes note that the request at `place` completed.
  void completed(Transfer<Index>& transfer, std::size_t place);
  /// All of the action has arrived.
  [[nodiscard]] bool done() const { return arrived_ == total_; }
  /// Bytes of scratch that hold blocks, or wait for them.
  [[nodiscard]] std::uint64_t bytes_in_use() const;
  /// After the last action: brings what still waits in buffers to any slots.
  void finish(Transfer<Index>& transfer);

 private:
  /// Where one message lands.
  struct PostedReceive {
    enum class State : std::uint8_t {
      idle,
      final_run,  ///< on its way to its final slots
      buffer,     ///< on its way to the buffer
      held,       ///< in the buffer
    };
    State state = State::idle;
    Index cursor = 0;  ///< of the first block that is not in a slot
    Index size = 0;    ///< blocks that are not in a slot
    Index offset = 0;  ///< of them in the buffer
  };

  [[nodiscard]] std::byte* buffer_of(std::size_t posted) const;
  [[nodiscard]] std::size_t idle_receive() const;
  bool place(Transfer<Index>& transfer, std::size_t posted,
             typename Transfer<Index>::Misplace misplace);
  bool misplace_one(Transfer<Index>& transfer);
  void post(Transfer<Index>& transfer, std::size_t posted);

  const ExchangeContext context_;
  const plan::Flows<Index>& flows_;
  const schedule::StreamSizes sizes_;
  mpi::Requests& requests_;
  std::size_t first_place_;
  std::size_t block_bytes_;
  Array<Index> cursors_;  ///< per flow, of the next block to credit
  Vector<PostedReceive> posted_;
  std::byte* buffers_ = nullptr;
  std::size_t held_ = 0;

  // The action.
  std::size_t flow_ = 0;
  std::uint64_t blocks_ = 0;
  std::uint64_t increment_ = 1;
  std::uint64_t total_ = 0;     ///< messages
  std::uint64_t credited_ = 0;  ///< messages
  std::uint64_t arrived_ = 0;   ///< messages
};

}  // namespace valet::engine
