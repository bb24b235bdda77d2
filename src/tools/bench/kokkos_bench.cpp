// SPDX-License-Identifier: BSD-3-Clause
#include "block_comparison.hpp"
#include <valet/kokkos/blocks.hpp>

#include <Kokkos_Core.hpp>

#include <optional>

namespace valet::bench {
namespace {

template <class Data>
using View = Kokkos::View<Data, Kokkos::LayoutRight, Kokkos::HostSpace,
                          Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

constexpr std::size_t vector_bytes = 3 * sizeof(double);
constexpr std::size_t particle_bytes = 2 * vector_bytes + sizeof(std::uint64_t);

/// Particles per rank without free slots: every second (or third, ...) one leaves for the next
/// rank.
Map make_particle_map(std::uint64_t particles, double leave) {
  const auto leaving_below = [=](std::uint64_t particle) {
    return static_cast<std::uint64_t>(leave * static_cast<double>(particle));
  };
  return {particles, [=](int) { return particles; },
          [=](int rank, std::uint64_t particle) {
            const bool leaves = leaving_below(particle + 1) > leaving_below(particle);
            return Address{leaves ? (rank + 1) % world_size() : rank, particle};
          }};
}

class KokkosBenchmark final : public Benchmark {
  using Benchmark::Benchmark;

  Jobs jobs() override {
    kokkos_.emplace();
    return jobs_of([this](const auto& method) { measure(method); }, methods_);
  }

  void measure(const std::string& method) {
    Options options = options_with(method);
    options.order = parse_order(order_);
    BlockComparison blocks(make_particle_map(particles_, leave_),
                           {vector_bytes, vector_bytes, sizeof(std::uint64_t)}, storage());
    const View<double* [3]> position(reinterpret_cast<double*>(blocks.field(0)), particles_);
    const View<double* [3]> velocity(reinterpret_cast<double*>(blocks.field(1)), particles_);
    const View<std::uint64_t*> id(reinterpret_cast<std::uint64_t*>(blocks.field(2)), particles_);
    const auto move = [&]() -> BlockComparison::Moved {
      return {migrate(MPI_COMM_WORLD, kokkos::blocks(position, velocity, id), particles_,
                      blocks.ranks(), options),
              Places::any};
    };
    const int next = (world_rank() + 1) % world_size();
    std::vector<std::uint64_t> leaving(static_cast<std::size_t>(world_size()), 0);
    auto& to_next = leaving[static_cast<std::size_t>(next)];
    to_next = static_cast<std::uint64_t>(leave_ * static_cast<double>(particles_));
    const std::vector<std::byte> packed(to_next * particle_bytes);
    Alltoallv peer(leaving, particle_bytes, packed.data());
    compare(
        {{"pattern", "particles"},
         {"method", method},
         {"map", "ranks"},
         {"order", order_},
         {"ranks", world_size()},
         {"blocks", particles_},
         {"block_bytes", particle_bytes},
         {"free", 0},
         {"memory", options.budget_bytes},
         {"leave", leave_}},
        [&] { return blocks.run(move); }, peer);
  }

  Number& particles_ =
      option<Number>("--particles", 2'000'000, "particles per rank; no slot is free", positive());
  double& leave_ =
      option("--leave", 0.5, "fraction of the particles that leave their rank", in_range(0, 1));
  Texts& methods_ = option<Texts>("--method", {"stream"}, about_methods());
  Text& order_ =
      option<Text>("--order", "any", "order of particles after the migration: any, fill or stable",
                   one_of({"any", "fill", "stable"}));
  std::optional<Kokkos::ScopeGuard> kokkos_;
};

}  // namespace

std::unique_ptr<Benchmark> make_kokkos_benchmark() {
  return std::make_unique<KokkosBenchmark>(
      "kokkos",
      "Migration of particles in Kokkos Views (3 doubles, 3 doubles, one 64-bit id) to the next "
      "rank. Compared with MPI_Alltoallv of the same bytes, already packed",
      5, CommonOptions{.can_share = false, .has_storage = true});
}

}  // namespace valet::bench
