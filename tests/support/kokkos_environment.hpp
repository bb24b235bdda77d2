// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <Kokkos_Core.hpp>
#include <gtest/gtest.h>

/// Initialises Kokkos for all tests of a program that includes this.
class KokkosEnvironment : public ::testing::Environment {
 public:
  void SetUp() override { Kokkos::initialize(); }
  void TearDown() override { Kokkos::finalize(); }
};
inline const auto* const kokkos_environment =
    ::testing::AddGlobalTestEnvironment(new KokkosEnvironment);
