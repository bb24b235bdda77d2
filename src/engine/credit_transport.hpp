// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The one protocol by which data moves between ranks, whatever is moved and in whatever order.
///
/// A receiver posts a receive and then gives a credit; the sender answers each credit with one
/// message. So no data message is ever unexpected, and MPI buffers no data. Credits of a receiver
/// are answered in the order in which it gave them, so that one tag suffices. A sender that shares
/// memory with the receiver writes into that memory, where the credit says, and sends an empty
/// message. There is one blocking wait over all that is outstanding; only a rank whose blocks are
/// taken straight from its slots (engine/pulls.hpp) looks at both, that memory and its requests,
/// and sleeps in between. Where everything moves at once a meeting of all ranks takes the place of
/// credits (engine/at_once.hpp).
///
/// What is sent and where it goes (sources and sinks), and which credit comes next (policies), is
/// decided by a Participant.

#include "engine/local_slots.hpp"
#include "mpi/message.hpp"
#include "mpi/tags.hpp"
#include "observe/observer.hpp"
#include "storage/node_memory.hpp"
#include <valet/export.hpp>
#include <valet/report.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace valet::engine {

/// "Send me that": what a receiver sends to a sender.
struct Credit {
  std::uint32_t count = 0;       ///< blocks or elements that the message is to have
  std::uint32_t past_cache = 0;  ///< whether a sender that writes there is to write past its cache
  /// Into the receiver's shared memory, for a sender that writes there; no_offset: send a message.
  std::uint64_t offset_bytes = no_offset;

  static constexpr std::uint64_t no_offset = ~std::uint64_t{0};
};

/// Something that has completed.
struct Event {
  enum class Kind : std::uint8_t {
    credit,     ///< a credit has come; listen() for the next
    received,   ///< the message of that receive request is there
    credited,   ///< the credit of that receive request has left
    sent,       ///< the message of that send request has left
    signalled,  ///< the word that a destination's memory was written has left
    other,      ///< a request of somebody else's protocol
  };
  Kind kind = Kind::other;
  std::size_t index = 0;    ///< among its kind
  int rank = mpi::no_peer;  ///< who sent it; of credit and other
  Credit credit;
};

/// What a rank does in an exchange: a policy with its source and sink.
class Participant {
 public:
  Participant() = default;
  Participant(const Participant&) = delete;
  Participant& operator=(const Participant&) = delete;
  virtual ~Participant() = default;

  /// Does everything that can be done without waiting, but for what work() does.
  virtual void advance() = 0;
  /// Does a part of what takes time, and what can be done then; false when there is none. Events
  /// are handled between such parts, so that nobody waits for a credit or an answer meanwhile.
  virtual bool work() { return false; }
  virtual void handle(const Event& event) = 0;
  /// Whether everything has been sent and received.
  [[nodiscard]] virtual bool done() const = 0;
  /// Bytes of scratch that hold data, or wait for it; for the trace.
  [[nodiscard]] virtual std::uint64_t bytes_in_use() const = 0;

  /// Whether other ranks take blocks of this one without a message, so that waiting is no matter of
  /// MPI alone.
  [[nodiscard]] virtual bool watches_memory() { return false; }
  /// Asked while it does and nothing has completed: whether to go on.
  /// @param waits  Whether it may sleep.
  [[nodiscard]] virtual bool memory_has_changed(bool /*waits*/) { return true; }

  /// Whether waiting could be for ever: force() then has to help if nothing completes.
  [[nodiscard]] virtual bool is_full() { return false; }
  /// Asked while is_full() and nothing has completed: whether to look once more.
  [[nodiscard]] virtual bool looks_again() { return false; }
  virtual void force() {}
};

class VALET_EXPORT CreditTransport {
 public:
  /// How many requests of each kind there are.
  struct RequestCounts {
    std::size_t receives = 0;
    std::size_t sends = 0;
    std::size_t signals = 0;
    std::size_t others = 0;
  };

  /// Allocates 8 bytes for each request and 16 for each receive.
  /// @param node  Shared with ranks of the node; must outlive this.
  CreditTransport(const mpi::Channel& channel, Ledger& ledger, const storage::NodeMemory& node,
                  const RequestCounts& counts);
  /// What that allocates.
  [[nodiscard]] static constexpr std::uint64_t state_bytes(const RequestCounts& counts) {
    return (1 + 2 * counts.receives + counts.sends + counts.signals + counts.others) *
               sizeof(MPI_Request) +
           counts.receives * sizeof(Credit);
  }

  /// Memory that the ranks of the node share.
  [[nodiscard]] const storage::NodeMemory& node() const { return node_; }

