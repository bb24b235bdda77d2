// SPDX-License-Identifier: BSD-3-Clause
#include <valet/valet.hpp>

#include <vector>

valet::Field positions();

valet::Field positions() {
#ifdef VALET_MUST_NOT_COMPILE
  return valet::field(valet::ref(std::vector<double>(30)), 3);
#else
  static std::vector<double> values(30);
  return valet::field(valet::ref(values), 3);
#endif
}
