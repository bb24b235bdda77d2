// SPDX-License-Identifier: BSD-3-Clause
#include "segments.hpp"

#include <algorithm>
#include <array>

namespace valet::preload {
namespace {

/// The largest type of which we try whether it is dense. Of larger ones only arrays of such are.
constexpr MPI_Count most_tried = 4096;

int combiner_of(MPI_Datatype type, int& integers, int& addresses, int& types) {
  int combiner = 0;
  check_told(PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner));
  return combiner;
}

/// Packs one element whose bytes have numbers: these come out in order if it is dense. Two bytes
/// are a number.
bool packs_in_order(const Layout& layout, MPI_Comm packer) {
  int unused = 0;
  if (combiner_of(layout.type, unused, unused, unused) == MPI_COMBINER_NAMED) return true;
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

/// Whether a large type is an array of a dense one, or another name for it.
bool has_dense_elements(const Layout& layout, MPI_Comm packer) {
  int integers = 0, addresses = 0, types = 0;
  const int combiner = combiner_of(layout.type, integers, addresses, types);
  if (combiner != MPI_COMBINER_CONTIGUOUS && combiner != MPI_COMBINER_DUP &&
      combiner != MPI_COMBINER_RESIZED)
    return false;
  int count = 0;
  std::array<MPI_Aint, 2> bounds{};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  check_told(PMPI_Type_get_contents(layout.type, integers, addresses, types, &count, bounds.data(),
                                    &type));
  // What MPI names is not ours to commit or free.
  const bool is_ours = combiner_of(type, integers, addresses, types) != MPI_COMBINER_NAMED;
  if (is_ours) check_told(PMPI_Type_commit(&type));
  const Layout element(type, packer);
  if (is_ours) PMPI_Type_free(&type);
  return element.is_dense && (element.size == layout.size || element.extent == element.size);
}

}  // namespace

Layout::Layout(MPI_Datatype of, MPI_Comm packer) : type(of) {
  MPI_Aint unused = 0, true_extent = 0;
  check_told(PMPI_Type_size_x(type, &size));
  check_told(PMPI_Type_get_extent(type, &unused, &extent));
  check_told(PMPI_Type_get_true_extent(type, &first_byte, &true_extent));
  if (size != true_extent) return;
  is_dense = size <= most_tried ? packs_in_order(*this, packer) : has_dense_elements(*this, packer);
}

bool Segments::are_valid(int ranks) const {
  if (buffer == MPI_IN_PLACE || (counts == nullptr) != (displacements == nullptr)) return false;
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
  if (!last || last->type != segment.type) last.emplace(segment.type, packer);
  const Layout& layout = *last;
  segment.bytes = layout.size * segment.elements;
  segment.is_dense = layout.is_dense && (segment.elements == 1 || layout.extent == layout.size);
  const MPI_Aint place = displacements ? displacements[rank] : rank * segment.elements;
  segment.address = buffer + place * (types ? 1 : layout.extent);
  if (segment.is_dense) segment.address += layout.first_byte;
  return segment;
}

}  // namespace valet::preload
