// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The ledger counts every byte that Valet allocates for a plan, so that the extra memory of a
/// redistribution is measured in every run instead of estimated. The library uses the containers
/// below for all data whose size depends on the problem.

#include <valet/detail/cxx20.hpp>
#include <valet/export.hpp>

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace valet {

/// Bytes in use and their peak. Not thread-safe: one ledger belongs to one plan.
class VALET_EXPORT Ledger {
 public:
  Ledger() = default;
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;
  ~Ledger() = default;

  /// Uninitialised memory of `bytes`, aligned for any type. @throws std::bad_alloc.
  [[nodiscard]] void* allocate(std::size_t bytes);
  /// Frees memory from allocate() of the same size; nullptr is allowed.
  void deallocate(void* memory, std::size_t bytes) noexcept;

  /// Counts memory allocated elsewhere for Valet, such as device staging.
  void add(std::size_t bytes) noexcept;
  /// The inverse of add().
  void subtract(std::size_t bytes) noexcept;

  /// Bytes in use now.
  [[nodiscard]] std::size_t current_bytes() const noexcept { return current_bytes_; }
  /// Peak of the bytes in use since the last reset_peak().
  [[nodiscard]] std::size_t peak_bytes() const noexcept { return peak_bytes_; }
  /// Starts a new measurement: the peak becomes the bytes in use now.
  void reset_peak() noexcept { peak_bytes_ = current_bytes_; }

 private:
  std::size_t current_bytes_ = 0;
  std::size_t peak_bytes_ = 0;
};

/// A fixed number of trivially copyable, uninitialised values, counted by a ledger. Move-only.
template <class T>
class Array {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Array() = default;
  /// @param ledger  Must outlive the array.
  /// @param size    Number of values. @throws std::bad_alloc.
  Array(Ledger& ledger, std::size_t size)
      : ledger_(&ledger),
        data_(size == 0 ? nullptr : static_cast<T*>(ledger.allocate(size * sizeof(T)))),
        size_(size) {}
  /// Takes the values of another array, which becomes empty.
  Array(Array&& other) noexcept
      : ledger_(std::exchange(other.ledger_, nullptr)),
        data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  /// Frees these values and takes those of another array.
  Array& operator=(Array&& other) noexcept {
    Array moved(std::move(other));
    std::swap(ledger_, moved.ledger_);
    std::swap(data_, moved.data_);
    std::swap(size_, moved.size_);
    return *this;
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() {
    if (data_ != nullptr) ledger_->deallocate(data_, size_ * sizeof(T));
  }

  /// Gives up the memory without freeing it, for buffers that MPI may still access.
  void leak() noexcept { data_ = nullptr; }

  /// @name Container interface
  /// @{

  /// As in std::array.
  [[nodiscard]] T* data() noexcept { return data_; }
  [[nodiscard]] const T* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] T& operator[](std::size_t i) noexcept { return data_[i]; }
  [[nodiscard]] const T& operator[](std::size_t i) const noexcept { return data_[i]; }
  [[nodiscard]] T* begin() noexcept { return data_; }
  [[nodiscard]] T* end() noexcept { return data_ + size_; }
  [[nodiscard]] const T* begin() const noexcept { return data_; }
  [[nodiscard]] const T* end() const noexcept { return data_ + size_; }
  /// @}

 private:
  Ledger* ledger_ = nullptr;
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Lets standard containers allocate through a ledger, which must outlive them.
template <class T>
class LedgerAllocator {
 public:
  /// @name Allocator requirements
  /// @{

  /// See std::allocator_traits.
  using value_type = T;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;

  LedgerAllocator(Ledger& ledger) noexcept : ledger_(&ledger) {}
  template <class Other>
  LedgerAllocator(const LedgerAllocator<Other>& other) noexcept : ledger_(&other.ledger()) {}

  [[nodiscard]] T* allocate(std::size_t size) {
    return static_cast<T*>(ledger_->allocate(size * sizeof(T)));
  }
  void deallocate(T* memory, std::size_t size) noexcept {
    ledger_->deallocate(memory, size * sizeof(T));
  }
  [[nodiscard]] Ledger& ledger() const noexcept { return *ledger_; }
  template <class Other>
  [[nodiscard]] bool operator==(const LedgerAllocator<Other>& other) const noexcept {
    return ledger_ == &other.ledger();
  }
  /// @}

 private:
  Ledger* ledger_;
};

/// A growing vector counted by a ledger.
template <class T>
using Vector = std::vector<T, LedgerAllocator<T>>;

}  // namespace valet
