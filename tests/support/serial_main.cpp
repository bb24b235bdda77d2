// SPDX-License-Identifier: BSD-3-Clause

// The main function of tests without MPI.

#include "only_files.hpp"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  valet::test::only_files(argc, argv);
  return RUN_ALL_TESTS();
}
