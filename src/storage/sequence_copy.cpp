// SPDX-License-Identifier: BSD-3-Clause
#include "storage/sequence_copy.hpp"

#include "base/sizes.hpp"
#include "storage/copy.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <type_traits>

namespace valet::layout {
namespace {

using Family = DimensionIntersection::Family;

/// Moves packed elements to or from elements of the array, both ways with one text.
template <bool packing, class Size>
class Copier {
 public:
  using Array = std::conditional_t<packing, const std::byte*, std::byte*>;
  using Packed = std::conditional_t<packing, std::byte*, const std::byte*>;

  Copier(Array array, Packed packed, Size size, std::int64_t stride, std::int64_t ahead)
      : array_(array), packed_(packed), size_(size), stride_(stride), ahead_(ahead) {}

  /// `count` runs of `length` indices, `distance` indices apart, from index `local` on in the row
  /// that begins `base` elements into the array.
  void runs(std::int64_t base, std::int64_t local, std::int64_t length, std::int64_t count,
            std::int64_t distance) {
    if (distance == length) {
      length *= count;
      count = 1;
    }
    const std::int64_t first = base + local * stride_;
    if (length == 1) return strided(first, count, distance * stride_);
    for (std::int64_t c = 0; c < count; ++c) {
      const std::int64_t begin = first + c * distance * stride_;
      if (stride_ == 1)
        adjacent(begin, length);
      else
        strided(begin, length, stride_);
    }
  }

 private:
  void adjacent(std::int64_t begin, std::int64_t length) {
    const std::size_t bytes = static_cast<std::size_t>(length) * size_;
    prefetch(begin + ahead_, bytes);
    copy(packed_, at(begin), bytes);
    packed_ += bytes;
  }

  void strided(std::int64_t begin, std::int64_t count, std::int64_t stride) {
    Array element = at(begin);
    const std::int64_t step = stride * static_cast<std::int64_t>(size_);
    for (std::int64_t k = 0; k < count; ++k, packed_ += size_, element += step)
      copy(packed_, element, size_);
  }

  /// The same run of the next row. Runs of one peer lie apart, in a pattern that processors do not
  /// foresee (measured: a third of the time).
  void prefetch(std::int64_t begin, std::size_t bytes) const {
#if defined(__GNUC__) || defined(__clang__)
    constexpr std::size_t line = detail::cache_line_bytes, foreseen = 2048;
    if (bytes > foreseen) return;
    const std::byte* const first = array_ + begin * static_cast<std::int64_t>(size_);
    for (std::size_t at = 0; at < bytes + line; at += line)
      __builtin_prefetch(first + at, packing ? 0 : 1);
#endif
  }

  template <class Bytes>
  static void copy(Packed packed, Array array, Bytes bytes) {
    if constexpr (packing)
      detail::copy_bytes(packed, array, bytes);
    else
      detail::copy_bytes(array, packed, bytes);
  }

  [[nodiscard]] Array at(std::int64_t element) const {
    return array_ + element * static_cast<std::int64_t>(size_);
  }

  Array array_;
  Packed packed_;
  Size size_;
  std::int64_t stride_;
  std::int64_t ahead_;
};

/// The families of one dimension and one peer, consecutive through all periods.
class FamilyWalk {
 public:
  FamilyWalk() = default;
  FamilyWalk(const DimensionIntersection& dimension, int peer)
      : dimension_(&dimension),
        peer_(peer),
        families_(dimension.families(peer)),
        local_period_(dimension.pair().local_period()),
        local_stride_(dimension.pair().local_stride()) {}

  /// Goes to a position in the sequence of indices. @return Indices before it in its family.
  std::int64_t seek(std::int64_t index) {
    const std::int64_t size = dimension_->size_of_period(peer_);
    const std::int64_t periods = dimension_->pair().repeats ? index / size : 0;
    const std::int64_t rest = index - periods * size;
    const auto behind =
        std::partition_point(families_.begin(), families_.end(),
                             [rest](const Family& each) { return each.before <= rest; });
    family_ = static_cast<std::size_t>(behind - families_.begin()) - 1;
    base_ = periods * local_period_;
    return rest - families_[family_].before;
  }
  void advance() {
    if (++family_ < families_.size()) return;
    family_ = 0;
    base_ += local_period_;
  }

  [[nodiscard]] const Family& family() const { return families_[family_]; }
  /// Local index of the first element of the family.
  [[nodiscard]] std::int64_t local() const { return base_ + family().local; }
  [[nodiscard]] std::int64_t local_stride() const { return local_stride_; }

 private:
  const DimensionIntersection* dimension_ = nullptr;
  int peer_ = 0;
  std::span<const Family> families_;
  std::int64_t local_period_ = 0, local_stride_ = 0;
  std::size_t family_ = 0;
  std::int64_t base_ = 0;
};

/// Walks the indices of a slow dimension one by one, round and round.
class IndexWalk {
 public:
  IndexWalk() = default;
  IndexWalk(const DimensionIntersection& dimension, int peer, std::int64_t stride)
      : families_(dimension, peer), size_(dimension.size(peer)), stride_(stride) {}

