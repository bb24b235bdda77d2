// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "engine/exchange.hpp"
#include "mpi/message.hpp"
#include "mpi/requests.hpp"
#include "schedule/stream_sizes.hpp"

#include <cstdint>

namespace valet::engine {

/// The sending half of CYCLIC on one rank: sends what an action says, one increment a message. It
/// packs ahead of the credits as far as it has buffers, which frees the slots; without buffers
/// increments are of one block, which is sent from where it is.
template <class Index>
class CyclicSender {
 public:
  /// Uses places_needed() places of `requests`, from `first_place` on.
  CyclicSender(const ExchangeContext& context, const plan::Flows<Index>& flows,
               const schedule::StreamSizes& sizes, mpi::Requests& requests,
               std::size_t first_place);
  [[nodiscard]] static std::size_t places_needed(const schedule::StreamSizes& sizes);

  /// Starts an execution; `buffers` has the memory of all send buffers.
  void start(std::byte* buffers);
  /// Begins an action; the one before must be done.
  void begin(std::uint32_t destination, std::uint64_t blocks, std::uint64_t increment);
  /// Everything that can be done without waiting.
  void advance(Transfer<Index>& transfer, Report& report);
  /// Takes note that the request at `place` completed.
  void completed(Transfer<Index>& transfer, std::size_t place);
  /// All of the action has left.
  [[nodiscard]] bool done() const { return away_ == total_; }
  /// Bytes of scratch that hold blocks.
  [[nodiscard]] std::uint64_t bytes_in_use() const;

 private:
  [[nodiscard]] std::size_t buffers_count() const;
  [[nodiscard]] std::size_t place_of(std::uint64_t message) const;
  [[nodiscard]] std::uint64_t size_of(std::uint64_t message) const;
  [[nodiscard]] std::span<const Index> slots_of(const Transfer<Index>& transfer,
                                                std::uint64_t message) const;
  [[nodiscard]] std::byte* buffer_of(std::uint64_t message) const;
  void listen();
  void stage(Transfer<Index>& transfer);
  void post(Transfer<Index>& transfer, std::uint64_t message);

  const ExchangeContext context_;
  const plan::Flows<Index>& flows_;
  const schedule::StreamSizes sizes_;
  mpi::Requests& requests_;
  std::size_t first_place_;
  std::size_t block_bytes_;
  Array<Index> sent_;  ///< per flow, blocks of the actions that are done or begun
  mpi::PieceList pieces_;
  std::byte* buffers_ = nullptr;

  // The action. Its messages are staged, credited and posted in order.
  std::size_t flow_ = 0;
  std::uint64_t first_ = 0;  ///< block of the flow
  std::uint64_t blocks_ = 0;
  std::uint64_t increment_ = 1;
  std::uint64_t total_ = 0;  ///< messages
  std::uint64_t staged_ = 0;
  std::uint64_t credited_ = 0;
  std::uint64_t posted_ = 0;
  std::uint64_t away_ = 0;
};

}  // namespace valet::engine
