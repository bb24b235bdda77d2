// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>

/// Of random tests. The main functions print the seed, so a test need not.
namespace valet::test {

/// The same on all ranks and in every run, unless VALET_TEST_SEED says otherwise.
inline std::uint64_t seed() {
  constexpr std::uint64_t default_seed = 20260101;
  const char* text = std::getenv("VALET_TEST_SEED");
  if (text == nullptr || *text == '\0') return default_seed;
  char* end = nullptr;
  const std::uint64_t value = std::strtoull(text, &end, 0);
  if (*end != '\0') throw std::invalid_argument("VALET_TEST_SEED is not a number");
  return value;
}

/// How many cases a random test goes through, unless VALET_TEST_CASES says otherwise: half of them
/// where VALET_TEST_THOROUGH is not set, as by tests/run.sh --long, and with sanitizers a quarter,
/// each of which takes several times as long.
inline std::uint64_t cases_wanted(std::uint64_t otherwise) {
#ifdef __SANITIZE_ADDRESS__
  otherwise = (otherwise + 3) / 4;
#else
  if (std::getenv("VALET_TEST_THOROUGH") == nullptr) otherwise = (otherwise + 1) / 2;
#endif
  const char* const text = std::getenv("VALET_TEST_CASES");
  return text == nullptr || *text == '\0' ? otherwise : std::strtoull(text, nullptr, 0);
}

/// For SCOPED_TRACE: how to repeat a random test, given the number of the case in it.
inline std::string seed_note(std::uint64_t used = seed(), long long test_case = -1) {
  std::string note = "VALET_TEST_SEED=" + std::to_string(used);
  if (test_case >= 0) note += ", case " + std::to_string(test_case);
  return note;
}

}  // namespace valet::test