  void seek(std::int64_t index) {
    index_ = index;
    const std::int64_t inside = families_.seek(index);
    run_ = inside / families_.family().length;
    inside_ = inside % families_.family().length;
  }
  /// False when it has begun again.
  bool advance() {
    if (++index_ == size_) {
      seek(0);
      return false;
    }
    const Family& family = families_.family();
    if (++inside_ < family.length) return true;
    inside_ = 0;
    if (++run_ < family.count) return true;
    run_ = 0;
    families_.advance();
    return true;
  }

  [[nodiscard]] std::int64_t size() const { return size_; }
  /// Elements into the array.
  [[nodiscard]] std::int64_t offset() const {
    return (families_.local() + run_ * families_.local_stride() + inside_) * stride_;
  }

 private:
  FamilyWalk families_;
  std::int64_t size_ = 0, stride_ = 0;
  std::int64_t index_ = 0, run_ = 0, inside_ = 0;
};

/// The slow dimensions together, like an odometer.
class RowWalk {
 public:
  RowWalk(const Intersection& intersection, const BlockCyclic::Coordinates& peer,
          const BlockCyclic::Extents& strides, IndexOrder order, std::int64_t row)
      : count_(peer.size() - 1) {
    for (std::size_t s = 0; s < count_; ++s) {
      const std::size_t d = order == IndexOrder::column_major ? s + 1 : count_ - 1 - s;
      slow_[s] = IndexWalk(intersection.dimension(d), peer[d], strides[d]);
      slow_[s].seek(row % slow_[s].size());
      row /= slow_[s].size();
    }
  }

  [[nodiscard]] std::int64_t offset() const {
    std::int64_t offset = 0;
    for (std::size_t s = 0; s < count_; ++s) offset += slow_[s].offset();
    return offset;
  }
  void advance() {
    for (std::size_t s = 0; s < count_ && !slow_[s].advance(); ++s) {
    }
  }

 private:
  std::array<IndexWalk, most_dimensions - 1> slow_;
  std::size_t count_;
};

/// Indices `begin` to `end` of the fastest dimension's sequence, of one row.
template <class Copier>
void copy_row(FamilyWalk walk, std::int64_t begin, std::int64_t end, std::int64_t base,
              Copier& copier) {
  std::int64_t inside = walk.seek(begin);
  const std::int64_t distance = walk.local_stride();
  for (std::int64_t left = end - begin; left > 0; walk.advance(), inside = 0) {
    const Family& family = walk.family();
    std::int64_t count = family.count;
    std::int64_t local = walk.local();
    if (inside > 0) {
      const std::int64_t runs = inside / family.length;
      const std::int64_t skip = inside - runs * family.length;
      local += runs * distance;
      count -= runs;
      if (skip > 0) {
        const std::int64_t length = std::min(family.length - skip, left);
        copier.runs(base, local + skip, length, 1, 0);
        left -= length;
        local += distance;
        --count;
      }
    }
    std::int64_t rest = 0;
    if (family.length * count > left) {
      count = left / family.length;
      rest = left - count * family.length;
    }
    if (count > 0) copier.runs(base, local, family.length, count, distance);
    if (rest > 0) copier.runs(base, local + count * distance, rest, 1, 0);
    left -= count * family.length + rest;
  }
}

template <bool packing, class Array, class Packed>
void copy_elements(const Intersection& intersection, const ArrayShape& shape, IndexOrder order,
                   const SequenceCopy::Elements& elements, Array array, Packed packed) {
  const BlockCyclic::Coordinates peer = intersection.theirs().coordinates(elements.peer);
  const std::size_t fast = order == IndexOrder::column_major ? 0 : peer.size() - 1;
  const DimensionIntersection& dimension = intersection.dimension(fast);
  const std::int64_t row_size = dimension.size(peer[fast]);
  const FamilyWalk walk(dimension, peer[fast]);
  RowWalk rows(intersection, peer, shape.strides, order, elements.first / row_size);
  const std::size_t next = peer.size() == 1 ? fast : fast == 0 ? 1 : fast - 1;
  const std::int64_t next_row = shape.strides[next];
  detail::with_known_size<1, 2, 4, 8, 16, 32>(shape.element_bytes, [&](auto size) {
    Copier<packing, decltype(size)> copier(array, packed, size, shape.strides[fast], next_row);
    std::int64_t begin = elements.first % row_size;
    for (std::int64_t left = elements.count; left > 0; rows.advance()) {
      const std::int64_t end = std::min(row_size, begin + left);
      copy_row(walk, begin, end, rows.offset(), copier);
      left -= end - begin;
      begin = 0;
    }
  });
}

}  // namespace

void SequenceCopy::pack(const std::byte* array, const Elements& elements, std::byte* packed) const {
  copy_elements<true>(*intersection_, shape_, order_, elements, array, packed);
}

void SequenceCopy::unpack(const std::byte* packed, const Elements& elements,
                          std::byte* array) const {
  copy_elements<false>(*intersection_, shape_, order_, elements, array, packed);
}

}  // namespace valet::layout
