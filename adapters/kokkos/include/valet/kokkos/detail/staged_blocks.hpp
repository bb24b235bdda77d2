// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/detail/independent_copies.hpp>
#include <valet/kokkos/detail/block_kernels.hpp>
#include <valet/kokkos/detail/device_mpi.hpp>
#include <valet/kokkos/detail/view_blocks.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <tuple>

namespace valet::kokkos::detail {

/// Memory in which kernels read lists of slots and seeds of hashes. It holds those of several
/// kernels, so that one can be prepared while another runs.
constexpr std::size_t index_staging_bytes = std::size_t{128} << 10;

/// Packed memory that running kernels may access.
class StartedWork {
 public:
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] bool is_full() const { return count_ == packed_.size(); }
  void add(std::span<const std::byte> packed) { packed_[count_++] = packed; }
  void clear() { count_ = 0; }
  /// Whether some of it overlaps `memory`.
  [[nodiscard]] bool touches(std::span<const std::byte> memory) const {
    const std::less<> before;
    for (std::size_t k = 0; k < count_; ++k)
      if (before(packed_[k].data(), memory.data() + memory.size()) &&
          before(memory.data(), packed_[k].data() + packed_[k].size()))
        return true;
    return false;
  }

 private:
  /// As many as there are outstanding messages in both directions by default.
  std::array<std::span<const std::byte>, 64> packed_{};
  std::size_t count_ = 0;
};

/// Views that neither the host nor MPI accesses (except one contiguous View if MPI reads device
/// memory): kernels on `Space` move the blocks through packed memory that both can access. Only
/// this instance is fenced: when somebody else needs packed memory that a kernel still uses, when
/// the memory for lists is full, and at the end of a blocking call.
template <class Space, class Queue, class... Given>
class StagedBlocks final : public ViewBlocks<std::tuple<Space>, Queue, Given...> {
  using Base = ViewBlocks<std::tuple<Space>, Queue, Given...>;

 public:
  StagedBlocks(const Space& space, const Queue& queue, const Given&... given)
      : Base(std::tuple<Space>(space), queue, given...), space_(space) {
    describe();
  }

  void refresh() override {
    if (Base::describe_again()) describe();
  }
  [[nodiscard]] std::optional<Diagnostic> diagnostic() const override {
    if (auto diagnostic = Base::diagnostic()) return diagnostic;
    return unusable_;
  }
  [[nodiscard]] bool may_throw() const override { return true; }

  void gather(SlotList from, std::byte* packed) override {
    start_gather(from, packed);
    finish_all();
  }
  void scatter(const std::byte* packed, SlotList to) override {
    start_scatter(packed, to);
    finish_all();
  }
  void start_gather(SlotList from, std::byte* packed) override {
    move<Direction::gather>(from, packed);
    note_started(packed, from.size());
  }
  void start_scatter(const std::byte* packed, SlotList to) override {
    move<Direction::scatter>(to, packed);
    note_started(packed, to.size());
  }
  void finish(std::span<const std::byte> packed) override {
    if (started_.touches(packed)) finish_all();
  }
  void finish_all() override {
    if (started_.empty() && lists_used_ == 0) return;
    fence(space_);
    started_.clear();
    lists_used_ = 0;
  }
  void synchronize() override {
    Base::synchronize();
    started_.clear();
    lists_used_ = 0;
  }

  /// Copies directly from slot to slot if no slot is both read and written. Otherwise a whole batch
  /// is read and then written, which is correct if no slot is read after it was written. The chains
  /// and cycles of a redistribution read each slot first, so that only the scratch and the lists
  /// limit their batches; a batch of one is correct for any list.
  void copy(SlotList from, SlotList to, std::span<std::byte> scratch) override {
    // Both lists at once, so that the second one does not replace the first.
    constexpr std::size_t listed_pairs = most_listed / 2;
    const std::size_t most = std::min(scratch.size() / block_bytes_, listed_pairs);
    for (std::size_t size = 0; !from.empty(); from = from.subspan(size), to = to.subspan(size)) {
      size = valet::detail::disjoint_copies(from, to, listed_pairs);
      const std::size_t staged = valet::detail::independent_copies(from, to, most);
      if (2 * size >= staged) {
        copy_some(from.first(size), to.first(size));
        continue;
      }
      size = staged;
      start_gather(from.first(size), scratch.data());
      start_scatter(scratch.data(), to.first(size));
    }
  }

  [[nodiscard]] bool hashes_blocks() const override { return true; }
  std::uint64_t hash_sum(SlotList slots, std::span<const std::uint64_t> seeds) override {
    std::uint64_t sum = 0;
    constexpr std::size_t most = index_staging_bytes / (2 * sizeof(std::uint64_t));
    for (std::size_t first = 0; first < slots.size(); first += most) {
      const std::size_t size = std::min(most, slots.size() - first);
      sum += hash_some(slots.subspan(first, size), seeds.subspan(first, size));
    }
    return sum;
  }

