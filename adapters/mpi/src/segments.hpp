// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "communicator.hpp"

#include <optional>

namespace valet::preload {

/// Where one element of a type has its bytes.
struct Layout {
  /// @param packer  Where it is packed to find out.
  /// @throws Failure
  Layout(MPI_Datatype of, MPI_Comm packer);

  MPI_Datatype type;
  MPI_Count size = 0;
  MPI_Aint extent = 0;
  MPI_Aint first_byte = 0;
  bool is_dense = false;  ///< they lie one behind the other, in the order of a message
};

/// What this rank has for another, and gets from it, in the same place. With MPI_IN_PLACE both have
/// the same bytes, though the types of the two ranks may have them in different places.
struct Segment {
  std::byte* address = nullptr;  ///< of the first byte if it is dense, else as MPI takes it
  MPI_Count bytes = 0;
  MPI_Count elements = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  bool is_dense = true;
};

/// Segments of a call with MPI_IN_PLACE: the arguments of MPI_Alltoall, which has no counts, of
/// MPI_Alltoallv or of MPI_Alltoallw, which has types, and displacements in bytes.
struct Segments {
  std::byte* buffer;
  int count;
  MPI_Datatype type;
  const int *counts, *displacements;
  const MPI_Datatype* types;
  std::optional<Layout> last = {};  ///< most calls have one type

  /// Whether nothing is seen that MPI has to refuse.
  [[nodiscard]] bool are_valid(int ranks) const;
  /// @throws Failure
  [[nodiscard]] Segment of(int rank, MPI_Comm packer);
  [[nodiscard]] int count_of(int rank) const { return counts ? counts[rank] : count; }
  [[nodiscard]] MPI_Datatype type_of(int rank) const { return types ? types[rank] : type; }
};

/// Collective.
/// @return Whether it was done; if not, MPI has to refuse the arguments, and nothing was sent.
/// @throws Failure, std::bad_alloc
bool swap_segments(const Communicator& communicator, Segments& segments);

}  // namespace valet::preload
