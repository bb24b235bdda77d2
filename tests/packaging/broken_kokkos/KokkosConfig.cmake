# SPDX-License-Identifier: BSD-3-Clause

# What CMake's export does where a library is missing: here that of Debian's libkokkos-dev 5.2.2-2.
message(FATAL_ERROR "The imported target \"Kokkos::kokkosalgorithms\" references the file
   \"/missing/libkokkosalgorithms.a\"
but this file does not exist.  Possible reasons include: ...")
