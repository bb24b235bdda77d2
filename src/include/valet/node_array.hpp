// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Arrays in memory that the ranks of a node share: valet::node_array().

#include <valet/detail/node_bytes.hpp>
#include <valet/mpi.hpp>

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

namespace valet {

/// An array of this rank in memory that other ranks of its node can read, so that they copy blocks
/// straight from its slots into theirs: one copy in place of two, and no message. Made by
/// node_array().
///
/// It is used like a std::vector: valet::field(array, 3), valet::ref(array), std::span(array). Only
/// this rank writes to it, and Valet reads what others have only inside its calls. It is local
/// memory of the application in all else: no memory of Valet's, and not counted in its bound.
///
/// Move-only; one that was moved from is empty. Storages, bound plans and executions refer to its
/// memory, as to all memory of the application, and end before it. All members are local. The
/// destructor may run after MPI_Finalize.
/// @tparam T  Trivially copyable; a value whose bytes are all 0 is what a new entry has.
template <class T>
class NodeArray {
  static_assert(std::is_trivially_copyable_v<T> && !std::is_const_v<T>,
                "Valet moves bytes: T must be trivially copyable, and not const");

 public:
  using value_type = T;  ///< of an entry

  /// Without memory; only to be assigned to.
  NodeArray() = default;
  /// As node_array().
  NodeArray(MPI_Comm communicator, std::size_t n)
      : bytes_(communicator, n, sizeof(T)), entries_(static_cast<T*>(bytes_.data()), n) {}
  /// Leaves `other` empty.
  NodeArray(NodeArray&& other) noexcept
      : bytes_(std::exchange(other.bytes_, {})), entries_(std::exchange(other.entries_, {})) {}
  /// Frees the memory of this array.
  NodeArray& operator=(NodeArray&& other) noexcept {
    NodeArray moved(std::move(other));
    std::swap(bytes_, moved.bytes_);
    std::swap(entries_, moved.entries_);
    return *this;
  }
  NodeArray(const NodeArray&) = delete;
  NodeArray& operator=(const NodeArray&) = delete;
  ~NodeArray() = default;

  /// Makes the array longer or shorter where it is: addresses stay, new entries are zero, and the
  /// memory of those that are gone goes back to the system. Not while a call of Valet uses the
  /// array on any rank of the node.
  /// @throws Error out_of_memory on this rank alone: nothing has changed. It can grow to the memory
  ///         of the machine; with a limit on addresses (ulimit -v) to a sixteenth of that, or to
  ///         what it was made with.
  void resize(std::size_t n) {
    bytes_.resize(n, sizeof(T));
    entries_ = {static_cast<T*>(bytes_.data()), n};
  }
  /// Whether the system lets other processes map it. If not, it is ordinary memory, whose blocks go
  /// as messages, and a warning has said so (set_log_callback()).
  [[nodiscard]] bool is_shared() const noexcept { return bytes_.is_shared(); }

  /// Entries.
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  /// Whether there are none.
  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  /// The first entry, at the beginning of a page.
  [[nodiscard]] T* data() noexcept { return entries_.data(); }
  /// The same.
  [[nodiscard]] const T* data() const noexcept { return entries_.data(); }
  /// The same.
  [[nodiscard]] T* begin() noexcept { return data(); }
  /// The same.
  [[nodiscard]] const T* begin() const noexcept { return data(); }
  /// Behind the last entry.
  [[nodiscard]] T* end() noexcept { return data() + size(); }
  /// The same.
  [[nodiscard]] const T* end() const noexcept { return data() + size(); }
  /// Entry k, less than size().
  [[nodiscard]] T& operator[](std::size_t k) noexcept { return data()[k]; }
  /// The same.
  [[nodiscard]] const T& operator[](std::size_t k) const noexcept { return data()[k]; }

 private:
  detail::NodeBytes bytes_;
  std::span<T> entries_;
};

/// Makes an array of `n` zeros in memory that the ranks of a node share.
///
/// Collective over `communicator`, ranks that want no entries included; blocking, one reduction.
/// Pages are taken when they are first touched, by the rank and in the place where that happens.
/// Where the system has no memory to share it gives ordinary memory, which behaves in the same way.
/// @tparam T            Trivially copyable.
/// @param communicator  An intracommunicator; the first call caches a duplicate on it.
/// @param n             Entries. [local]
/// @throws Error out_of_memory  Refused, or more entries than there are addresses: the same error
///         on all ranks. not_initialized, invalid_communicator.
template <class T>
[[nodiscard]] NodeArray<T> node_array(MPI_Comm communicator, std::size_t n) {
  return NodeArray<T>(communicator, n);
}

}  // namespace valet
