// SPDX-License-Identifier: BSD-3-Clause

// Facts about the library, in C++ and C; tests/clients has them in Fortran. MPI is not initialised.

#include "testing.hpp"
#include <valet/valet.h>

#include <nlohmann/json.hpp>

namespace valet::test {
namespace {

std::string fact(const std::string& wanted) {
  for (const auto& [name, value] : configuration().facts)
    if (name == wanted) return value;
  return "no fact " + wanted;
}

TEST(Configuration, HasTheVersionsAndOptionsOfThisBuild) {
  EXPECT_STREQ(version(), VALET_VERSION_TEXT);
  EXPECT_EQ(fact("valet"), VALET_VERSION_TEXT);
#ifdef OPEN_MPI
  EXPECT_EQ(fact("mpi_compiled").find("Open MPI " + std::to_string(OMPI_MAJOR_VERSION) + "."), 0);
  EXPECT_EQ(fact("mpi").find("Open MPI v"), 0);
#elif defined(MPICH_VERSION)
  EXPECT_EQ(fact("mpi_compiled"), "MPICH " MPICH_VERSION);
  expect_words(fact("mpi"), {"MPICH"});
#endif
  expect_words(fact("mpi_library"), {"libmpi"});
  EXPECT_EQ(fact("kokkos"), VALET_TEST_KOKKOS);
  EXPECT_EQ(fact("zoltan") == "not built", VALET_TEST_ZOLTAN == 0);
  EXPECT_EQ(fact("compiler"), VALET_TEST_COMPILER);
  EXPECT_EQ(fact("library"), VALET_TEST_LIBRARY);
#ifdef VALET_ASSERTIONS
  EXPECT_EQ(fact("assertions"), "on");
#else
  EXPECT_EQ(fact("assertions"), "off");
#endif
}

TEST(Configuration, IsALineAFactAndAJsonObject) {
  const Configuration all = configuration();
  const std::string text = all.to_string();
  EXPECT_EQ(text.find("valet: " VALET_VERSION_TEXT "\nmpi_compiled: "), 0) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n') + 1, std::ssize(all.facts)) << text;
  const auto json = nlohmann::ordered_json::parse(all.to_json());
  ASSERT_EQ(json.size(), all.facts.size());
  auto fact = all.facts.begin();
  for (const auto& [name, value] : json.items()) {
    EXPECT_EQ(name, fact->first);
    EXPECT_EQ(value, fact->second);
    ++fact;
  }
}

TEST(Configuration, IsTheSameInC) {
  EXPECT_STREQ(Valet_Version(), version());
  const std::string expected = configuration().to_string();
  std::vector<char> text(Valet_Configuration_to_string(nullptr, 0) + 1);
  EXPECT_EQ(Valet_Configuration_to_string(text.data(), text.size()), expected.size());
  EXPECT_EQ(std::string(text.data()), expected);
  std::array<char, 6> beginning{};
  EXPECT_EQ(Valet_Configuration_to_string(beginning.data(), beginning.size()), expected.size());
  EXPECT_STREQ(beginning.data(), "valet");
  const std::string json = configuration().to_json();
  text.resize(json.size() + 1);
  EXPECT_EQ(Valet_Configuration_to_json(text.data(), text.size()), json.size());
  EXPECT_EQ(std::string(text.data()), json);
}

}  // namespace
}  // namespace valet::test
