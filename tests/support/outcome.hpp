// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What a call that may throw did, compared over the ranks.

#include "expect_words.hpp"
#include "test_comm.hpp"

#include <exception>

namespace valet::test {

/// The error a call threw; success when it returned.
struct Outcome {
  ErrorCode code = ErrorCode::success;
  std::string text;
};

template <class Call>
Outcome outcome_of(Call&& call) {
  try {
    std::forward<Call>(call)();
  } catch (const Error& error) {
    return {error.code(), error.what()};
  } catch (const std::exception& error) {
    return {ErrorCode::internal, std::string("not a valet::Error: ") + error.what()};
  }
  return {};
}

/// Whether all ranks have the code and the text of rank 0. Collective over MPI_COMM_WORLD.
inline bool same_on_all_ranks(const Outcome& outcome) {
  std::array<int, 2> head{static_cast<int>(outcome.code), static_cast<int>(outcome.text.size())};
  MPI_Bcast(head.data(), 2, MPI_INT, 0, MPI_COMM_WORLD);
  std::string text = outcome.text;
  text.resize(static_cast<std::size_t>(head[1]));
  MPI_Bcast(text.data(), head[1], MPI_CHAR, 0, MPI_COMM_WORLD);
  return all_ranks(head[0] == static_cast<int>(outcome.code) && text == outcome.text);
}

/// Expects an error that is the same on all ranks, with these words. Collective.
inline void expect_error(const Outcome& outcome, ErrorCode code,
                         const std::vector<std::string>& words) {
  EXPECT_TRUE(same_on_all_ranks(outcome)) << "this rank says: " << outcome.text;
  EXPECT_EQ(outcome.code, code) << outcome.text;
  expect_words(outcome.text, words);
}

}  // namespace valet::test
