/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EXAMPLES_ONE_DOOR_LIMIT_H
#define EXAMPLES_ONE_DOOR_LIMIT_H

#include <stdint.h>

/* Lets the system refuse this process more data (private memory that can be written) than it has,
 * and `more` bytes. */
void limit_data(uint64_t more);

#endif
