// SPDX-License-Identifier: BSD-3-Clause
#include "scalapack.hpp"

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
