// SPDX-License-Identifier: BSD-3-Clause
#include "solver.hpp"

#include <Cbc_C_Interface.h>
#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <span>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

namespace valet::plan {
namespace {

using Clock = std::chrono::steady_clock;
using Status = SolverResult::Status;

SolverResult solve_here(const LinearSystem& system, double seconds) {
  const std::unique_ptr<Cbc_Model, void (*)(Cbc_Model*)> model(Cbc_newModel(), Cbc_deleteModel);
  Cbc_setLogLevel(model.get(), 0);
  const std::vector<double> zeros(static_cast<std::size_t>(system.columns()), 0);
  Cbc_loadProblem(model.get(), system.columns(), static_cast<int>(system.row_least.size()),
                  system.starts.data(), system.rows.data(), system.coefficients.data(),
                  zeros.data(), system.most.data(), zeros.data(), system.row_least.data(),
                  system.row_most.data());
  for (int column = 0; column < system.columns(); ++column) Cbc_setInteger(model.get(), column);
  // Otherwise CBC counts processor time.
  Cbc_setParameter(model.get(), "timeMode", "elapsed");
  Cbc_setMaximumSeconds(model.get(), seconds);
  Cbc_solve(model.get());

  const double* const solution = Cbc_bestSolution(model.get());
  if (solution != nullptr &&
      (Cbc_isProvenOptimal(model.get()) != 0 || Cbc_numberSavedSolutions(model.get()) > 0))
    return {Status::solved, std::vector<double>(solution, solution + system.columns())};
  const bool is_over = Cbc_isSecondsLimitReached(model.get()) != 0;
  if (!is_over && Cbc_isProvenInfeasible(model.get()) != 0) return {Status::no_solution};
  return {};
}

/// Both ends of a pipe, closed in the end.
class Pipe {
 public:
  Pipe() {
    if (pipe(ends_.data()) != 0) throw std::runtime_error("cannot make a pipe for the solver");
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close_reading();
    close_writing();
  }
  void close_reading() { close_end(ends_[0]); }
  void close_writing() { close_end(ends_[1]); }
  [[nodiscard]] int reading() const { return ends_[0]; }

  /// False when nobody reads any more.
  bool write_all(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t written = write(ends_[1], bytes.data(), bytes.size());
      if (written <= 0) return false;
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return true;
  }

 private:
  static void close_end(int& end) {
    if (end >= 0) close(end);
    end = -1;
  }

  std::array<int, 2> ends_{-1, -1};
};

/// The child: the status, then the solution. Leaves without the parent's exit handlers and buffers.
[[noreturn]] void answer(Pipe& pipe, const LinearSystem& system, double seconds) {
  int code = 1;
  try {
    pipe.close_reading();
    const SolverResult result = solve_here(system, seconds);
    if (pipe.write_all(std::as_bytes(std::span(&result.status, 1))) &&
        pipe.write_all(std::as_bytes(std::span(result.solution))))
      code = 0;
  } catch (...) {
    code = 1;
  }
  _exit(code);
}

/// All that the child writes until it is done. False when the time is up first.
bool read_until(Pipe& pipe, Clock::time_point deadline, std::vector<std::byte>& bytes) {
  std::array<std::byte, 65536> part{};
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd waiting{pipe.reading(), POLLIN, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(std::clamp<long>(left, 0, 1'000'000)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      if (Clock::now() >= deadline) return false;
      continue;
    }
    const ssize_t count = read(pipe.reading(), part.data(), part.size());
    if (count <= 0) return true;
    bytes.insert(bytes.end(), part.begin(), part.begin() + count);
  }
}

SolverResult result_of(const LinearSystem& system, std::span<const std::byte> bytes) {
  SolverResult result{Status::unknown, {}, "the solver failed"};
  Status status = Status::unknown;
  if (bytes.size() < sizeof(status)) return result;
  std::copy_n(bytes.begin(), sizeof(status), std::as_writable_bytes(std::span(&status, 1)).begin());
  bytes = bytes.subspan(sizeof(status));
  if (status == Status::unknown) return {Status::unknown, {}, "time limit"};
  if (status == Status::solved) {
    result.solution.resize(static_cast<std::size_t>(system.columns()));
    const auto solution = std::as_writable_bytes(std::span(result.solution));
    if (bytes.size() != solution.size()) return {Status::unknown, {}, "the solver failed"};
    std::copy(bytes.begin(), bytes.end(), solution.begin());
  }
  result.status = status;
  return result;
}

}  // namespace

bool has_solver() { return true; }

SolverResult solve(const LinearSystem& system, double seconds) {
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double>(std::min(seconds, 1e6)));
  Pipe pipe;
  std::fflush(nullptr);  // so that the child has nothing of ours to write
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("cannot start a process for the solver");
  if (child == 0) answer(pipe, system, seconds);
  pipe.close_writing();
  std::vector<std::byte> bytes;
  const bool in_time = read_until(pipe, deadline, bytes);
  if (!in_time) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (!in_time) return {Status::unknown, {}, "time limit"};
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return {Status::unknown, {}, "the solver failed"};
  return result_of(system, bytes);
}

}  // namespace valet::plan
