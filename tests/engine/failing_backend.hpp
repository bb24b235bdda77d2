// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// A storage that fails on request.

#include <valet/block_storage.hpp>
#include <valet/detail/block_hash.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

namespace valet::test {

/// What of a storage can fail.
enum class Call { gather, scatter, copy, pieces, finish, hash_sum, synchronize, allocate_scratch };
inline constexpr std::array calls_while_moving{Call::gather, Call::scatter, Call::copy,
                                               Call::pieces, Call::finish,  Call::hash_sum};

inline std::string name_of(Call call) {
  constexpr std::array names{"gather", "scatter",  "copy",        "pieces",
                             "finish", "hash_sum", "synchronize", "allocate_scratch"};
  return std::string("(") + names[static_cast<std::size_t>(call)] + ") failed: ";
}

enum class Throws { text, bad_alloc, number };

[[noreturn]] inline void throw_now(Throws what) {
  if (what == Throws::bad_alloc) throw std::bad_alloc();
  if (what == Throws::number) throw 42;  // NOLINT: applications do
  throw std::runtime_error("the device fell off the bus");
}

/// Who reaches the blocks of a storage.
enum class Reach {
  host,           ///< MPI and the host
  mpi,            ///< MPI alone: a device's memory, of which it is aware
  storage_alone,  ///< neither
  kernels,        ///< likewise, and it hashes blocks where they are
};

/// Host memory of a test that fails at the n-th call of one kind.
class FailingBackend final : public StorageBackend {
 public:
  FailingBackend(const BlockStorage& inner, Reach reach) : inner_(inner), reach_(reach) {}

  void fail_at(Call call, std::uint64_t which, Throws what = Throws::text) {
    calls_ = {};
    failing_call_ = call;
    which_ = which;
    throws_ = what;
    thrown_ = 0;
  }
  void recover() { fail_at(Call::gather, 0); }
  [[nodiscard]] std::uint64_t calls(Call call) const {
    return calls_[static_cast<std::size_t>(call)];
  }
  /// Exceptions that it has thrown since fail_at(): after the first one every call throws.
  [[nodiscard]] int thrown() const { return thrown_; }

  [[nodiscard]] std::uint64_t slots() const override { return inner_.slots(); }
  [[nodiscard]] std::size_t block_bytes() const override { return inner_.block_bytes(); }
  void synchronize() override { count(Call::synchronize); }
  void gather(SlotList from, std::byte* packed) override {
    count(Call::gather);
    inner_.backend().gather(from, packed);
  }
  void scatter(const std::byte* packed, SlotList to) override {
    count(Call::scatter);
    inner_.backend().scatter(packed, to);
  }
  void copy(SlotList from, SlotList to, std::span<std::byte> scratch) override {
    count(Call::copy);
    if (!reachable_by_host() && scratch.size() < block_bytes())
      throw std::runtime_error("no scratch to copy through");
    inner_.backend().copy(from, to, scratch);
  }
  [[nodiscard]] std::byte* contiguous_data() const override {
    return reachable_by_mpi() ? inner_.backend().contiguous_data() : nullptr;
  }
  void finish_all() override { count(Call::finish); }
  [[nodiscard]] bool hashes_blocks() const override { return reach_ == Reach::kernels; }
  std::uint64_t hash_sum(SlotList slots, std::span<const std::uint64_t> seeds) override {
    count(Call::hash_sum);
    std::vector<std::byte> packed(slots.size() * block_bytes());
    inner_.backend().gather(slots, packed.data());
    std::uint64_t sum = 0;
    for (std::size_t k = 0; k < slots.size(); ++k)
      sum += detail::block_hash(packed.data() + k * block_bytes(), block_bytes(), seeds[k]);
    return sum;
  }
  [[nodiscard]] bool reachable_by_mpi() const override {
    return reach_ == Reach::host || reach_ == Reach::mpi;
  }
  [[nodiscard]] bool reachable_by_host() const override { return reach_ == Reach::host; }
  [[nodiscard]] std::size_t pieces_per_block() const override {
    return inner_.backend().pieces_per_block();
  }
  void pieces(std::uint64_t slot, Vector<MemoryPiece>& list) const override {
    list.push_back({nullptr, 1});  // what a failing call leaves behind must not reach MPI
    count(Call::pieces);
    list.pop_back();
    inner_.backend().pieces(slot, list);
  }
  [[nodiscard]] std::shared_ptr<std::byte> allocate_scratch(std::size_t bytes) const override {
    count(Call::allocate_scratch);
    return inner_.backend().allocate_scratch(bytes);
  }

 private:
  void count(Call call) const {
    const std::uint64_t number = ++calls_[static_cast<std::size_t>(call)];
    if (thrown_ == 0 && (call != failing_call_ || which_ == 0 || number < which_)) return;
    ++thrown_;
    throw_now(throws_);
  }

  BlockStorage inner_;
  Reach reach_;
  Call failing_call_ = Call::gather;
  std::uint64_t which_ = 0;  ///< 0: none fails
  Throws throws_ = Throws::text;
  mutable std::array<std::uint64_t, 8> calls_{};
  mutable int thrown_ = 0;
};

}  // namespace valet::test
