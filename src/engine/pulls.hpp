// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Blocks that a rank copies straight from the slots of another rank of its node: one copy of each
/// byte, and no message. The rank that has them does nothing: it shares a description of its rows
/// and of the slots that it exports, and a word for each flow in which the rank that takes the
/// blocks says how many it has taken; until then their slots are not free.
///
/// Words only grow, and both ranks know how many blocks each execution moves, so that nothing has
/// to be reset. An execution begins with a reduction, so that no rank takes blocks of another one
/// that has not begun.
///
/// Rows shorter than least_copy_bytes go as messages: packed into memory that is shared they are
/// written in order, while copies of single lines from one part of memory to another are slower on
/// all machines that were measured.

#include "plan/plan_state.hpp"
#include "storage/descriptors.hpp"
#include "storage/node_segment.hpp"
#include "storage/rows.hpp"
#include "storage/shared_memory.hpp"
#include <valet/export.hpp>
#include <valet/storage_backend.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

namespace valet::engine {

/// What a rank takes of others, and others of it, in the executions of one plan.
class VALET_EXPORT Pulls {
 public:
  /// The plan must outlive it. Local.
  explicit Pulls(const plan::State& state);
  Pulls(const Pulls&) = delete;
  Pulls& operator=(const Pulls&) = delete;
  ~Pulls();

  /// Looks where rows lie. Where they are in memory of the node it takes 64 bytes for each flow.
  /// What would be used only once takes longer to map than to send: an array that is looked for the
  /// first time is as ordinary memory, and so is a small one in the first execution of a plan.
  /// @return Whether connect() is needed: they lie otherwise than when it was called last.
  /// @throws std::bad_alloc. Local.
  /// @param again  It will be used again and again, so that nothing is too new or too small.
  [[nodiscard]] bool describe(const StorageBackend& backend, bool again);
  /// Finds out which flows can go without messages: those between ranks whose rows lie in memory of
  /// the node, if the one that takes them reaches those of the other. Collective over each pair of
  /// neighbours, after describe().
  /// Memory: lines, and 8 bytes a run of slots that is offered, freed with the plan or when it is
  /// called again; 8 bytes in page tables for each page of other ranks, which stay for the next
  /// plans unless no memory is to be kept.
  void connect();
  /// All of that. [local]
  [[nodiscard]] std::uint64_t bytes() const;
  /// Lets no rank take blocks of this one before this one calls it: where blocks are made after the
  /// ranks have agreed. As connect() does. Collective over the same pairs.
  void meet();

  /// Begins an execution. Local.
  void start();
  /// Ends it; all blocks have been taken. Local.
  void finish();

  /// Whether another rank takes the blocks of an outgoing flow.
  [[nodiscard]] bool is_taken(std::size_t flow) const {
    return !departures_.empty() && departures_[flow].is_taken;
  }
  /// How many blocks of it have been taken, from the first on.
  [[nodiscard]] std::uint64_t taken(std::size_t flow) const {
    return line(flow).taken.load(std::memory_order_acquire) - departures_[flow].taken_before;
  }
  /// Whether blocks of this rank were still to be taken at the last look().
  [[nodiscard]] bool are_left() const { return seen_ < blocks_offered_; }
  /// Whether any blocks have been taken since the last look.
  bool look();

  /// Whether this rank takes the blocks of an incoming flow.
  [[nodiscard]] bool takes(std::size_t flow) const {
    return !sources_.empty() && sources_[flow].line != nullptr;
  }
  /// Copies the next blocks of a flow into slots of this rank, 1024 at most.
  void take(std::size_t flow, SlotList to) { take(flow, to, rows_); }
  /// Copies as many into memory, packed.
  void take(std::size_t flow, std::uint64_t count, std::byte* packed);

  /// Wakes the ranks that may sleep until this one has taken what it has. Before this one waits.
  void wake();
  /// Waits until blocks are taken, or for so long.
  void sleep(std::chrono::microseconds most);

  /// The most that is copied before the source hears of it: it stays in the second-level cache, and
  /// a message would be as long.
  static constexpr std::size_t chunk_bytes = std::size_t{128} << 10;

 private:
  /// Written by the rank that takes the blocks of a flow.
  struct alignas(detail::cache_line_bytes) Line {
    std::atomic<std::uint64_t> taken = 0;  ///< in all executions
  };
  /// Where the rows of a field lie.
  struct SharedRows {
    storage::NodePlace place;
    std::int64_t slot_stride_bytes = 0;
    std::uint64_t bytes = 0;

    [[nodiscard]] bool operator==(const SharedRows&) const = default;
  };
  struct SharedRun {
    SlotIndex first = 0, count = 0;
  };
  /// At the beginning of the memory that a rank shares. Behind it are a Line for each outgoing
  /// flow, SharedRows for each field, and the SharedRuns of the flows that are worth it.
  struct alignas(detail::cache_line_bytes) Header {
    std::uint64_t key = 0;  ///< that of SharedMemory, while it is opened
    std::uint64_t lines = 0, rows = 0;
    std::atomic<std::uint32_t> sleeps = 0;  ///< the rank is to be woken
  };
  static_assert(std::atomic<std::uint32_t>::is_always_lock_free &&
                std::atomic<std::uint64_t>::is_always_lock_free);

