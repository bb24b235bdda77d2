// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/mpi.hpp>

#include <cstddef>
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

/// Segments of a call with MPI_IN_PLACE, whichever of the three functions it is.
class Segments {
 public:
  /// MPI_Alltoall: `count` elements for each rank, one segment behind the other.
  Segments(void* buffer, int count, MPI_Datatype type)
      : buffer_(static_cast<std::byte*>(buffer)), count_(count), type_(type) {}
  /// MPI_Alltoallv: displacements in elements.
  Segments(void* buffer, const int* counts, const int* displacements, MPI_Datatype type)
      : buffer_(static_cast<std::byte*>(buffer)),
        type_(type),
        counts_(counts),
        displacements_(displacements) {}
  /// MPI_Alltoallw: displacements in bytes.
  Segments(void* buffer, const int* counts, const int* displacements, const MPI_Datatype* types)
      : buffer_(static_cast<std::byte*>(buffer)),
        counts_(counts),
        displacements_(displacements),
        types_(types) {}

  /// Whether nothing is seen that MPI has to refuse.
  [[nodiscard]] bool are_valid(int ranks) const;
  /// @throws Failure
  [[nodiscard]] Segment of(int rank, MPI_Comm packer);

 private:
  [[nodiscard]] int count_of(int rank) const { return counts_ ? counts_[rank] : count_; }
  [[nodiscard]] MPI_Datatype type_of(int rank) const { return types_ ? types_[rank] : type_; }

  std::byte* buffer_;
  int count_ = 0;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  const int* counts_ = nullptr;
  const int* displacements_ = nullptr;
  const MPI_Datatype* types_ = nullptr;
  std::optional<Layout> last_;  ///< most calls have one type
};

}  // namespace valet::preload
