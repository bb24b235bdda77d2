// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// A storage whose kernels run as late as they may: what is started is done when somebody waits for
/// it, and no earlier. So packed memory that is used before that has the wrong content.

#include <valet/block_storage.hpp>
#include <valet/detail/block_hash.hpp>
#include <valet/storage_backend.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace valet::test {

class LateBackend final : public StorageBackend {
 public:
  /// @param hashes  Whether it hashes blocks where they are.
  LateBackend(BlockStorage inner, bool hashes) : inner_(std::move(inner)), hashes_(hashes) {}

  /// Work that somebody waited for, and work that somebody was spared to wait for.
  struct Counts {
    std::uint64_t started = 0, waits = 0, most_waiting = 0, hashed = 0;
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }
  [[nodiscard]] bool is_idle() const { return started_.empty(); }

  [[nodiscard]] std::uint64_t slots() const override { return inner_.slots(); }
  [[nodiscard]] std::size_t block_bytes() const override { return inner_.block_bytes(); }
  void gather(SlotList from, std::byte* packed) override {
    finish_all();
    backend().gather(from, packed);
  }
  void scatter(const std::byte* packed, SlotList to) override {
    finish_all();
    backend().scatter(packed, to);
  }
  void copy(SlotList from, SlotList to, std::span<std::byte> scratch) override {
    start(scratch, [this, sources = slots_of(from), targets = slots_of(to), scratch] {
      backend().copy(std::span(sources), std::span(targets), scratch);
    });
  }
  void start_gather(SlotList from, std::byte* packed) override {
    const std::span<std::byte> memory(packed, from.size() * block_bytes());
    std::ranges::fill(memory, std::byte{0xA5});
    start(memory,
          [this, slots = slots_of(from), packed] { backend().gather(std::span(slots), packed); });
  }
  void start_scatter(const std::byte* packed, SlotList to) override {
    start({packed, to.size() * block_bytes()},
          [this, slots = slots_of(to), packed] { backend().scatter(packed, std::span(slots)); });
  }
  void finish(std::span<const std::byte> packed) override {
    const auto touched = [&](const Started& each) {
      return each.packed.data() < packed.data() + packed.size() &&
             packed.data() < each.packed.data() + each.packed.size();
    };
    const auto last = std::find_if(started_.rbegin(), started_.rend(), touched);
    run(static_cast<std::size_t>(started_.rend() - last));
  }
  void finish_all() override { run(started_.size()); }

  [[nodiscard]] bool hashes_blocks() const override { return hashes_; }
  std::uint64_t hash_sum(SlotList slots, std::span<const std::uint64_t> seeds) override {
    finish_all();
    std::vector<std::byte> packed(slots.size() * block_bytes());
    backend().gather(slots, packed.data());
    std::uint64_t sum = 0;
    for (std::size_t k = 0; k < slots.size(); ++k)
      sum += detail::block_hash(packed.data() + k * block_bytes(), block_bytes(), seeds[k]);
    counts_.hashed += slots.size();
    return sum;
  }

  [[nodiscard]] bool reachable_by_mpi() const override { return false; }
  void pieces(std::uint64_t, Vector<MemoryPiece>&) const override {}

 private:
  struct Started {
    std::span<const std::byte> packed;
    std::function<void()> run;
  };

  [[nodiscard]] StorageBackend& backend() const { return inner_.backend(); }
  static std::vector<SlotIndex> slots_of(SlotList list) { return {list.begin(), list.end()}; }
  void start(std::span<const std::byte> packed, std::function<void()> work) {
    started_.push_back({packed, std::move(work)});
    ++counts_.started;
    counts_.most_waiting = std::max<std::uint64_t>(counts_.most_waiting, started_.size());
  }
  void run(std::size_t count) {
    if (count > 0) ++counts_.waits;
    for (; count > 0; --count) {
      started_.front().run();
      started_.pop_front();
    }
  }

  BlockStorage inner_;
  bool hashes_;
  std::deque<Started> started_;
  Counts counts_;
};

}  // namespace valet::test
