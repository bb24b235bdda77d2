// SPDX-License-Identifier: BSD-3-Clause

// Which MPI is whose, by what MPI libraries say of themselves. tests/clients runs programs of
// another MPI.

#include "mpi/family.hpp"

#include "testing.hpp"

namespace valet::mpi {
namespace {

const Library open_mpi{"Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4",
                       "/lib/libmpi.so.40"};
const Library mpich{"MPICH Version: 4.0.2", "/lib/libmpich.so.12"};

TEST(Family, LibrariesOfTheOtherFamilyAreForeign) {
  EXPECT_FALSE(is_foreign(open_mpi, Family::open_mpi));
  EXPECT_TRUE(is_foreign(mpich, Family::open_mpi));
  EXPECT_TRUE(is_foreign(open_mpi, Family::mpich));
  for (const char* const version :
       {"MPICH Version: 4.0.2", "Intel(R) MPI Library 2021.11 for Linux* OS",
        "MPI VERSION : CRAY MPICH version 8.1.27.26 (ANL base 3.4a2)", "MVAPICH2 Version : 2.3.7"})
    EXPECT_FALSE(is_foreign({version, "/lib/libmpi.so.12"}, Family::mpich)) << version;
}

TEST(Family, TheStandardAbiIsToldByItsLibrary) {
  for (const Library& library : {open_mpi, mpich}) {
    const Library standard{library.version, "/lib/libmpi_abi.so.1"};
    EXPECT_FALSE(is_foreign(standard, Family::standard_abi)) << library.version;
    EXPECT_TRUE(is_foreign(standard, Family::open_mpi)) << library.version;
    EXPECT_TRUE(is_foreign(standard, Family::mpich)) << library.version;
    EXPECT_TRUE(is_foreign(library, Family::standard_abi)) << library.version;
    EXPECT_FALSE(is_foreign({library.version, ""}, Family::standard_abi)) << "linked statically";
  }
}

TEST(Family, UnknownOnesPass) {
  const Library unknown{"SMPI Version 3.32", "/lib/libsimgrid.so"};
  EXPECT_FALSE(is_foreign(unknown, Family::open_mpi));
  EXPECT_FALSE(is_foreign(unknown, Family::standard_abi));
  EXPECT_FALSE(is_foreign(open_mpi, Family::unknown));
}

TEST(Family, ThisProcessHasTheMpiItWasCompiledFor) {
  const Library library = reached_mpi();
  EXPECT_FALSE(library.version.empty());
  EXPECT_EQ(library.version.find_first_of("\n\t"), std::string::npos) << library.version;
  test::expect_words(library.file, {"libmpi"});
  EXPECT_EQ(mpi_mismatch(), "");
  EXPECT_NO_THROW(require_own_mpi());
}

}  // namespace
}  // namespace valet::mpi