  /// If the blocks are one array, MPI gets runs of them; packing is cheaper for rows of several
  /// Views.
  [[nodiscard]] std::byte* contiguous_data() const override {
    return mpi_reads_views_ ? Base::contiguous_data() : nullptr;
  }
  [[nodiscard]] bool reachable_by_mpi() const override { return contiguous_data() != nullptr; }
  [[nodiscard]] bool reachable_by_host() const override { return false; }
  [[nodiscard]] std::size_t pieces_per_block() const override { return 1; }

  [[nodiscard]] std::shared_ptr<std::byte> allocate_scratch(std::size_t bytes) const override {
    return bytes == 0 ? nullptr : staging_memory<Staging>("valet::scratch", bytes);
  }

 private:
  using Staging = StagingSpace<Space>;
  static_assert(Kokkos::SpaceAccessibility<Space, Staging>::accessible &&
                    Kokkos::SpaceAccessibility<Kokkos::HostSpace, Staging>::accessible,
                "Valet: this backend has no memory that both the host and its kernels reach");
  static constexpr std::size_t view_count = sizeof...(Given);

  void describe() {
    block_bytes_ = Base::block_bytes();
    if (Base::diagnostic() || block_bytes_ == 0) return;
    RowLayout* next = block_.rows;
    for (const auto& row : Base::rows()) *next++ = row_layout(row, block_bytes_);
    block_.number_words(word_of(0));
    if (list_memory_ != nullptr) return;
    DeviceMpi mpi = device_mpi<Space>();
    mpi_reads_views_ = mpi.reads_devices;
    unusable_ = std::move(mpi.diagnostic);
    if (!unusable_) allocate_lists();
  }

  void allocate_lists() {
    try {
      list_memory_ = StagedBlocks::allocate_scratch(index_staging_bytes);
    } catch (const std::bad_alloc&) {
      unusable_ = Diagnostic{ErrorCode::out_of_memory,
                             "no memory for " + std::to_string(index_staging_bytes) +
                                 " bytes of slot indices in memory space " + Staging::name()};
    }
  }

  /// Most slots in a list: two lists fit the memory for them.
  static constexpr std::size_t most_listed = index_staging_bytes / 2 / sizeof(SlotIndex);

  /// Copies a list to where kernels read it, until the next finish_all().
  template <class T>
  const T* listed(std::span<const T> list) {
    const std::size_t bytes = (list.size_bytes() + 15) / 16 * 16;
    if (lists_used_ + bytes > index_staging_bytes) finish_all();
    auto* const copy = reinterpret_cast<T*>(list_memory_.get() + lists_used_);
    std::ranges::copy(list, copy);
    lists_used_ += bytes;
    return copy;
  }

  void note_started(const std::byte* packed, std::size_t blocks) {
    if (started_.is_full()) finish_all();
    started_.add({packed, blocks * block_bytes_});
  }

  template <Direction direction, class PackedByte>
  void move(SlotList slots, PackedByte* packed) {
    for (std::size_t first = 0; first < slots.size(); first += most_listed) {
      const std::size_t size = std::min(most_listed, slots.size() - first);
      move_some<direction>(slots.subspan(first, size), packed + first * block_bytes_);
    }
  }
  /// With workspaces lent by the caller and odd block sizes, packed blocks may start at any byte.
  template <Direction direction, class PackedByte>
  void move_some(SlotList slots, PackedByte* packed) {
    BlockRows<view_count> block = block_;
    block.number_words(word_of(reinterpret_cast<std::uintptr_t>(packed)));
    const SlotIndex* const list = listed(slots);
    launch(direction == Direction::gather ? "valet::gather" : "valet::scatter", space_,
           slots.size() * block.words,
           PackKernel<direction, view_count>{block, list, packed, block_bytes_});
  }

  void copy_some(SlotList sources, SlotList targets) {
    if (lists_used_ + 4 * sources.size_bytes() > index_staging_bytes) finish_all();
    const SlotIndex* const from = listed(sources);
    const SlotIndex* const to = listed(targets);
    launch("valet::copy", space_, sources.size() * block_.words,
           CopyKernel<view_count>{block_, from, to});
  }

  std::uint64_t hash_some(SlotList slots, std::span<const std::uint64_t> seeds) {
    finish_all();
    const SlotIndex* const list = listed(slots);
    const std::uint64_t* const listed_seeds = listed(seeds);
    using valet::detail::piece_bytes;
    const std::size_t pieces = (block_bytes_ + piece_bytes - 1) / piece_bytes;
    using Policy = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::size_t>>;
    std::uint64_t sum = 0;
    Kokkos::parallel_reduce(
        "valet::hash", Policy(space_, 0, slots.size() * pieces),
        HashKernel<view_count>{block_, list, listed_seeds, block_bytes_, pieces}, sum);
    finish_all();
    return sum;
  }

  Space space_;
  BlockRows<view_count> block_;
  std::size_t block_bytes_ = 0;
  std::shared_ptr<std::byte> list_memory_;
  std::size_t lists_used_ = 0;  ///< bytes of lists that kernels may still read
  StartedWork started_;
  bool mpi_reads_views_ = false;
  std::optional<Diagnostic> unusable_;
};

}  // namespace valet::kokkos::detail
