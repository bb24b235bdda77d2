// SPDX-License-Identifier: BSD-3-Clause
#include "migrate.hpp"

#include "memory.hpp"
#include "support/ranks.hpp"
#include <valet/p4est/transfer.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <new>
#include <numeric>
#include <stdexcept>

namespace amr {
namespace {

std::vector<int> displs_of(const std::vector<int>& counts) {
  std::vector<int> displs(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), displs.begin(), 0);
  return displs;
}

double* pack_patch(const Patches& patches, std::size_t slot, double* to) {
  for (const Patches::Cells& view : patches.cells)
    to = std::copy_n(&view(slot, 0), patch_cells, to);
  *to++ = std::bit_cast<double>(patches.key(slot));
  *to++ = patches.work(slot);
  return to;
}

const double* unpack_patch(const double* from, const Patches& patches, std::size_t slot) {
  for (const Patches::Cells& view : patches.cells) {
    std::copy_n(from, patch_cells, &view(slot, 0));
    from += patch_cells;
  }
  patches.key(slot) = std::bit_cast<LeafKey>(*from++);
  patches.work(slot) = *from++;
  return from;
}

void copy_patch(const Patches& patches, std::size_t from, std::size_t to) {
  if (from == to) return;
  for (const Patches::Cells& view : patches.cells)
    std::copy_n(&view(from, 0), patch_cells, &view(to, 0));
  patches.key(to) = patches.key(from);
  patches.work(to) = patches.work(from);
}

void occupy_first(Patches& patches, std::uint64_t count) {
  std::fill(patches.occupied.begin(), patches.occupied.end(), std::uint8_t{0});
  std::fill_n(patches.occupied.begin(), count, std::uint8_t{1});
}

/// The time of `action` on the slowest rank.
template <class Action>
double slowest(MPI_Comm communicator, Action&& action) {
  MPI_Barrier(communicator);
  const double start = MPI_Wtime();
  action();
  double seconds = MPI_Wtime() - start;
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, communicator);
  return seconds;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 != 0 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

}  // namespace

PackedPatches::PackedPatches(MPI_Comm communicator, const Patches& patches,
                             std::span<const int> ranks, Which which)
    : communicator_(communicator),
      which_(which),
      send_counts_(static_cast<std::size_t>(example::size_of(communicator)), 0),
      receive_counts_(send_counts_.size(), 0) {
  MPI_Comm_rank(communicator, &rank_);
  std::vector<std::uint64_t> counts(send_counts_.size(), 0);
  for (std::size_t slot = 0; slot < ranks.size(); ++slot)
    if (is_packed(patches, ranks, slot)) ++counts[static_cast<std::size_t>(ranks[slot])];
  sent_ = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  // MPI_Alltoallv counts with 31 bits; 2^31 doubles are 16 GiB.
  bool too_many = sent_ * block_doubles > std::numeric_limits<int>::max();
  for (std::size_t r = 0; r < counts.size(); ++r)
    send_counts_[r] = too_many ? 0 : static_cast<int>(counts[r] * block_doubles);
  MPI_Alltoall(send_counts_.data(), 1, MPI_INT, receive_counts_.data(), 1, MPI_INT, communicator);
  std::uint64_t incoming = 0;
  for (const int count : receive_counts_) incoming += static_cast<std::uint64_t>(count);
  received_ = incoming / block_doubles;
  too_many = too_many || incoming > std::numeric_limits<int>::max();
  if (!too_many) {
    send_displs_ = displs_of(send_counts_);
    receive_displs_ = displs_of(receive_counts_);
    outgoing_.reset(new (std::nothrow) double[sent_ * block_doubles]);
    incoming_.reset(new (std::nothrow) double[received_ * block_doubles]);
  }
  agree_on_memory(communicator, outgoing_ == nullptr || incoming_ == nullptr, buffer_bytes(),
                  "packed send and receive buffers (--exchange out-of-place)");
}

bool PackedPatches::is_packed(const Patches& patches, std::span<const int> ranks,
                              std::size_t slot) const {
  return patches.occupied[slot] != 0 && (which_ == Which::all || ranks[slot] != rank_);
}

std::uint64_t PackedPatches::buffer_bytes() const {
  return (sent_ + received_) * Patches::block_bytes;
}

void PackedPatches::pack(const Patches& patches, std::span<const int> ranks) {
  std::vector<int> next = send_displs_;
  for (std::size_t slot = 0; slot < ranks.size(); ++slot) {
    if (!is_packed(patches, ranks, slot)) continue;
    int& place = next[static_cast<std::size_t>(ranks[slot])];
    pack_patch(patches, slot, outgoing_.get() + place);
    place += static_cast<int>(block_doubles);
  }
}

void PackedPatches::exchange() {
  MPI_Alltoallv(outgoing_.get(), send_counts_.data(), send_displs_.data(), MPI_DOUBLE,
                incoming_.get(), receive_counts_.data(), receive_displs_.data(), MPI_DOUBLE,
                communicator_);
}

std::uint64_t PackedPatches::unpack(Patches& patches, std::span<const int> ranks) const {
  std::uint64_t next = 0;
  for (std::size_t slot = 0; slot < ranks.size(); ++slot)
    if (patches.occupied[slot] != 0 && ranks[slot] == rank_) copy_patch(patches, slot, next++);
  const double* from = incoming_.get();
  for (std::uint64_t k = 0; k < received_; ++k) from = unpack_patch(from, patches, next++);
  return next;
}

