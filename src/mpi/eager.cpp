// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/eager.hpp"

#include <cstdint>

namespace valet::mpi {
namespace {

#ifdef OPEN_MPI
/// A control variable of Open MPI, of an unsigned type or not negative; 0 where there is none, as
/// of a component that is not in use.
std::uint64_t control_variable(const char* name) {
  int index = 0, verbosity = 0, binding = 0, scope = 0, count = 0, size = 0;
  int name_length = 0, text_length = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  std::uint64_t value = 0;
  if (MPI_T_cvar_get_index(name, &index) != MPI_SUCCESS ||
      MPI_T_cvar_get_info(index, nullptr, &name_length, &verbosity, &type, nullptr, nullptr,
                          &text_length, &binding, &scope) != MPI_SUCCESS ||
      MPI_Type_size(type, &size) != MPI_SUCCESS || size > static_cast<int>(sizeof value))
    return 0;
  MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
  if (MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) != MPI_SUCCESS) return 0;
  const bool good = count == 1 && MPI_T_cvar_read(handle, &value) == MPI_SUCCESS;
  MPI_T_cvar_handle_free(&handle);
  return good ? value : 0;
}

/// Of its own protocol over sockets. UCX and libfabric decide for themselves what waits for an
/// answer.
std::size_t ask_open_mpi() {
  int provided = 0;
  if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS) return 0;
  const bool own_protocol = control_variable("pml_ob1_send_pipeline_depth") > 0;
  const std::uint64_t limit = control_variable("btl_tcp_eager_limit");
  MPI_T_finalize();
  constexpr std::uint64_t header_bytes = 256;  // at most, which the limit includes
  return own_protocol && limit > header_bytes ? static_cast<std::size_t>(limit - header_bytes) : 0;
}
#endif

}  // namespace

std::size_t eager_bytes(const Channel& channel) {
  if (channel.node_ranks().size() == static_cast<std::size_t>(channel.size())) return 0;
#ifdef OPEN_MPI
  static const std::size_t bytes = ask_open_mpi();
  return bytes;
#else
  return 0;
#endif
}

}  // namespace valet::mpi