  // Receiving.
  /// Whether a receive request has neither a message nor its last credit under way.
  [[nodiscard]] bool can_receive(std::size_t index) const;
  /// Posts a receive of `bytes` into `memory`, then gives the credit. A source that shares memory
  /// with this rank writes there itself where `memory` is part of it.
  void give(std::size_t index, int source, std::byte* memory, std::uint64_t bytes, Credit credit);

  // Sending.
  /// Starts to wait for the next credit, unless it does already.
  void listen();
  [[nodiscard]] bool can_send(std::size_t index) const;
  void send(std::size_t index, int destination, const std::byte* memory, std::uint64_t bytes);
  void send(std::size_t index, int destination, mpi::PieceList& pieces, std::uint64_t bytes);
  /// Sends blocks from where they stand: as one run of memory, or else piece by piece.
  void send_from_slots(std::size_t index, int destination, const LocalSlots& local, SlotList slots,
                       mpi::PieceList& pieces) {
    const std::uint64_t bytes = slots.size() * local.backend().block_bytes();
    if (const std::byte* const run = local.run_of(slots))
      return send(index, destination, run, bytes);
    pieces.pieces.clear();
    for (const SlotIndex slot : slots) local.backend().pieces(slot, pieces.pieces);
    send(index, destination, pieces, bytes);
  }
  /// Whether this credit asks for that this rank writes into the memory of its destination.
  [[nodiscard]] static bool is_for_writing(const Credit& credit) {
    return credit.offset_bytes != Credit::no_offset;
  }
  /// Where it writes what a credit asks for.
  [[nodiscard]] std::byte* memory_of(int destination, const Credit& credit) const {
    return node_.of(destination) + credit.offset_bytes;
  }
  /// Sends a destination the word that `bytes` have been written into its memory.
  void signal(std::size_t index, int destination, std::uint64_t bytes) {
    post_signal(first_send() + index, destination, bytes);
  }
  /// The same with an idle signal request, if there is one.
  [[nodiscard]] bool can_signal() const { return idle_signal() < first_other(); }
  void signal(int destination, std::uint64_t bytes) {
    post_signal(idle_signal(), destination, bytes);
  }

  /// A request of somebody else's protocol, waited for together with all others.
  [[nodiscard]] MPI_Request& other(std::size_t index) { return requests_[first_other() + index]; }
  [[nodiscard]] bool idle_other(std::size_t index) const {
    return requests_.idle(first_other() + index);
  }

  /// Begins another exchange. Its credits have a tag of their own, since a rank may still be busy
  /// with the one before: it cannot be further behind, as it would not have answered.
  void begin(Participant& participant);
  /// Lets the participant go on until it would have to wait. @return Whether it is done.
  bool progress(Participant& participant);
  /// Lets the participant send and receive everything. Nothing is pending on return.
  void run(Participant& participant);
  /// Takes what has completed, and lets the participant go on from there.
  /// @param waits  Whether for something to complete. @return False where nothing has.
  bool step(Participant& participant, bool waits);
  void advance(Participant& participant) const;
  /// Scratch in use, for the trace.
  void note_in_use(const Participant& participant) const;

  /// The tag of the credits that it gives and receives: those of a phase have one of their own.
  void set_credit_tag(int tag) { credit_tag_ = tag; }
  /// Messages sent since the last report_to().
  [[nodiscard]] std::uint64_t messages() const { return messages_; }
  /// Adds the credits given and the messages sent since the last call.
  void report_to(Report& report) {
    report.credits += std::exchange(credits_, 0);
    report.messages += std::exchange(messages_, 0);
  }

 private:
  [[nodiscard]] std::size_t first_receive() const { return 1; }
  [[nodiscard]] std::size_t first_credit() const { return first_receive() + counts_.receives; }
  [[nodiscard]] std::size_t first_send() const { return first_credit() + counts_.receives; }
  [[nodiscard]] std::size_t first_signal() const { return first_send() + counts_.sends; }
  [[nodiscard]] std::size_t first_other() const { return first_signal() + counts_.signals; }

  [[nodiscard]] std::size_t idle_signal() const;
  void post_signal(std::size_t request, int destination, std::uint64_t bytes);
  [[nodiscard]] Event event_of(const mpi::Completion& completion) const;
  [[nodiscard]] std::optional<Event> poll();
  void note_sent(std::size_t request, int destination, std::uint64_t bytes);

  const mpi::Channel& channel_;
  const storage::NodeMemory& node_;
  observe::Observer* observer_;
  const RequestCounts counts_;
  mpi::Requests requests_;
  Array<Credit> given_;  ///< being sent, by receive request
  Credit incoming_;
  int credit_tag_ = mpi::tag_credit;
  std::uint64_t credits_ = 0;
  std::uint64_t messages_ = 0;
};

}  // namespace valet::engine
