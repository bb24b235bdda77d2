// SPDX-License-Identifier: BSD-3-Clause
#include "scalapack.hpp"

#include "measure.hpp"
#include "tools/errors.hpp"
#include <valet/scalapack.hpp>

#include <algorithm>
#include <limits>
#include <memory>

#ifdef VALET_BENCH_SCALAPACK
// ScaLAPACK ships no header for C. NOLINTBEGIN(readability-identifier-naming)
extern "C" {
void Cblacs_get(int context, int what, int* value);
void Cblacs_gridinit(int* context, const char* order, int rows, int columns);
void Cblacs_gridexit(int context);
void Cpdgemr2d(int rows, int columns, double* a, int ia, int ja, int* desc_a, double* b, int ib,
               int jb, int* desc_b, int context);
// A library that hides it leaves it null.
[[gnu::weak]] int dgescan_intervals(int rows_or_columns, int ja, int jb, int n, const int* desc_a,
                                    const int* desc_b, int ranks_a, int ranks_b, int coordinate_a,
                                    int coordinate_b, valet::bench::SharedInterval* found);
}
// NOLINTEND(readability-identifier-naming)

namespace valet::bench {
namespace {

constexpr int outside = -1;  // what BLACS calls a context that a rank is not in

/// A grid of the first ranks in row-major order.
class Grid {
 public:
  Grid(int rows, int columns) {
    Cblacs_get(0, 0, &context_);
    Cblacs_gridinit(&context_, "Row", rows, columns);
    if (world_rank() >= rows * columns) context_ = outside;
  }
  Grid(const Grid&) = delete;
  Grid& operator=(const Grid&) = delete;
  ~Grid() {
    if (context_ != outside) Cblacs_gridexit(context_);
  }
  [[nodiscard]] int context() const { return context_; }

 private:
  int context_ = outside;
};

int leading_dimension(const BlockCyclic& layout) {
  if (world_rank() >= layout.ranks()) return 1;
  return std::max(static_cast<int>(layout.local_extents(world_rank())[0]), 1);
}

/// A layout of a matrix, on its grid.
struct Matrix {
  explicit Matrix(const BlockCyclic& layout)
      : grid(layout.dimension(0).ranks(), layout.dimension(1).ranks()),
        descriptor(layout::to_scalapack(layout, grid.context(), leading_dimension(layout))) {}
  Grid grid;
  layout::ScalapackDescriptor descriptor;
};

}  // namespace

Pdgemr2d make_pdgemr2d(const BlockCyclic& from, const BlockCyclic& to) {
  if (from.dimensions() != 2) return nullptr;
  const auto rows = static_cast<int>(from.dimension(0).extent());
  const auto columns = static_cast<int>(from.dimension(1).extent());
  return [=, all = std::make_shared<Grid>(1, world_size()), before = std::make_shared<Matrix>(from),
          after = std::make_shared<Matrix>(to)](const double* source, double* target) {
    // It takes no pointers to const, and does not write the source.
    Cpdgemr2d(rows, columns, const_cast<double*>(source), 1, 1, before->descriptor.data(), target,
              1, 1, after->descriptor.data(), all->context());
  };
}

bool has_scalapack_intervals() { return dgescan_intervals != nullptr; }

ScalapackDimension::ScalapackDimension(const layout::Dimension& dimension)
    : extent(static_cast<int>(dimension.extent())),
      ranks(dimension.ranks()),
      descriptor{1,
                 0,
                 extent,
                 1,
                 static_cast<int>(std::min(dimension.block_size(), dimension.extent())),
                 1,
                 dimension.first_rank(),
                 0,
                 std::max(extent, 1)} {
  if (dimension.extent() > std::numeric_limits<int>::max())
    tools::refuse("ScaLAPACK has no extents beyond 2^31-1");
}

int scalapack_intervals(const ScalapackDimension& mine, const ScalapackDimension& theirs,
                        int coordinate, int peer, SharedInterval* found) {
  return dgescan_intervals('r', 0, 0, mine.extent, mine.descriptor.data(), theirs.descriptor.data(),
                           mine.ranks, theirs.ranks, coordinate, peer, found);
}

}  // namespace valet::bench
#else
namespace valet::bench {

Pdgemr2d make_pdgemr2d(const BlockCyclic&, const BlockCyclic&) { return nullptr; }
bool has_scalapack_intervals() { return false; }
ScalapackDimension::ScalapackDimension(const layout::Dimension&)
    : extent(0), ranks(0), descriptor{} {}
int scalapack_intervals(const ScalapackDimension&, const ScalapackDimension&, int, int,
                        SharedInterval*) {
  return 0;
}

}  // namespace valet::bench
#endif
