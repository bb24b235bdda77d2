// SPDX-License-Identifier: BSD-3-Clause

// The main function of tests without MPI.

#include "only_files.hpp"
#include "seed.hpp"

#include <iostream>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  valet::test::only_files(argc, argv);
  std::cout << valet::test::seed_note() << "\n";
  return RUN_ALL_TESTS();
}
