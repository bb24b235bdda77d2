// SPDX-License-Identifier: BSD-3-Clause
#include "cloud.hpp"

#include "support/ranks.hpp"

#include <cmath>
#include <cstring>

namespace particles {
namespace {

using Range = Kokkos::RangePolicy<Kokkos::IndexType<std::uint64_t>>;

/// Splitmix64 (Steele, Lea, Flood, OOPSLA 2014): every bit depends on every bit.
KOKKOS_INLINE_FUNCTION std::uint64_t scramble(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31U);
}

/// A number in [0, 1) for each id and purpose.
KOKKOS_INLINE_FUNCTION double random_of(std::uint64_t id, std::uint64_t purpose) {
  return static_cast<double>(scramble(id * 16 + purpose) >> 11U) * 0x1p-53;
}

KOKKOS_INLINE_FUNCTION std::uint64_t hash_of(std::uint64_t seed, double value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return scramble(seed ^ bits);
}

/// What half of the particles are bound to.
struct Centre {
  double place[3];
  double strength;
};

/// Two centres circle each other. While one gathers its particles, the other lets its own go, and
/// so work moves from rank to rank.
Centre centre_at(double time, int number) {
  constexpr double pi = 3.14159265358979;
  const double angle = 0.4 * time + pi * number;
  return {
      {0.5 + 0.24 * std::cos(angle), 0.5 + 0.24 * std::sin(angle), 0.5 + 0.1 * std::sin(2 * angle)},
      0.4 + 1.5 * std::cos(1.6 * time + pi * number)};
}

constexpr double softening = 0.06;  ///< squared length below which the pull grows no more
constexpr double friction = 2;

/// Work grows with the neighbours within reach; cells of a coarse grid stand for the reach.
constexpr int cells = 24;

KOKKOS_INLINE_FUNCTION int cell_of(double x, double y, double z) {
  const auto index = [](double v) {
    const int i = static_cast<int>(v * cells);
    return i < cells ? i : cells - 1;
  };
  return (index(x) * cells + index(y)) * cells + index(z);
}

/// From 0 for a particle alone towards 1 in a crowd.
KOKKOS_INLINE_FUNCTION double crowding(double density_over_mean) {
  return density_over_mean / (density_over_mean + 8);
}

}  // namespace

Cloud::Cloud(std::uint64_t slots)
    : position("particles::position", slots),
      velocity("particles::velocity", slots),
      id("particles::id", slots),
      work("particles::work", slots),
      mass("particles::mass", slots) {}

Cloud::Cloud(std::uint64_t slots, double* memory)
    : position(memory, slots),
      velocity(memory + 3 * slots, slots),
      id(reinterpret_cast<std::uint64_t*>(memory + 6 * slots), slots),
      work(memory + 7 * slots, slots),
      mass(memory + 8 * slots, slots) {}

void Cloud::pack(std::uint64_t slot, void* bytes) const {
  double numbers[bytes_each / sizeof(double)];
  for (std::size_t d = 0; d < 3; ++d) {
    numbers[d] = position(slot, d);
    numbers[3 + d] = velocity(slot, d);
  }
  std::memcpy(&numbers[6], &id(slot), sizeof(double));
  numbers[7] = work(slot);
  numbers[8] = mass(slot);
  std::memcpy(bytes, numbers, sizeof numbers);
}

void Cloud::unpack(std::uint64_t slot, const void* bytes) {
  double numbers[bytes_each / sizeof(double)];
  std::memcpy(numbers, bytes, sizeof numbers);
  for (std::size_t d = 0; d < 3; ++d) {
    position(slot, d) = numbers[d];
    velocity(slot, d) = numbers[3 + d];
  }
  std::memcpy(&id(slot), &numbers[6], sizeof(double));
  work(slot) = numbers[7];
  mass(slot) = numbers[8];
}

void Cloud::fill(std::uint64_t first_id, std::uint64_t particles) {
  const Cloud self = *this;
  Kokkos::parallel_for(
      "particles::fill", Range(0, particles), KOKKOS_LAMBDA(const std::uint64_t k) {
        const std::uint64_t own = first_id + k;
        for (int d = 0; d < 3; ++d) {
          self.position(k, d) = random_of(own, static_cast<std::uint64_t>(d));
          self.velocity(k, d) = 0.2 * (random_of(own, 3 + static_cast<std::uint64_t>(d)) - 0.5);
        }
        self.id(k) = own;
        self.work(k) = 1;
        self.mass(k) = 1 + random_of(own, 6);
      });
  count = particles;
}