Moved move_in_place(valet::Plan& plan, Patches& patches) {
  const valet::Report report = valet::execute(plan, patches.storage());
  occupy_first(patches, report.blocks_after);
  return {report.bytes_sent,       report.blocks_received * report.block_bytes,
          report.peak_extra_bytes, report.extra_bytes_bound,
          report.blocks_after,     report.exchange_seconds,
          report.local_seconds};
}

CurveCuts cuts_of(std::span<const int> home, int ranks) {
  CurveCuts cuts;
  for (int rank = 0; rank <= ranks; ++rank)
    cuts.push_back(std::ranges::lower_bound(home, rank) - home.begin());
  return cuts;
}

Moved move_along_curve(MPI_Comm communicator, Patches& patches,
                       std::span<const std::uint32_t> slot_of, const CurveCuts& before,
                       const CurveCuts& after, const valet::Options& options) {
  int rank = 0;
  MPI_Comm_rank(communicator, &rank);
  const auto self = static_cast<std::size_t>(rank);
  // Into the order of the curve first, which new patches in free slots have left.
  std::vector<valet::Address> sorted(patches.slots());
  for (std::int64_t leaf = before[self]; leaf < before[self + 1]; ++leaf)
    sorted[slot_of[static_cast<std::size_t>(leaf)]].slot =
        static_cast<std::uint64_t>(leaf - before[self]);
  const valet::Report local = valet::migrate(
      MPI_COMM_SELF, patches.storage(), valet::Occupied::masked(patches.occupied), sorted, options);
  Moved moved{.extra_bytes = local.peak_extra_bytes,
              .limit_bytes = local.extra_bytes_bound,
              .inside_seconds = local.seconds()};
  valet::AlltoallOptions limits;
  limits.budget_bytes = options.budget_bytes;
  patches.for_each_view([&](const auto& view) {
    const std::size_t bytes = view.span() * sizeof(*view.data());
    const valet::Report report =
        valet::p4est::transfer_fixed(after.data(), before.data(), communicator, view.data(), bytes,
                                     bytes / view.extent(0), limits);
    moved.extra_bytes = std::max(moved.extra_bytes, report.peak_extra_bytes);
    moved.limit_bytes = std::max(moved.limit_bytes, report.extra_bytes_bound);
    moved.between_seconds += report.exchange_seconds;
    moved.inside_seconds += report.local_seconds;
  });
  const std::int64_t staying = std::max<std::int64_t>(
      0, std::min(before[self + 1], after[self + 1]) - std::max(before[self], after[self]));
  const auto bytes_of_others = [&](const CurveCuts& cuts) {
    return static_cast<std::uint64_t>(cuts[self + 1] - cuts[self] - staying) * Patches::block_bytes;
  };
  moved.sent_bytes = bytes_of_others(before);
  moved.received_bytes = bytes_of_others(after);
  moved.patches_after = static_cast<std::uint64_t>(after[self + 1] - after[self]);
  occupy_first(patches, moved.patches_after);
  return moved;
}

Moved move_out_of_place(MPI_Comm communicator, Patches& patches, std::span<const int> ranks) {
  PackedPatches packed(communicator, patches, ranks, PackedPatches::Which::leaving);
  packed.pack(patches, ranks);
  packed.exchange();
  const std::uint64_t count = packed.unpack(patches, ranks);
  occupy_first(patches, count);
  return {packed.sent() * Patches::block_bytes,
          packed.received() * Patches::block_bytes,
          packed.buffer_bytes(),
          0,
          count,
          0,
          0};
}

Comparison compare(MPI_Comm communicator, Patches& patches, std::span<const int> ranks,
                   const std::function<Moved()>& in_place, int rounds) {
  Patches backup(patches.slots());
  const auto copy = [](const Patches& from, Patches& to) {
    for (std::size_t v = 0; v < from.cells.size(); ++v)
      Kokkos::deep_copy(to.cells[v], from.cells[v]);
    Kokkos::deep_copy(to.key, from.key);
    Kokkos::deep_copy(to.work, from.work);
    to.occupied = from.occupied;
  };
  copy(patches, backup);
  PackedPatches all(communicator, patches, ranks, PackedPatches::Which::all);
  PackedPatches leaving(communicator, patches, ranks, PackedPatches::Which::leaving);
  all.pack(patches, ranks);
  leaving.pack(patches, ranks);
  std::array<std::vector<double>, 5> seconds;
  for (int round = 0; round <= rounds; ++round) {
    Moved moved;
    const double whole = slowest(communicator, [&] { moved = in_place(); });
    std::array<double, 5> once{whole, moved.between_seconds, moved.inside_seconds,
                               slowest(communicator, [&] { all.exchange(); }),
                               slowest(communicator, [&] { leaving.exchange(); })};
    MPI_Allreduce(MPI_IN_PLACE, &once[1], 2, MPI_DOUBLE, MPI_MAX, communicator);
    copy(backup, patches);
    if (round > 0)
      for (std::size_t k = 0; k < once.size(); ++k) seconds[k].push_back(once[k]);
  }
  return {median(seconds[0]), median(seconds[1]), median(seconds[2]), median(seconds[3]),
          median(seconds[4])};
}

}  // namespace amr
