// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "engine/cyclic/cyclic_receiver.hpp"
#include "engine/cyclic/cyclic_root.hpp"
#include "engine/cyclic/cyclic_sender.hpp"

#include <array>
#include <cstdint>

namespace valet::engine {

/// What every rank of CYCLIC does: tells the root its edges, one at a time, and carries out what
/// the root schedules for it, one action after another. It sees from the actions themselves when
/// the root needs its next edge, and when there is nothing more to come.
template <class Index>
class CyclicFollower {
 public:
  /// Uses places_needed() places of `requests`, from `first_place` on.
  CyclicFollower(const ExchangeContext& context, const plan::Flows<Index>& flows,
                 const schedule::StreamSizes& sizes, mpi::Requests& requests,
                 std::size_t first_place);
  [[nodiscard]] static std::size_t places_needed(const schedule::StreamSizes& sizes);

  /// Starts an execution and tells the root; `buffers` has the memory of all buffers.
  void start(const Transfer<Index>& transfer, std::byte* buffers, Report& report);
  /// Everything that can be done without waiting.
  void advance(Transfer<Index>& transfer, Report& report);
  /// Takes note that the request at `place` completed.
  void completed(Transfer<Index>& transfer, std::size_t place, Report& report);
  /// After the last action: brings every block to a slot.
  void finish(Transfer<Index>& transfer) { receiver_.finish(transfer); }
  /// Every action has been carried out, and the root been told what it waits for.
  [[nodiscard]] bool done() const {
    return !busy_ && waiting_ == 0 && unscheduled_ == 0 && carried_out_ < actions_per_note;
  }

 private:
  [[nodiscard]] const plan::Outgoing<Index>& edge(std::size_t k) const;
  void listen();
  void take_action(Report& report);
  void begin_action();
  bool end_action();
  void tell(Report& report);
  void post_note(std::size_t place, const CyclicNote& note, Report& report);

  const ExchangeContext context_;
  const plan::Flows<Index>& flows_;
  const schedule::StreamSizes sizes_;
  mpi::Requests& requests_;
  std::size_t first_place_;
  std::size_t first_edge_;  ///< flow that is offered first
  CyclicSender<Index> sender_;
  CyclicReceiver<Index> receiver_;

  schedule::Action incoming_;
  Array<schedule::Action> actions_;  ///< a ring
  std::size_t next_ = 0;             ///< of the ring
  std::size_t waiting_ = 0;          ///< in the ring
  bool busy_ = false;                ///< with an action
  std::uint64_t unscheduled_ = 0;    ///< blocks that leave or arrive and are in no action yet
  std::uint64_t carried_out_ = 0;    ///< actions that the root was not told of

  std::size_t edge_ = 0;         ///< the root has it
  std::uint64_t edge_left_ = 0;  ///< of its blocks, not scheduled
  bool owes_edge_ = false;
  std::array<CyclicNote, 2> notes_{};
};

}  // namespace valet::engine
