// SPDX-License-Identifier: BSD-3-Clause
#include "scalapack.hpp"

namespace valet::bench {

Pdgemr2d make_pdgemr2d(const BlockCyclic&, const BlockCyclic&) { return nullptr; }

}  // namespace valet::bench
