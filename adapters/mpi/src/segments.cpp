// SPDX-License-Identifier: BSD-3-Clause
#include "segments.hpp"

#include "check.hpp"

#include <algorithm>
#include <array>

namespace valet::preload {
namespace {

/// The largest type of which we try whether it is dense. Of larger ones only arrays of such are.
constexpr MPI_Count most_tried = 4096;

/// Packs one element whose bytes have numbers: these come out in order if it is dense. Two bytes
/// are a number.
bool packs_in_order(const Layout& layout, MPI_Comm packer) {
  const auto size = static_cast<std::size_t>(layout.size);
  for (const int shift : {0, 8}) {
    std::array<unsigned char, most_tried> numbers, packed;
    for (std::size_t k = 0; k < size; ++k) numbers[k] = static_cast<unsigned char>(k >> shift);
    int position = 0;
    check(PMPI_Pack(numbers.data() - layout.first_byte, 1, layout.type, packed.data(), most_tried,
                    &position, packer));
    if (position != layout.size ||
        !std::equal(numbers.data(), numbers.data() + size, packed.data()))
      return false;
  }
  return true;
}

/// What `type` is an array of, or another name for; MPI_DATATYPE_NULL if it is neither.
MPI_Datatype element_of(MPI_Datatype type) {
  int integers = 0, addresses = 0, types = 0, combiner = 0;
  check_told(PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner));
  if (combiner != MPI_COMBINER_CONTIGUOUS && combiner != MPI_COMBINER_DUP &&
      combiner != MPI_COMBINER_RESIZED)
    return MPI_DATATYPE_NULL;
  int count = 0;
  std::array<MPI_Aint, 2> bounds{};
  MPI_Datatype element = MPI_DATATYPE_NULL;
  check_told(
      PMPI_Type_get_contents(type, integers, addresses, types, &count, bounds.data(), &element));
  return element;
}

/// Only what is not MPI's own may be freed, and every type that MPI names is small.
void free_element(MPI_Datatype type) {
  int integers = 0, addresses = 0, types = 0, combiner = 0;
  check_told(PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner));
  if (combiner != MPI_COMBINER_NAMED) check_told(PMPI_Type_free(&type));
}

}  // namespace

Layout::Layout(MPI_Datatype of, MPI_Comm packer) : type(of) {
  MPI_Aint unused = 0, true_extent = 0;
  check_told(PMPI_Type_size_x(type, &size));
  check_told(PMPI_Type_get_extent(type, &unused, &extent));
  check_told(PMPI_Type_get_true_extent(type, &first_byte, &true_extent));
  if (size != true_extent) return;
  if (size <= most_tried) {
    is_dense = packs_in_order(*this, packer);
    return;
  }
  const MPI_Datatype element_type = element_of(type);
  if (element_type == MPI_DATATYPE_NULL) return;
  const Layout element(element_type, packer);
  is_dense = element.is_dense && (element.size == size || element.extent == element.size);
  free_element(element_type);
}

bool Segments::are_valid(int ranks) const {
  if (buffer_ == MPI_IN_PLACE) return false;
  const bool is_alltoall = type_ != MPI_DATATYPE_NULL && counts_ == nullptr;
  if (!is_alltoall && (counts_ == nullptr || displacements_ == nullptr)) return false;
  for (int rank = 0; rank < ranks; ++rank)
    if (count_of(rank) < 0 || (count_of(rank) > 0 && type_of(rank) == MPI_DATATYPE_NULL))
      return false;
  return true;
}

Segment Segments::of(int rank, MPI_Comm packer) {
  Segment segment;
  segment.elements = count_of(rank);
  segment.type = type_of(rank);
  if (segment.elements == 0) return segment;
  if (!last_ || last_->type != segment.type) last_.emplace(segment.type, packer);
  const Layout& layout = *last_;
  segment.bytes = layout.size * segment.elements;
  segment.is_dense = layout.is_dense && (segment.elements == 1 || layout.extent == layout.size);
  const MPI_Aint place = displacements_ ? displacements_[rank] : rank * segment.elements;
  segment.address = buffer_ + place * (types_ ? 1 : layout.extent);
  if (segment.is_dense) segment.address += layout.first_byte;
  return segment;
}

}  // namespace valet::preload
