// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace valet::zoltan {

/// On standard error, in the form of Zoltan's own messages, which is where its users look for them.
void print_warning(const char* function, const std::string& text);
void print_error(int rank, const char* function, const std::string& text);

}  // namespace valet::zoltan
