// SPDX-License-Identifier: BSD-3-Clause
#include <valet/error.hpp>

namespace valet {

const char* to_string(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::success: return "success";
    case ErrorCode::invalid_argument: return "invalid_argument";
    case ErrorCode::rank_out_of_range: return "rank_out_of_range";
    case ErrorCode::slot_out_of_range: return "slot_out_of_range";
    case ErrorCode::slot_taken_twice: return "slot_taken_twice";
    case ErrorCode::infeasible: return "infeasible";
    case ErrorCode::field_mismatch: return "field_mismatch";
    case ErrorCode::block_size_mismatch: return "block_size_mismatch";
    case ErrorCode::budget_too_small: return "budget_too_small";
    case ErrorCode::inaccessible_memory: return "inaccessible_memory";
    case ErrorCode::not_initialized: return "not_initialized";
    case ErrorCode::invalid_communicator: return "invalid_communicator";
    case ErrorCode::out_of_memory: return "out_of_memory";
    case ErrorCode::corrupted: return "corrupted";
    case ErrorCode::mpi_failure: return "mpi_failure";
    case ErrorCode::internal: return "internal";
    case ErrorCode::callback_failed: return "callback_failed";
    case ErrorCode::file_failure: return "file_failure";
  }
  return "unknown";
}

Error::Error(ErrorCode code, const std::string& message)
    : std::runtime_error("valet: " + message + " [" + to_string(code) + "]"), code_(code) {}

std::string_view Error::message() const noexcept {
  const std::string_view text = what();
  const std::size_t before = std::string_view("valet: ").size();
  const std::size_t after =
      std::string_view(to_string(code_)).size() + std::string_view(" []").size();
  return text.substr(before, text.size() - before - after);
}

}  // namespace valet
