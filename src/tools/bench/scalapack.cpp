// SPDX-License-Identifier: BSD-3-Clause
#include "scalapack.hpp"

#include "measure.hpp"

#include <algorithm>

// ScaLAPACK ships no header for C. NOLINTBEGIN(readability-identifier-naming)
extern "C" {
void Cblacs_get(int context, int what, int* value);
void Cblacs_gridinit(int* context, const char* order, int rows, int columns);
void Cblacs_gridexit(int context);
void Cpdgemr2d(int rows, int columns, double* a, int ia, int ja, int* desc_a, double* b, int ib,
               int jb, int* desc_b, int context);
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

class Pdgemr2d final : public ScalapackPeer {
 public:
  Pdgemr2d(const BlockCyclic& from, const BlockCyclic& to)
      : all_(1, world_size()),
        from_grid_(from.dimension(0).ranks(), from.dimension(1).ranks()),
        to_grid_(to.dimension(0).ranks(), to.dimension(1).ranks()),
        rows_(static_cast<int>(from.dimension(0).extent())),
        columns_(static_cast<int>(from.dimension(1).extent())),
        from_(layout::to_scalapack(from, from_grid_.context(), leading_dimension(from))),
        to_(layout::to_scalapack(to, to_grid_.context(), leading_dimension(to))) {}

  void run(const double* source, double* target) override {
    // It takes no pointers to const, and does not write the source.
    Cpdgemr2d(rows_, columns_, const_cast<double*>(source), 1, 1, from_.data(), target, 1, 1,
              to_.data(), all_.context());
  }

 private:
  static int leading_dimension(const BlockCyclic& layout) {
    if (world_rank() >= layout.ranks()) return 1;
    return std::max(static_cast<int>(layout.local_extents(world_rank())[0]), 1);
  }

  Grid all_, from_grid_, to_grid_;
  int rows_, columns_;
  layout::ScalapackDescriptor from_, to_;
};

}  // namespace

std::unique_ptr<ScalapackPeer> make_scalapack_peer(const BlockCyclic& from, const BlockCyclic& to) {
  if (from.dimensions() != 2) return nullptr;
  return std::make_unique<Pdgemr2d>(from, to);
}

}  // namespace valet::bench
