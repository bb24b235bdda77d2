// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// In the place of Cabana where there is none: what valet/cabana/migrate.hpp and its tests use of
// AoSoA, Slice and Distributor, on the host, with the same names, meaning and layout.

#include <Kokkos_Core.hpp>
#include <mpi.h>

#include <cstddef>
#include <new>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace Cabana {

template <class... T>
struct MemberTypes {
  using List = std::tuple<T*...>;
  static constexpr std::size_t size = sizeof...(T);
};

/// double[3][2] -> double*[3][2], with the extent of the tile put in between by Slice.
template <class T>
struct Pointers {
  using Type = T*;
};
template <class T, std::size_t n>
struct Pointers<T[n]> {
  using Type = typename Pointers<T>::Type[n];
};

/// Tiles of `length` particles; in each, the components of a member are `length` apart.
template <class T, class Space, int length>
class Slice {
 public:
  using value_type = std::remove_all_extents_t<T>;
  using memory_space = typename Space::memory_space;
  using execution_space = typename Space::execution_space;
  using kokkos_view = Kokkos::View<typename Pointers<T>::Type[length], Kokkos::LayoutStride, Space,
                                   Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  static constexpr int vector_length = length;

  Slice(value_type* data, std::size_t size, std::size_t tiles, std::size_t tile_bytes)
      : size_(size) {
    constexpr unsigned rank = std::rank_v<T> + 2;
    Kokkos::LayoutStride layout;
    const std::size_t extents[] = {tiles, length, std::extent_v<T, 0>, std::extent_v<T, 1>,
                                   std::extent_v<T, 2>};
    std::size_t stride = length;
    for (unsigned d = rank - 1; d >= 2; --d) {
      layout.stride[d] = stride;
      stride *= extents[d];
    }
    layout.stride[0] = tile_bytes / sizeof(value_type);
    layout.stride[1] = 1;
    for (unsigned d = 0; d < rank; ++d) layout.dimension[d] = extents[d];
    view_ = kokkos_view(data, layout);
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t numSoA() const { return view_.extent(0); }
  [[nodiscard]] std::size_t extent(std::size_t d) const { return view_.extent(d); }
  [[nodiscard]] std::size_t stride(std::size_t d) const { return view_.stride(d); }
  [[nodiscard]] value_type* data() const { return view_.data(); }
  template <class... Index>
  value_type& operator()(std::size_t i, Index... index) const {
    return view_(i / length, i % length, index...);
  }

 private:
  kokkos_view view_;
  std::size_t size_;
};

/// Copies share the memory.
template <class Members, class Space, int length, class Traits = Kokkos::MemoryManaged>
class AoSoA {
 public:
  using memory_space = typename Space::memory_space;
  using memory_traits = Traits;
  using size_type = std::size_t;
  static constexpr int vector_length = length;
  static constexpr std::size_t number_of_members = Members::size;
  template <std::size_t M>
  using Member = std::remove_pointer_t<std::tuple_element_t<M, typename Members::List>>;
  /// Whether there is no memory, for any.
  static inline bool refuses = false;

  AoSoA(std::string label, std::size_t size) : label_(std::move(label)) { resize(size); }

  [[nodiscard]] std::string label() const { return label_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] std::byte* data() const { return memory_.data(); }
  /// As Cabana does, keeps a capacity for which it gets no memory.
  void reserve(std::size_t n) {
    if (n <= capacity_) return;
    capacity_ = tiles(n) * length;
    if (refuses) throw std::bad_alloc();
    const Kokkos::View<std::byte*, Space> more(label_,
                                               tiles(n) * bytes_before<number_of_members>());
    for (std::size_t b = 0; b < tiles(size_) * bytes_before<number_of_members>(); ++b)
      more(b) = memory_(b);
    memory_ = more;
  }
  void resize(std::size_t n) {
    reserve(n);
    size_ = n;
  }
  template <std::size_t M>
  [[nodiscard]] auto slice() const {
    using Value = std::remove_all_extents_t<Member<M>>;
    std::byte* const first = data() == nullptr ? nullptr : data() + bytes_before<M>();
    return Slice<Member<M>, Space, length>(reinterpret_cast<Value*>(first), size_, tiles(size_),
                                           bytes_before<number_of_members>());
  }

 private:
  static std::size_t tiles(std::size_t n) { return (n + length - 1) / length; }
  /// In a tile, in front of member M; every member begins at a multiple of 16 bytes.
  template <std::size_t M>
  static constexpr std::size_t bytes_before() {
    if constexpr (M == 0)
      return 0;
    else
      return (bytes_before<M - 1>() + sizeof(Member<M - 1>) * length + 15) / 16 * 16;
  }

  std::string label_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  Kokkos::View<std::byte*, Space> memory_;
};

template <std::size_t M, class Particles>
auto slice(const Particles& particles) {
  return particles.template slice<M>();
}

/// Neighbours are those to which a rank exports, itself first. Imports are left out.
template <class Space>
class Distributor {
 public:
  using memory_space = typename Space::memory_space;

  template <class Ranks>
  Distributor(MPI_Comm communicator, const Ranks& ranks)
      : communicator_(communicator), size_(ranks.size()), steering_("steering", ranks.size()) {
    int self = 0, all = 0;
    MPI_Comm_rank(communicator, &self);
    MPI_Comm_size(communicator, &all);
    std::size_t next = 0;
    for (int k = 0; k < all; ++k) {
      const int to = k == 0 ? self : k <= self ? k - 1 : k;
      const std::size_t first = next;
      for (std::size_t i = 0; i < ranks.size(); ++i)
        if (ranks(i) == to) steering_(next++) = i;
      if (next == first) continue;
      neighbours_.push_back(to);
      exports_.push_back(next - first);
    }
  }
  [[nodiscard]] MPI_Comm comm() const { return communicator_; }
  [[nodiscard]] std::size_t exportSize() const { return size_; }
  [[nodiscard]] int numNeighbor() const { return static_cast<int>(neighbours_.size()); }
  [[nodiscard]] int neighborRank(int n) const { return neighbours_[static_cast<std::size_t>(n)]; }
  [[nodiscard]] std::size_t numExport(int n) const { return exports_[static_cast<std::size_t>(n)]; }
  [[nodiscard]] auto getExportSteering() const { return steering_; }

 private:
  MPI_Comm communicator_;
  std::size_t size_;
  std::vector<int> neighbours_;
  std::vector<std::size_t> exports_;
  Kokkos::View<std::size_t*, Space> steering_;
};

template <class T>
struct is_aosoa : std::false_type {};
template <class T>
struct is_aosoa<const T> : is_aosoa<T> {};
template <class Members, class Space, int length, class Traits>
struct is_aosoa<AoSoA<Members, Space, length, Traits>> : std::true_type {};
template <class T>
struct is_slice : std::false_type {};
template <class T, class Space, int length>
struct is_slice<Slice<T, Space, length>> : std::true_type {};
template <class T>
struct is_distributor : std::false_type {};
template <class Space>
struct is_distributor<Distributor<Space>> : std::true_type {};

}  // namespace Cabana
