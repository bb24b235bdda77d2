// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <CLI/CLI.hpp>

namespace valet::bench {

/// Each adds its subcommand, which runs on MPI_COMM_WORLD when the command line names it and throws
/// std::exception when it cannot. `failed` is set when a result was not what it had to be.
void add_alltoall_command(CLI::App& app, bool& failed);
void add_auto_command(CLI::App& app, bool& failed);
void add_exchange_command(CLI::App& app, bool& failed);
void add_layout_command(CLI::App& app, bool& failed);
void add_madre_command(CLI::App& app, bool& failed);
void add_kokkos_command(CLI::App& app, bool& failed);
void add_dropin_command(CLI::App& app, bool& failed);
void add_phases_command(CLI::App& app, bool& failed);
void add_trace_command(CLI::App& app, bool& failed);

}  // namespace valet::bench
