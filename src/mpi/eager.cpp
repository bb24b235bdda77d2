// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/eager.hpp"

#include <cstdint>

#ifdef OPEN_MPI
// How Open MPI's own plugins and tools read a parameter; both functions are as they were in 1.7.
// MPI_T would open every plugin of the installation, whether in use or not: a quarter of a second
// and some hundred files for each process. Weak, because its libraries may be hidden from us.
extern "C" {
[[gnu::weak]] int mca_base_var_find(const char* project, const char* framework,
                                    const char* component, const char* name);
[[gnu::weak]] int mca_base_var_get_value(int index, const void* where, void* source,
                                         const char** file);
}
#endif

namespace valet::mpi {
namespace {

#ifdef OPEN_MPI
/// Where the value of a parameter lies; nullptr for a component that is not in use.
const void* parameter(const char* project, const char* framework, const char* component,
                      const char* name) {
  const int index = mca_base_var_find(project, framework, component, name);
  const void* value = nullptr;
  if (index < 0 || mca_base_var_get_value(index, &value, nullptr, nullptr) != 0) return nullptr;
  return value;
}

/// The limit of Open MPI's own protocol over sockets. UCX and libfabric decide for themselves what
/// waits for an answer.
std::size_t ask_open_mpi() {
  if (mca_base_var_find == nullptr || mca_base_var_get_value == nullptr ||
      parameter("ompi", "pml", "ob1", "send_pipeline_depth") == nullptr)
    return 0;
  const void* limit = parameter("opal", "btl", "tcp", "eager_limit");
  constexpr std::size_t header_bytes = 256;  // at most, which the limit includes
  const std::size_t bytes = limit == nullptr ? 0 : *static_cast<const std::size_t*>(limit);
  return bytes > header_bytes ? bytes - header_bytes : 0;
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
