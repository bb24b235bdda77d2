// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "engine/cyclic/cyclic_root.hpp"
#include "engine/slots/slot_exchange.hpp"

#include <array>
#include <memory>

namespace valet::engine {

/// CYCLIC: a root finds cycles and shifts, the ranks carry them out without root and barriers.
///
/// Source: S. F. Siegel, A. R. Siegel, "MADRE: The Memory-Aware Data Redistribution Engine",
/// section 3.2, which the search follows (schedule/cyclic.hpp). What differs: ranks begin while the
/// root still schedules, so nobody stores a whole schedule; a message is at most what a buffer
/// holds; blocks are not sorted between actions, they wait in buffers for their slots and what is
/// misplaced is put right when its slot becomes free. An action allows its blocks to come and to
/// go; how, is the business of SlotExchange.
///
/// Why it is complete. A rank carries its actions out in the order in which the root made them. Of
/// the cycles and shifts that are not carried out take the first: all its ranks are at it. A rank
/// credits an increment when it has an idle buffer, and can fill free slots from a buffer. If none
/// of the ranks of a cycle could go on, each would hold arrivals for which no slot is free, so it
/// would have received more than it has sent; but round a cycle as much is received as sent. The
/// first rank of a shift only sends, and the last has free slots for all that it receives.
///
/// That needs one rule more: the credits of the action at hand must reach a rank whatever came
/// before them. Ranks that are ahead credit for actions that this one has not begun, of
/// schedule::actions_ahead destinations at most. All of those credits are taken and kept, three of
/// each destination (SlotSender); with room for fewer, a rank that sends to many others would stop
/// taking credits before the one that all wait for. tests/model/cyclic.pml checks this.
///
/// Memory: 8 bytes a neighbour and 4 KiB; on the root 64 bytes a rank besides.
class Cyclic final : public SlotExchange {
 public:
  Cyclic(const ExchangeContext& context, const plan::Flows& flows);

  void advance() override;
  void handle(const Event& event) override;
  /// Every action has been carried out, and the root been sent what it waits for.
  [[nodiscard]] bool done() const override;

 private:
  void start(const Transfer& transfer) override;
  void move(Report& report) override;

  [[nodiscard]] const plan::Outgoing& edge(std::size_t k) const;
  [[nodiscard]] std::uint32_t most_increment() const;
  void listen();
  void take_action();
  void begin_action();
  bool end_action();
  void inform_root();
  void post_note(std::size_t other, const CyclicNote& note);

  const plan::Flows& flows_;
  std::size_t first_edge_;             ///< flow that is offered first
  std::unique_ptr<CyclicRoot> root_;   ///< on one rank
  schedule::Action action_;            ///< received last
  std::array<CyclicNote, 2> notes_{};  ///< being sent
  Array<schedule::Action> actions_;    ///< a ring
  std::size_t next_ = 0;               ///< position in the ring
  std::size_t waiting_ = 0;            ///< in the ring
  bool busy_ = false;                  ///< with an action
  std::uint64_t unscheduled_ = 0;      ///< blocks that leave or arrive and are in no action yet
  std::uint64_t carried_out_ = 0;      ///< actions that the root does not know of
  std::uint64_t notes_sent_ = 0;
  std::uint64_t steps_ = 0;

  std::size_t edge_ = 0;         ///< the root has it
  std::uint64_t edge_left_ = 0;  ///< blocks that are not scheduled
  bool owes_edge_ = false;
};

}  // namespace valet::engine
