// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/detail/independent_copies.hpp>
#include <valet/kokkos/detail/row_kernel.hpp>
#include <valet/kokkos/detail/view_blocks.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <tuple>

namespace valet::kokkos::detail {

/// Slots that one kernel handles; their indices are staged where the kernel can read them.
constexpr std::size_t most_staged_slots = 2048;
constexpr std::size_t index_staging_bytes = most_staged_slots * sizeof(std::uint64_t);

/// Views in memory that MPI is not given: kernels on `Space` move the blocks through packed memory
/// that both reach. Every function waits for its kernels; only this instance is fenced.
template <class Space, class... Views>
class StagedBlocks final : public ViewBlocks<std::tuple<Space>, Views...> {
  using Base = ViewBlocks<std::tuple<Space>, Views...>;

 public:
  explicit StagedBlocks(const Space& space, const Views&... views)
      : Base(std::tuple<Space>(space), views...), space_(space), block_bytes_(Base::block_bytes()) {
    if (HostFields::diagnostic()) return;
    std::size_t packed_offset = 0;
    auto row = rows_.begin();
    for (const Field& field : fields_of(views...)) {
      *row = row_layout(field, packed_offset, block_bytes_);
      packed_offset += row++->row_bytes;
    }
    allocate_indices();
  }

  [[nodiscard]] std::optional<Diagnostic> diagnostic() const override {
    if (auto diagnostic = Base::diagnostic()) return diagnostic;
    return no_indices_;
  }
  [[nodiscard]] bool may_throw() const override { return true; }

  void gather(SlotList from, std::byte* packed) override {
    from.visit([&](auto slots) { move<Direction::gather>(slots, packed); });
  }
  /// The host, which HostFields would ask, may not reach the Views.
  void gather_past_cache(SlotList from, std::byte* packed) override { gather(from, packed); }
  void scatter(const std::byte* packed, SlotList to) override {
    to.visit([&](auto slots) { move<Direction::scatter>(slots, packed); });
  }

  /// A batch is read as a whole and then written as a whole. That is the same as one block after
  /// the other, provided that no slot of the batch is read after it was written; the chains and
  /// cycles of a redistribution read each slot first, so their batches are only cut by the scratch
  /// and the index staging, and a batch of one is right for any list.
  void copy(SlotList from, SlotList to, std::span<std::byte> scratch) override {
    const std::size_t most = std::min(scratch.size() / block_bytes_, most_staged_slots);
    from.visit([&](auto sources) {
      to.visit([&](auto targets) {
        for (std::size_t first = 0; first < sources.size();) {
          const std::size_t size = valet::detail::independent_copies(sources.subspan(first),
                                                                     targets.subspan(first), most);
          move<Direction::gather>(sources.subspan(first, size), scratch.data());
          move<Direction::scatter>(targets.subspan(first, size), scratch.data());
          first += size;
        }
      });
    });
  }

  [[nodiscard]] std::byte* contiguous_data() const override { return nullptr; }
  [[nodiscard]] bool reachable_by_mpi() const override { return false; }
  [[nodiscard]] bool reachable_by_host() const override { return false; }
  [[nodiscard]] std::size_t pieces_per_block() const override { return 1; }

  /// After Kokkos::finalize() the memory is given up: Kokkos would end the program.
  [[nodiscard]] std::shared_ptr<std::byte> allocate_scratch(std::size_t bytes) const override {
    if (bytes == 0) return nullptr;
    void* memory = nullptr;
    try {
      memory = Kokkos::kokkos_malloc<Staging>("valet::scratch", bytes);
    } catch (const std::exception&) {
      // Kokkos reports a failed allocation as one of several types.
      throw std::bad_alloc();
    }
    return {static_cast<std::byte*>(memory), [](std::byte* bytes_of_kokkos) {
              if (Kokkos::is_initialized()) Kokkos::kokkos_free<Staging>(bytes_of_kokkos);
            }};
  }

 private:
  using Staging = StagingSpace<Space>;
  static_assert(Kokkos::SpaceAccessibility<Space, Staging>::accessible &&
                    Kokkos::SpaceAccessibility<Kokkos::HostSpace, Staging>::accessible,
                "Valet: this backend has no memory that both the host and its kernels reach");

  void allocate_indices() {
    try {
      index_memory_ = StagedBlocks::allocate_scratch(index_staging_bytes);
      indices_ = reinterpret_cast<std::uint64_t*>(index_memory_.get());
    } catch (const std::bad_alloc&) {
      no_indices_ = Diagnostic{ErrorCode::out_of_memory,
                               "no memory for " + std::to_string(index_staging_bytes) +
                                   " bytes of slot indices in memory space " + Staging::name()};
    }
  }

  template <Direction direction, class Index, class PackedByte>
  void move(std::span<const Index> slots, PackedByte* packed) {
    for (std::size_t first = 0; first < slots.size(); first += most_staged_slots) {
      const std::size_t size = std::min(most_staged_slots, slots.size() - first);
      std::copy_n(slots.begin() + static_cast<std::ptrdiff_t>(first), size, indices_);
      for (const RowLayout& row : rows_)
        launch<direction>(row, size, packed + first * block_bytes_);
      // The indices are overwritten next, and the caller hands the packed blocks to MPI.
      fence(space_);
    }
  }

  /// Workspaces lent by the caller and odd block sizes make packed blocks start at any byte.
  template <Direction direction, class PackedByte>
  void launch(const RowLayout& row, std::size_t size, PackedByte* packed) {
    const std::size_t word =
        word_of(reinterpret_cast<std::uintptr_t>(packed) | std::uintptr_t{row.word_bytes});
    const auto launch_words = [&]<class Unsigned>(Unsigned) {
      launch_row<direction, Unsigned>(space_, row, indices_, size, packed, block_bytes_);
    };
    switch (word) {
      case 8: return launch_words(std::uint64_t());  // NOLINT: the types differ
      case 4: return launch_words(std::uint32_t());
      case 2: return launch_words(std::uint16_t());
      default: return launch_words(std::uint8_t());
    }
  }

  Space space_;
  std::array<RowLayout, sizeof...(Views)> rows_;
  std::size_t block_bytes_;
  std::shared_ptr<std::byte> index_memory_;
  std::uint64_t* indices_ = nullptr;  ///< in index_memory_
  std::optional<Diagnostic> no_indices_;
};

}  // namespace valet::kokkos::detail
