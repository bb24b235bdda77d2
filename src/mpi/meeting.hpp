// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Two jobs that were started apart meet: first through files in a folder that both see, then
/// through MPI_Comm_accept() and MPI_Comm_connect(), which may wait for ever where the other job is
/// not there.
///
/// NAME.port  nonce and port of the job that accepts; replaces what a killed run has left
/// NAME.join  that nonce and one of the job that connects, made exclusively: only one wins
/// NAME.go    the second nonce, by the job that accepts: taken away by the other, which then
///            connects. Whoever removes it first has decided, so that neither goes on alone
///
/// A job that is killed between that and the end of its MPI call leaves the other waiting.

#include <valet/export.hpp>
#include <valet/mpi.hpp>

#include <string>

namespace valet::mpi {

/// Waits for another job to connect_job() with the same name and folder.
///
/// Collective over `communicator`; blocking. Only its rank 0 looks at the other arguments and at
/// files, and removes those that it has made. Afterwards the process ignores SIGPIPE, unless the
/// application handles it: writing to a job that has been killed would end this one.
///
/// @param name             Of the meeting: part of the names of files.
/// @param folder           Exists; both jobs can write there.
/// @param timeout_seconds  For the other job to come.
/// @return An intercommunicator of the ranks of both jobs, to be freed by MPI_Comm_disconnect().
/// @throws Error on all ranks of this job alike: invalid_argument for a name that is none of a file
///         and for a folder that cannot be used; mpi_failure where no job came in time, or where
///         MPI cannot connect jobs.
[[nodiscard]] VALET_EXPORT MPI_Comm accept_job(MPI_Comm communicator, const std::string& name,
                                               const std::string& folder, double timeout_seconds);

/// The same for the other job.
[[nodiscard]] VALET_EXPORT MPI_Comm connect_job(MPI_Comm communicator, const std::string& name,
                                                const std::string& folder, double timeout_seconds);

}  // namespace valet::mpi
