// SPDX-License-Identifier: BSD-3-Clause
#include "solver.hpp"

#include <Cbc_C_Interface.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

namespace valet::plan {
namespace {

using Status = SolverResult::Status;

/// Memory that a child process shares with this one: what it found out.
class SharedResult {
 public:
  explicit SharedResult(std::size_t columns)
      : bytes_(sizeof(double) * (columns + 1)),
        memory_(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (memory_ == MAP_FAILED) throw std::runtime_error("cannot share memory with the solver");
    status() = Status::unknown;
  }
  SharedResult(const SharedResult&) = delete;
  SharedResult& operator=(const SharedResult&) = delete;
  ~SharedResult() { munmap(memory_, bytes_); }

  [[nodiscard]] Status& status() { return *static_cast<Status*>(memory_); }
  [[nodiscard]] double* solution() { return static_cast<double*>(memory_) + 1; }

 private:
  std::size_t bytes_;
  void* memory_;
};

void solve_here(const LinearSystem& system, double seconds, SharedResult& result) {
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
      (Cbc_isProvenOptimal(model.get()) != 0 || Cbc_numberSavedSolutions(model.get()) > 0)) {
    std::copy_n(solution, system.columns(), result.solution());
    result.status() = Status::solved;
  } else if (Cbc_isSecondsLimitReached(model.get()) == 0 &&
             Cbc_isProvenInfeasible(model.get()) != 0) {
    result.status() = Status::no_solution;
  }
}

/// The child. Leaves without the parent's exit handlers and buffers, or by SIGALRM when its time is
/// up.
[[noreturn]] void solve_in_child(const LinearSystem& system, double seconds, SharedResult& result) {
  const auto whole = static_cast<time_t>(seconds);
  const auto rest = static_cast<suseconds_t>((seconds - static_cast<double>(whole)) * 1e6);
  const itimerval limit{{0, 0}, {whole, std::max<suseconds_t>(rest, 1)}};
  signal(SIGALRM, SIG_DFL);
  setitimer(ITIMER_REAL, &limit, nullptr);
  try {
    solve_here(system, seconds, result);
  } catch (...) {
    _exit(1);
  }
  _exit(0);
}

}  // namespace

bool has_solver() { return true; }

SolverResult solve(const LinearSystem& system, double seconds) {
  const auto columns = static_cast<std::size_t>(system.columns());
  SharedResult result(columns);
  std::fflush(nullptr);  // so that the child has nothing of ours to write
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("cannot start a process for the solver");
  if (child == 0) solve_in_child(system, std::min(seconds, 1e6), result);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  const bool is_late = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
  if (!is_late && status != 0) return {Status::unknown, {}, "the solver failed"};
  if (is_late || result.status() == Status::unknown) return {Status::unknown, {}, "time limit"};
  if (result.status() == Status::no_solution) return {Status::no_solution};
  return {Status::solved, std::vector<double>(result.solution(), result.solution() + columns)};
}

}  // namespace valet::plan
