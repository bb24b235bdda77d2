// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Blocks that a rank takes straight from the slots of another rank of its node: one copy a byte
/// and no message. What both need beside the slots is in memory of the source that both map: the
/// source's exports and rows, which the taker reads, and for each flow a word that says how many of
/// its blocks have been taken, which the taker writes and the source looks at.

#include "mpi/channel.hpp"
#include "storage/node_segment.hpp"
#include "storage/rows.hpp"
#include "storage/shared_memory.hpp"
#include <valet/export.hpp>
#include <valet/ledger.hpp>
#include <valet/slots.hpp>
#include <valet/storage_backend.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace valet::storage {

/// A flow of blocks between this rank and another, of either direction.
struct PullFlow {
  int rank = 0;
  std::uint32_t count = 0;
  SlotIndex first = 0;  ///< of what leaves: in the list of all exports
};

class VALET_EXPORT Pulls {
 public:
  Pulls(Ledger& ledger) : ledger_(ledger), taken_from_(ledger), sources_(ledger), rows_(ledger) {}
  Pulls(const Pulls&) = delete;
  Pulls& operator=(const Pulls&) = delete;
  ~Pulls();

  /// Finds out which flows can go without messages: both ranks have their rows in segments, of
  /// equal sizes in equal order, and reach them. Collective over each pair of neighbours.
  void connect(const mpi::Channel& channel, const StorageBackend& backend,
               std::span<const PullFlow> leaving, std::span<const SlotIndex> exports,
               std::span<const PullFlow> arriving);

  /// Whether the other rank of a flow takes what leaves, or this rank takes what arrives.
  [[nodiscard]] bool is_taken(std::size_t leaving) const { return taken_from_[leaving] != 0; }
  [[nodiscard]] bool takes(std::size_t arriving) const { return sources_[arriving].taken != nullptr; }
  [[nodiscard]] bool any() const { return any_; }

  /// Blocks of a flow that the other rank has taken.
  [[nodiscard]] std::uint64_t taken(std::size_t leaving) const {
    return line(leaving).taken.load(std::memory_order_acquire);
  }
  /// For the next execution, once all have been taken.
  void restart() const {
    for (std::size_t f = 0; f < taken_from_.size(); ++f)
      if (is_taken(f)) line(f).taken.store(0, std::memory_order_relaxed);
  }

  /// Copies blocks first to first + to.size() of a flow into slots of this rank.
  void copy(std::size_t arriving, std::uint64_t first, SlotList to) const;
  /// The same, packed.
  void pack(std::size_t arriving, std::uint64_t first, std::uint64_t count,
            std::byte* packed) const;
  /// Tells the source that these are taken.
  void tell(std::size_t arriving, std::uint64_t taken) const {
    sources_[arriving].taken->taken.store(taken, std::memory_order_release);
  }

 private:
  struct alignas(64) Line {
    std::atomic<std::uint64_t> taken;
  };
  struct RowsInSegment {
    NodeSegmentHandle segment;
    std::uint64_t offset_bytes = 0;
    std::int64_t slot_stride_bytes = 0;
    std::uint64_t bytes = 0;
  };
  struct Header {
    std::uint64_t key = 0;
    std::uint64_t lines = 0, rows = 0, exports = 0;
  };
  struct Source {
    Line* taken = nullptr;
    const SlotIndex* exports = nullptr;
    std::size_t first_row = 0;
    SharedMemory control;
  };

  [[nodiscard]] static Line* lines_of(std::byte* control) {
    return reinterpret_cast<Line*>(control + sizeof(Line));
  }
  [[nodiscard]] static RowsInSegment* rows_in(std::byte* control, std::uint64_t lines) {
    return reinterpret_cast<RowsInSegment*>(control + (1 + lines) * sizeof(Line));
  }
  [[nodiscard]] Line& line(std::size_t leaving) const { return lines_of(control_.data())[leaving]; }
  void offer(const StorageBackend& backend, std::size_t leaving, std::span<const SlotIndex> exports);
  bool reach(Source& source, const SharedMemoryHandle& handle, std::size_t flow, SlotIndex first);
  [[nodiscard]] const std::byte* reach(const NodeSegmentHandle& segment);

  Ledger& ledger_;
  SharedMemory control_;  ///< Header, Line for each flow that leaves, RowsInSegment, exports
  Vector<std::uint8_t> taken_from_;
  Vector<Source> sources_;
  Vector<detail::Rows> rows_;       ///< this rank's, then those of each source
  std::size_t own_rows_ = 0;
  std::size_t block_bytes_ = 0;
  std::vector<MappedSegment> segments_;
  bool any_ = false;
};

}  // namespace valet::storage