void Cloud::advance(double time, double time_step) {
  const Centre first = centre_at(time, 0);
  const Centre second = centre_at(time, 1);
  const Cloud self = *this;
  Kokkos::parallel_for(
      "particles::advance", Range(0, count), KOKKOS_LAMBDA(const std::uint64_t k) {
        const Centre& centre = scramble(self.id(k)) % 2 == 0 ? first : second;
        double way[3];
        double square = softening;
        for (int d = 0; d < 3; ++d) {
          way[d] = centre.place[d] - self.position(k, d);
          square += way[d] * way[d];
        }
        for (int d = 0; d < 3; ++d) {
          double speed = self.velocity(k, d);
          speed += time_step * (centre.strength * way[d] / square - friction * speed);
          double place = self.position(k, d) + time_step * speed;
          if (place < 0 || place > 1) {
            speed = -speed;
            place = place < 0 ? -place : 2 - place;
          }
          self.velocity(k, d) = speed;
          self.position(k, d) = place < 0 ? 0 : place > 1 ? 1 : place;
        }
      });
}

void Cloud::weigh(MPI_Comm communicator, double mean_work) {
  const Kokkos::View<int*> density("particles::density",
                                   static_cast<std::size_t>(cells) * cells * cells);
  const Cloud self = *this;
  Kokkos::parallel_for(
      "particles::density", Range(0, count), KOKKOS_LAMBDA(const std::uint64_t k) {
        Kokkos::atomic_add(
            &density(cell_of(self.position(k, 0), self.position(k, 1), self.position(k, 2))), 1);
      });
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), density);
  MPI_Allreduce(MPI_IN_PLACE, host.data(), static_cast<int>(host.extent(0)), MPI_INT, MPI_SUM,
                communicator);
  // In integers up to here, so that the work is the same on any number of ranks.
  double total = 0;
  for (std::size_t c = 0; c < host.extent(0); ++c) total += host(c);
  const double mean = total / static_cast<double>(host.extent(0));
  double crowd = 0;
  for (std::size_t c = 0; c < host.extent(0); ++c) crowd += host(c) * crowding(host(c) / mean);
  const double factor = crowd > 0 ? (mean_work - 1) * total / crowd : 0;
  Kokkos::deep_copy(density, host);
  Kokkos::parallel_for(
      "particles::weigh", Range(0, count), KOKKOS_LAMBDA(const std::uint64_t k) {
        const int own =
            density(cell_of(self.position(k, 0), self.position(k, 1), self.position(k, 2)));
        self.work(k) = 1 + factor * crowding(own / mean);
      });
}

double Cloud::imbalance(MPI_Comm communicator) const {
  const auto all_work = work;
  double own = 0;
  Kokkos::parallel_reduce(
      "particles::imbalance", Range(0, count),
      KOKKOS_LAMBDA(const std::uint64_t k, double& sum) { sum += all_work(k); }, own);
  double largest = 0;
  double total = 0;
  MPI_Allreduce(&own, &largest, 1, MPI_DOUBLE, MPI_MAX, communicator);
  MPI_Allreduce(&own, &total, 1, MPI_DOUBLE, MPI_SUM, communicator);
  return largest * example::size_of(communicator) / total;
}

Checksum Cloud::checksum(MPI_Comm communicator) const {
  const Cloud self = *this;
  std::uint64_t sums[4] = {0, 0, 0, 0};
  Kokkos::parallel_reduce(
      "particles::checksum", Range(0, count),
      KOKKOS_LAMBDA(const std::uint64_t k, std::uint64_t& ids, std::uint64_t& id_hashes,
                    std::uint64_t& constants, std::uint64_t& everything) {
        const std::uint64_t id_hash = scramble(self.id(k));
        const std::uint64_t constant = hash_of(id_hash, self.mass(k));
        std::uint64_t all = hash_of(constant, self.work(k));
        for (int d = 0; d < 3; ++d) {
          all = hash_of(all, self.position(k, d));
          all = hash_of(all, self.velocity(k, d));
        }
        ids += self.id(k);
        id_hashes += id_hash;
        constants += constant;
        everything += all;
      },
      sums[0], sums[1], sums[2], sums[3]);
  std::uint64_t added[5] = {count, sums[0], sums[1], sums[2], sums[3]};
  MPI_Allreduce(MPI_IN_PLACE, added, 5, MPI_UINT64_T, MPI_SUM, communicator);
  return {added[0], added[1], added[2], added[3], added[4]};
}

}  // namespace particles
