/* SPDX-License-Identifier: BSD-3-Clause */

#include "limit.h"

#include <stdio.h>

#include <sys/resource.h>

void limit_data(uint64_t more) {
  char line[256];
  unsigned long long kibibytes = 0;
  struct rlimit limit;
  FILE* const status = fopen("/proc/self/status", "r");
  while (kibibytes == 0 && fgets(line, sizeof line, status))
    sscanf(line, "VmData: %llu", &kibibytes);
  fclose(status);
  getrlimit(RLIMIT_DATA, &limit);
  limit.rlim_cur = 1024 * kibibytes + more;
  setrlimit(RLIMIT_DATA, &limit);
}
