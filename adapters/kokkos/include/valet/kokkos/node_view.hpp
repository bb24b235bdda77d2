// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Kokkos Views in memory that the ranks of a node share: valet::kokkos::node_view().

#include <valet/detail/node_bytes.hpp>
#include <valet/kokkos/detail/dual_views.hpp>
#include <valet/mpi.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>

namespace valet::kokkos {

/// A View of the host over a NodeArray, made by node_view(): it is a View without a reference count
/// to kernels and to all that takes one, and keeps the memory. Copies refer to the same memory,
/// which is freed with the last of them; a plain View of it does not keep it. Local in all but
/// construction.
///
/// It may be given to valet::kokkos::blocks() and wherever else Views may be, as valet::ref(view)
/// if it is resized between the calls. It may be made before Kokkos::initialize() and outlive
/// Kokkos::finalize().
/// @tparam DataType  As a View has it, with one extent that is given at run time: double*[3].
/// @tparam Space     Kokkos::HostSpace, or an execution space whose memory that is.
template <class DataType, class Space = Kokkos::HostSpace>
class NodeView
    : public Kokkos::View<DataType, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>> {
 public:
  /// The View that it is.
  using View = Kokkos::View<DataType, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  using typename View::value_type;
  static_assert(
      std::is_same_v<typename Space::memory_space, Kokkos::HostSpace>,
      "Valet: the ranks of a node share memory of the host, so a node_view is a View of "
      "Kokkos::HostSpace; a View of a device moves with valet::kokkos::blocks() as it is");
  static_assert(std::size_t{View::rank} >= 1 && std::size_t{View::rank_dynamic} == 1,
                "Valet: a node_view has one extent that is given at run time, as double*[3] has");
  static_assert(std::is_trivially_copyable_v<value_type> && !std::is_const_v<value_type>,
                "Valet moves bytes: the value type of a node_view must be trivially copyable, and "
                "not const");

  /// Without memory; only to be assigned to.
  NodeView() = default;
  /// As node_view(). Collective.
  NodeView(const std::string& label, std::size_t n, MPI_Comm communicator)
      : label_(std::make_shared<const std::string>(label)), memory_(communicator, n, row_bytes()) {
    look(n);
  }

  /// As NodeArray::resize(), by rows. Other copies of this View have the extent that they had: they
  /// must not be used beyond the new one. @throws Error out_of_memory on this rank alone.
  void resize(std::size_t n) {
    memory_.resize(n, row_bytes());
    look(n);
  }
  /// The name in messages.
  [[nodiscard]] std::string label() const { return label_ ? *label_ : std::string(); }
  /// As NodeArray::is_shared().
  [[nodiscard]] bool is_shared() const noexcept { return memory_.is_shared(); }
  /// Whether no other copy has been resized since.
  [[nodiscard]] bool is_current() const noexcept {
    return memory_.size() == this->extent(0) * row_bytes();
  }

 private:
  static constexpr std::size_t row_bytes() {
    std::size_t bytes = sizeof(value_type);
    for (unsigned d = 1; d < View::rank; ++d) bytes *= View::static_extent(d);
    return bytes;
  }
  void look(std::size_t n) { View::operator=(View(static_cast<value_type*>(memory_.data()), n)); }

  std::shared_ptr<const std::string> label_;
  valet::detail::NodeBytes memory_;
};

/// Makes a View of `n` rows of zeros in memory that the ranks of a node share: node_array() with a
/// label. Collective.
/// @tparam DataType     As a View has it, with one extent that is given at run time: double*[3].
/// @param label         Name used in messages, the same on all ranks.
/// @param n             Rows: the first extent. [local]
/// @param communicator  An intracommunicator; the first call caches a duplicate on it.
/// @throws Error as node_array().
template <class DataType, class Space = Kokkos::HostSpace>
[[nodiscard]] NodeView<DataType, Space> node_view(const std::string& label, std::size_t n,
                                                  MPI_Comm communicator) {
  return {label, n, communicator};
}

/// @cond
namespace detail {
template <class DataType, class Space>
struct DualTraits<NodeView<DataType, Space>> {
  static constexpr bool is_dual = false;
  using View = typename NodeView<DataType, Space>::View;
};
}  // namespace detail
/// @endcond

}  // namespace valet::kokkos