  /// A flow that leaves this rank.
  struct Departure {
    std::uint64_t taken_before = 0;  ///< in earlier executions
    std::uint64_t address = 0;       ///< where descriptors are asked for, while connecting
    std::uint32_t first_run = 0;
    bool is_worth = false, is_taken = false;
  };
  /// A flow that arrives; without a line it is messages.
  struct Source {
    storage::SharedMemory control;
    storage::DescriptorBox box;  ///< where it passes descriptors, while connecting
    Line* line = nullptr;
    std::uint64_t taken = 0;          ///< in all executions
    const SharedRun* runs = nullptr;  ///< of the flow
    const SharedRun* run = nullptr;   ///< at the next block
    SlotIndex passed = 0;             ///< blocks of that run
    std::uint32_t segments = 0;       ///< the first of its segments
    std::uint64_t unwoken_bytes = 0;  ///< taken since it was looked whether it sleeps

    [[nodiscard]] Header& header() const { return header_of(control); }
  };
  using SourceRows = std::span<const SharedRows>;
  /// The machine, the handle of control memory, the number of the flow, and its first run.
  using Offer = std::array<std::uint64_t, 7>;

  [[nodiscard]] static Header& header_of(const storage::SharedMemory& control) {
    return *reinterpret_cast<Header*>(control.data());
  }
  [[nodiscard]] static Line* lines_of(const storage::SharedMemory& control) {
    return reinterpret_cast<Line*>(control.data() + sizeof(Header));
  }
  [[nodiscard]] static std::span<SharedRows> rows_of(const storage::SharedMemory& control) {
    const Header& header = header_of(control);
    return {reinterpret_cast<SharedRows*>(lines_of(control) + header.lines), header.rows};
  }
  [[nodiscard]] Line& line(std::size_t flow) const { return lines_of(control_)[flow]; }

  void disconnect();
  [[nodiscard]] std::size_t list_runs();
  void offer();
  bool reach(Source& source, const Offer& offer, std::span<storage::FileDescriptor> passed);
  [[nodiscard]] bool pass_descriptors(std::uint64_t address) const;
  void accept(Source& source, const Offer& offer);
  void exchange_offers(bool again);
  void exchange_answers(bool again);
  /// The index of a flow in its list.
  [[nodiscard]] std::size_t number_of(const plan::Outgoing& flow) const {
    return static_cast<std::size_t>(&flow - state_.flows.outgoing.data());
  }
  [[nodiscard]] std::size_t number_of(const plan::Incoming& flow) const {
    return static_cast<std::size_t>(&flow - state_.flows.incoming.data());
  }
  /// Whether descriptors are to be passed for a flow, either way.
  [[nodiscard]] bool asks(const plan::Outgoing& flow) const {
    return !departures_.empty() && departures_[number_of(flow)].address > 0;
  }
  [[nodiscard]] bool asks(const plan::Incoming& flow) const {
    return !sources_.empty() && sources_[number_of(flow)].box.address() > 0;
  }
  /// Whether its blocks are taken without messages, either way.
  [[nodiscard]] bool goes_straight(const plan::Outgoing& flow) const {
    return is_taken(number_of(flow));
  }
  [[nodiscard]] bool goes_straight(const plan::Incoming& flow) const {
    return takes(number_of(flow));
  }
  [[nodiscard]] std::byte* memory_of(const Source& source,
                                     const storage::NodeSegmentHandle& segment) const;
  void warn_once() const;
  [[nodiscard]] std::uint64_t taken() const;
  void take(std::size_t flow, SlotList to, std::span<const detail::Rows> target);
  static void wake(Source& source);

  const plan::State& state_;
  Vector<detail::Rows> rows_;         ///< of this rank
  Vector<detail::Rows> packed_rows_;  ///< of packed blocks
  Vector<SharedRows> shared_rows_;    ///< the same; empty where not all are shared
  Vector<Departure> departures_;  ///< by index in Flows::outgoing; empty where nothing is shared
  Vector<Source> sources_;        ///< by index in Flows::incoming; likewise
  Vector<storage::MappedSegment> segments_;  ///< of other ranks, by source
  storage::SharedMemory control_;            ///< what this rank shares
  bool has_run_ = false;
  bool connects_ = false;             ///< rows have been found elsewhere since connect()
  std::uint64_t counted_bytes_ = 0;   ///< in the ledger
  std::uint64_t blocks_offered_ = 0;  ///< that others take in an execution
  std::uint64_t seen_ = 0;            ///< of these, taken at the last look
};

}  // namespace valet::engine
