// SPDX-License-Identifier: BSD-3-Clause
#include "scalapack.hpp"

namespace valet::bench {

Pdgemr2d make_pdgemr2d(const BlockCyclic&, const BlockCyclic&) { return nullptr; }

bool has_scalapack_intervals() { return false; }

int scalapack_intervals(const layout::Dimension&, const layout::Dimension&, int, int,
                        SharedInterval*) {
  return 0;
}

}  // namespace valet::bench
