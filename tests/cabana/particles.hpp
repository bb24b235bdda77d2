// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Particles of members of every rank, whose values say where they began, and random maps of them.

#include "kokkos_environment.hpp"
#include "oracle.hpp"
#include "random_options.hpp"
#include "test_comm.hpp"
#include <valet/cabana/migrate.hpp>

namespace valet::test {

using Members = Cabana::MemberTypes<double[3][2], float[3], std::int64_t, short[2][2][2], char>;

/// Calls visit(component, number) for those of one particle.
template <class Slice, class Visit>
void for_each_component(const Slice& slice, std::size_t i, Visit&& visit) {
  constexpr std::size_t rank = Slice::kokkos_view::rank;
  std::size_t number = 0;
  if constexpr (rank == 2) visit(slice(i), number);
  if constexpr (rank == 3)
    for (std::size_t a = 0; a < slice.extent(2); ++a) visit(slice(i, a), number++);
  if constexpr (rank == 4)
    for (std::size_t a = 0; a < slice.extent(2); ++a)
      for (std::size_t b = 0; b < slice.extent(3); ++b) visit(slice(i, a, b), number++);
  if constexpr (rank == 5)
    for (std::size_t a = 0; a < slice.extent(2); ++a)
      for (std::size_t b = 0; b < slice.extent(3); ++b)
        for (std::size_t c = 0; c < slice.extent(4); ++c) visit(slice(i, a, b, c), number++);
}

template <int length>
struct Particles {
  using AoSoA = Cabana::AoSoA<Members, Kokkos::HostSpace, length>;
  static constexpr std::size_t members = AoSoA::number_of_members;
  AoSoA aosoa;

  explicit Particles(std::size_t count) : aosoa("particles", count) {
    for (std::size_t k = 0; k < count; ++k)
      for_each_value(k, {rank(), k}, [](auto& value, auto right) { value = right; });
  }
  /// Whether slot k holds the particle that began there.
  [[nodiscard]] bool holds(std::size_t k, const Address& from) const {
    bool all = true;
    for_each_value(k, from, [&](auto& value, auto right) { all = all && value == right; });
    return all;
  }
  [[nodiscard]] bool is_untouched(std::size_t count) const {
    bool all = aosoa.size() == count;
    for (std::size_t k = 0; k < aosoa.size(); ++k) all = all && holds(k, {rank(), k});
    return all;
  }
  /// Where the particle in slot k began.
  [[nodiscard]] Address origin(std::size_t k) const {
    const std::int64_t number = Cabana::slice<2>(aosoa)(k);
    return {static_cast<int>(number >> 32U), static_cast<std::uint64_t>(number & 0xFFFF'FFFF)};
  }

 private:
  template <class Visit>
  void for_each_value(std::size_t k, const Address& from, Visit&& visit) const {
    const auto all = [&]<std::size_t... M>(std::index_sequence<M...>) {
      (for_each_component(Cabana::slice<M>(aosoa), k,
                          [&](auto& value, std::size_t number) {
                            visit(value, right<std::remove_reference_t<decltype(value)>>(
                                             from, 10 * M + number));
                          }),
       ...);
    };
    all(std::make_index_sequence<members>());
  }
  /// 64 bits say all; smaller values depend on all.
  template <class Value>
  static Value right(const Address& from, std::uint64_t number) {
    const auto bits = static_cast<std::uint64_t>(from.rank) << 32U | from.slot;
    if constexpr (sizeof(Value) == 8 && std::is_integral_v<Value>)
      return static_cast<Value>(bits);
    else
      return static_cast<Value>((bits * 2654435761U + number * 40503U) % 251 % 127);
  }
};

/// Numbers of particles and ranks that every rank draws alike; some ranks have none, many get more
/// than fit, some particles are dropped.
struct ParticleMap {
  GlobalMap map;
  Options options;

  explicit ParticleMap(std::mt19937_64& random) {
    std::vector<std::uint64_t> counts;
    for (int r = 0; r < size(); ++r) counts.push_back(pick(random, 0, 2) * pick(random, 0, 60));
    map = empty_map(counts);
    const auto any_rank = [&] {
      return static_cast<int>(pick(random, 1, std::uint64_t(size())) - 1);
    };
    const int favourite = any_rank();
    for (auto& row : map.destination)
      for (auto& to : row)
        if (const std::uint64_t choice = pick(random, 0, 5); choice > 0)
          to = Address{choice > 3 ? favourite : any_rank(), 0};
    options.method = all_methods[pick(random, 0, all_methods.size() - 1)];
    options.order = all_orders[pick(random, 0, 2)];
    options.verify = pick(random, 0, 1) == 0;
    options.negative_rank = NegativeRank::drop;
  }
  [[nodiscard]] std::size_t count() const { return row_of(map.slots, rank()); }
  [[nodiscard]] std::vector<int> ranks() const {
    std::vector<int> result;
    for (const auto& to : row_of(map.destination, rank())) result.push_back(to ? to->rank : -1);
    return result;
  }
  [[nodiscard]] std::uint64_t arriving(int there = rank()) const {
    std::uint64_t sum = 0;
    for_each_block(map,
                   [&](const Address&, const Address& to) { sum += to.rank == there ? 1 : 0; });
    return sum;
  }
  /// By this rank's slots afterwards.
  [[nodiscard]] Content content(std::size_t particle_bytes) const {
    GlobalMap grown = map;
    for (int r = 0; r < size(); ++r) {
      row_of(grown.slots, r) = std::max<std::uint64_t>(row_of(grown.slots, r), arriving(r));
      row_of(grown.destination, r).resize(row_of(grown.slots, r));
    }
    const GlobalContent content = content_by_ranks(grown, options.order, particle_bytes);
    return row_of(content, rank());
  }
};

using Ranks = Kokkos::View<int*, Kokkos::HostSpace>;
using Distributor = Cabana::Distributor<Kokkos::HostSpace>;

inline Ranks view_of(const std::vector<int>& ranks) {
  Ranks view("ranks", ranks.size());
  std::copy(ranks.begin(), ranks.end(), view.data());
  return view;
}

}  // namespace valet::test
