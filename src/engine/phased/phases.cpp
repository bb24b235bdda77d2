// SPDX-License-Identifier: BSD-3-Clause
#include "engine/phased/centralized_phases.hpp"
#include "engine/phased/distributed_phases.hpp"

#include <algorithm>
#include <tuple>

namespace valet::engine {

void PhaseMoves::arrange() {
  std::sort(sends.begin(), sends.end(), [](const PhaseSend& a, const PhaseSend& b) {
    return std::tie(a.place, a.target) < std::tie(b.place, b.target);
  });
  std::sort(receives.begin(), receives.end(),
            [](const PhaseReceive& a, const PhaseReceive& b) { return a.source < b.source; });
  std::size_t kept = 0;
  for (const PhaseReceive& receive : receives) {
    if (kept > 0 && receives[kept - 1].source == receive.source)
      receives[kept - 1].blocks += receive.blocks;
    else
      receives[kept++] = receive;
  }
  receives.resize(kept);
}

std::unique_ptr<Phases> make_phases(const mpi::Channel& channel, Ledger& ledger,
                                    const Options& options, const PhaseProblem& problem,
                                    std::size_t schedule_bytes, Report& report) {
  if (options.phased.scheduler == Scheduler::centralized)
    return std::make_unique<CentralizedPhases>(channel, ledger, options, problem, schedule_bytes,
                                               report);
  return std::make_unique<DistributedPhases>(channel, ledger, options, problem);
}

}  // namespace valet::engine
