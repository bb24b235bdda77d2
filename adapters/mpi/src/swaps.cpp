// SPDX-License-Identifier: BSD-3-Clause

/// An all-to-all in place is a swap of two segments for each pair of ranks. They are cut into
/// chunks, at the same bytes on both ranks, because both know the length of the segment and the
/// budget of the communicator. Chunk by chunk a rank copies its own into scratch, posts a receive
/// in its place and sends the copy. So MPI reads what is still in a cache, and nothing is copied
/// after it arrives.
///
/// Nothing is agreed in a call. Chunks are taken in one order that all ranks know: the round of the
/// pair, which is the sum of its ranks modulo their number, then the place in the segment. So the
/// first chunk of all that is not swapped yet waits for nothing on either rank, however much
/// scratch there is: all ranks come to an end.

#include "segments.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace valet::preload {
namespace {

constexpr int tag = 1;
constexpr std::size_t most_at_once = 64;  ///< chunks; small segments are one each
/// Bytes. Eight chunks under way hide that ranks wait for each other; larger ones gain nothing.
constexpr MPI_Count most_chunk = MPI_Count{512} * 1024;

/// The same on all ranks.
MPI_Count chunk_bytes(const Communicator& communicator) {
  return std::clamp<MPI_Count>(static_cast<MPI_Count>(communicator.budget) / 8, 1, most_chunk);
}

/// A segment that is not dense, packed as a whole: MPI packs no part of an element.
struct Packed {
  Packed(const Segment& whole, MPI_Comm own)
      : segment(whole), packer(own), bytes(new std::byte[static_cast<std::size_t>(whole.bytes)]) {
    copy(false);
  }
  void unpack() const { copy(true); }
  /// In parts of whole elements whose bytes MPI can count.
  void copy(bool is_back) const {
    constexpr MPI_Count most = MPI_Count{1} << 30;
    const MPI_Count element = segment.bytes / segment.elements;
    if (element > most) throw Failure{MPI_ERR_TYPE, false};
    MPI_Aint lower_bound = 0, extent = 0;
    check_told(PMPI_Type_get_extent(segment.type, &lower_bound, &extent));
    for (MPI_Count first = 0, step = most / element; first < segment.elements; first += step) {
      const auto count = static_cast<int>(std::min(step, segment.elements - first));
      const auto size = static_cast<int>(count * element);
      std::byte* const part = segment.address + first * extent;
      std::byte* const packed = bytes.get() + first * element;
      int at = 0;
      check(is_back ? PMPI_Unpack(packed, size, &at, part, count, segment.type, packer)
                    : PMPI_Pack(part, count, segment.type, packed, size, &at, packer));
      if (at != size) throw Failure{MPI_ERR_TYPE, false};
    }
  }

  Segment segment;
  MPI_Comm packer;
  std::unique_ptr<std::byte[]> bytes;
};

/// Chunks under way, the first that was started being the first to land.
class Swaps {
 public:
  Swaps(const Communicator& communicator, std::size_t slots, std::size_t slot_bytes)
      : communicator_(communicator),
        scratch_(slots * slot_bytes),
        slots_(slots),
        slot_bytes_(slot_bytes) {}
  void start(int partner, const Segment& segment, MPI_Count chunk) {
    std::shared_ptr<Packed> packed;
    if (!segment.is_dense) {
      // Two of them at a time may be more than MPI itself would have.
      if (packed_bytes_ + segment.bytes > static_cast<MPI_Count>(communicator_.budget))
        while (packed_bytes_ > 0) land();
      packed = std::make_shared<Packed>(segment, communicator_.own);
      packed_bytes_ += segment.bytes;
    }
    std::byte* const address = packed ? packed->bytes.get() : segment.address;
    for (MPI_Count at = 0; at < segment.bytes; at += chunk) {
      const MPI_Count bytes = std::min(chunk, segment.bytes - at);
      start(partner, address + at, static_cast<int>(bytes), segment.bytes > chunk).packed = packed;
    }
  }

  void finish() {
    while (landed_ < started_) land();
    scratch_.exchange_with_kept();
  }

 private:
  struct Chunk {
    std::array<MPI_Request, 2> requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    std::shared_ptr<Packed> packed;  ///< where the place is, if not in the segment itself
  };

  Chunk& slot(std::size_t number) { return chunks_[number % slots_]; }

  Chunk& start(int partner, std::byte* place, int bytes, bool is_one_of_many) {
    if (started_ - landed_ == slots_) land();
    Chunk& chunk = slot(started_);
    std::byte* const copy = scratch_.data() + started_ % slots_ * slot_bytes_;
    std::memcpy(copy, place, static_cast<std::size_t>(bytes));
    check(PMPI_Irecv(place, bytes, MPI_BYTE, partner, tag, communicator_.own, &chunk.requests[0]));
    ++started_;
    // Chunk behind chunk would fill the memory of MPI on a rank that comes late.
    const auto send = is_one_of_many ? PMPI_Issend : PMPI_Isend;
    check(send(copy, bytes, MPI_BYTE, partner, tag, communicator_.own, &chunk.requests[1]));
    return chunk;
  }

  void land() {
    Chunk& chunk = slot(landed_);
    // Not both by MPI_Waitall, in which Open MPI 4.1 may stay after an error.
    for (MPI_Request& request : chunk.requests) check(PMPI_Wait(&request, MPI_STATUS_IGNORE));
    if (chunk.packed.use_count() == 1) {  // the last of its segment
      chunk.packed->unpack();
      packed_bytes_ -= chunk.packed->segment.bytes;
    }
    chunk.packed.reset();
    ++landed_;
  }

  const Communicator& communicator_;
  Scratch scratch_;
  std::size_t slots_, slot_bytes_;
  std::array<Chunk, most_at_once> chunks_;
  std::size_t started_ = 0, landed_ = 0;
  MPI_Count packed_bytes_ = 0;
};

/// After a failed call MPI may still read this memory or write there: it is never freed.
void abandon(std::unique_ptr<Swaps> swaps) {
  static std::mutex mutex;
  static auto* const all = new std::vector<std::unique_ptr<Swaps>>;
  const std::lock_guard lock(mutex);
  all->push_back(std::move(swaps));
}

}  // namespace

bool swap_segments(const Communicator& communicator, Segments& segments) {
  const auto [own, budget, rank, size] = communicator;
  const MPI_Count chunk = chunk_bytes(communicator);
  MPI_Count largest = 0, chunks = 0;
  try {
    for (int partner = 0; partner < size; ++partner) {
      if (partner == rank) continue;
      const MPI_Count bytes = segments.of(partner, own).bytes;
      largest = std::max(largest, bytes);
      chunks += (bytes + chunk - 1) / chunk;
    }
  } catch (const Failure&) {
    return false;
  }
  if (chunks == 0) return true;
  const auto slot_bytes = static_cast<std::size_t>(std::min(chunk, largest));
  const std::size_t slots =
      std::min({budget / slot_bytes, most_at_once, static_cast<std::size_t>(chunks)});
  auto swaps = std::make_unique<Swaps>(communicator, slots, slot_bytes);
  try {
    for (int round = 0; round < size; ++round) {
      const int partner = (round - rank + size) % size;
      if (partner == rank) continue;
      const Segment segment = segments.of(partner, own);
      if (segment.bytes > 0) swaps->start(partner, segment, chunk);
    }
    swaps->finish();
  } catch (...) {
    abandon(std::move(swaps));
    throw;
  }
  return true;
}

}  // namespace valet::preload
