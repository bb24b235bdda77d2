// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "engine/credit_transport.hpp"
#include "engine/exchange.hpp"
#include "schedule/cyclic.hpp"

#include <cstdint>
#include <functional>

namespace valet::engine {

/// What a rank sends to the root of CYCLIC.
struct CyclicNote {
  enum class Kind : std::uint32_t {
    joins,  ///< who it is, and its first edge if it has one
    edge,   ///< its next edge, after what the root scheduled has used up the last
    done,   ///< it has carried out actions_per_note actions more
  };
  Kind kind = Kind::joins;
  std::uint32_t destination = 0;
  std::uint64_t blocks = 0;
  schedule::CyclicRank known = {};  ///< when it joins
};

constexpr int cyclic_root = 0;  ///< the rank

using schedule::action_window;
using schedule::actions_per_note;

/// The root of CYCLIC: gets the edges of all ranks, one at a time of each, and sends them actions
/// while it searches. It takes part as any other rank besides, and sends itself what it sends
/// others.
///
/// Whenever it waits it has sent all that it scheduled, but for a part of the one cycle or shift at
/// hand. Of those before, the first that is not carried out has all of its ranks at it, so the
/// ranks go on, take what waits for them, and the root goes on too.
class CyclicRoot final : public schedule::CyclicLink {
 public:
  /// Request slots that it uses of the transport's others, from `first_other` on.
  static constexpr std::size_t others = 33;
  /// Memory: 64 bytes a rank, 2 KiB.
  CyclicRoot(const ExchangeContext& context, CreditTransport& transport, std::size_t first_other);

  /// Starts an execution: listens.
  void start();
  /// Schedules everything. `wait` waits for a request of this rank, whatever it is for, and lets
  /// the rank carry out its own actions meanwhile.
  void schedule_all(const std::function<void()>& wait);
  /// Another request of the transport completed; `rank` sent it.
  void completed(std::size_t other, int rank);
  /// Everything that ranks will send has come.
  [[nodiscard]] bool done() const { return to_come_ == 0; }
  [[nodiscard]] std::uint64_t actions_sent() const { return actions_sent_; }

 private:
  /// What it knows of one rank.
  struct Peer {
    std::uint64_t blocks = 0;  ///< on its edge; 0 when that was not sent yet
    std::uint32_t destination = 0;
    std::uint16_t window = 0;     ///< actions that may be sent to it
    std::uint16_t scheduled = 0;  ///< actions since the last that it will report
  };
  static_assert(sizeof(Peer) == 16, "64 bytes a rank with the scheduler's 48");

  schedule::Edge next_edge(std::uint32_t rank) override;
  void schedule(std::uint32_t rank, const schedule::Action& action) override;
  void listen();
  [[nodiscard]] std::size_t idle_message() const;

  const ExchangeContext context_;
  CreditTransport& transport_;
  std::size_t first_other_;
  schedule::CyclicScheduler scheduler_;
  Array<Peer> peers_;
  Array<schedule::Action> messages_;
  CyclicNote note_;
  std::uint64_t to_come_ = 0;  ///< notes
  std::size_t to_join_ = 0;
  const std::function<void()>* wait_ = nullptr;
  std::uint64_t actions_sent_ = 0;
};

}  // namespace valet::engine
