// SPDX-License-Identifier: BSD-3-Clause
#include <valet/block_storage.hpp>

#include <vector>

#ifdef VALET_MUST_NOT_COMPILE
using Values = const std::vector<double>;
#else
using Values = std::vector<double>;
#endif

valet::Field see(Values& values);

// By way of the forms for a span and a pointer: all of them end in the same assertion.
valet::Field see(Values& values) { return valet::field(values); }
