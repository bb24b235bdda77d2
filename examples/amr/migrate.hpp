// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Moving patches: in place with Valet, and out of place as it is usually done.

#include "patches.hpp"
#include <valet/valet.hpp>

#include <mpi.h>

#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace amr {

/// What one migration did on this rank.
struct Moved {
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t extra_bytes = 0;  ///< most memory beyond the Views
  std::uint64_t limit_bytes = 0;  ///< what it promised not to pass; 0 for none
  std::uint64_t patches_after = 0;
  double between_seconds = 0;  ///< exchanging, and
  double inside_seconds = 0;   ///< copying on the rank
};

/// Patches packed in the order of their destinations, for MPI_Alltoallv: what a
/// code does that has memory for it.
class PackedPatches {
 public:
  enum class Which { leaving, all };

  /// Exchanges counts and asks for both buffers. Collective.
  /// @param ranks  Destination of each slot's patch. [local]
  /// @throws OutOfMemory on all ranks when one of them gets no buffers; nothing has moved.
  PackedPatches(MPI_Comm communicator, const Patches& patches, std::span<const int> ranks,
                Which which);

  void pack(const Patches& patches, std::span<const int> ranks);
  /// Collective.
  void exchange();
  /// Patches that stay first, in their old order, then arrivals by source: Valet's stable order.
  /// Only where the leaving ones were packed. @return The patches here now.
  std::uint64_t unpack(Patches& patches, std::span<const int> ranks) const;

  [[nodiscard]] std::uint64_t buffer_bytes() const;
  [[nodiscard]] std::uint64_t sent() const { return sent_; }
  [[nodiscard]] std::uint64_t received() const { return received_; }

 private:
  static constexpr std::size_t block_doubles = Patches::block_bytes / sizeof(double);

  [[nodiscard]] bool is_packed(const Patches& patches, std::span<const int> ranks,
                               std::size_t slot) const;

  MPI_Comm communicator_;
  Which which_;
  int rank_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  std::vector<int> send_counts_;  // in doubles, as all below
  std::vector<int> send_displs_;
  std::vector<int> receive_counts_;
  std::vector<int> receive_displs_;
  std::unique_ptr<double[]> outgoing_;
  std::unique_ptr<double[]> incoming_;
};

/// Carries out a plan of Valet's for the Views of `patches`. Collective. @throws valet::Error.
Moved move_in_place(valet::Plan& plan, Patches& patches);

/// Where the curve is cut: rank r has the leaves from cut r up to the next one. What p4est calls
/// global_first_quadrant.
using CurveCuts = std::vector<std::int64_t>;

/// The cuts of leaves whose ranks ascend along the curve.
[[nodiscard]] CurveCuts cuts_of(std::span<const int> home, int ranks);

/// In place between two partitions that cut the curve: there is no map, each View follows the
/// cuts. The patches end in the order of the curve. Collective. @throws valet::Error.
/// @param slot_of  Slot of each leaf that is here. [local]
Moved move_along_curve(MPI_Comm communicator, Patches& patches,
                       std::span<const std::uint32_t> slot_of, const CurveCuts& before,
                       const CurveCuts& after, const valet::Options& options);

/// The same with packed buffers and MPI_Alltoallv. Collective. @throws OutOfMemory on all ranks;
/// nothing has moved.
Moved move_out_of_place(MPI_Comm communicator, Patches& patches, std::span<const int> ranks);

/// Seconds of the slowest rank, medians.
struct Comparison {
  double in_place = 0;           ///< with the plan, where there is one
  double between_ranks = 0;      ///< part of it, and
  double inside_ranks = 0;       ///< the copies that the stable order takes
  double alltoallv_all = 0;      ///< all patches, those that stay included
  double alltoallv_leaving = 0;  ///< those that leave only
};

/// Times `in_place` against MPI_Alltoallv of the same patches, already packed, between buffers that
/// are at hand: alternating, after one round that is not counted. The patches are restored after
/// each round, so it takes a copy of everything. Collective.
/// @param ranks     Destination of each slot's patch. [local]
/// @param in_place  Moves the patches there.
[[nodiscard]] Comparison compare(MPI_Comm communicator, Patches& patches,
                                 std::span<const int> ranks, const std::function<Moved()>& in_place,
                                 int rounds);

}  // namespace amr
