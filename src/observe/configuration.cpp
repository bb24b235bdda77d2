// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/family.hpp"
#include "observe/build_facts.hpp"
#include <valet/configuration.hpp>
#include <valet/version.hpp>

#include <nlohmann/json.hpp>

namespace valet {

const char* version() noexcept { return VALET_VERSION_TEXT; }

Configuration configuration() {
#ifdef VALET_ASSERTIONS
  constexpr bool assertions = true;
#else
  constexpr bool assertions = false;
#endif
  const mpi::Library library = mpi::reached_mpi();
  return {{{"valet", version()},
           {"mpi_compiled", mpi::compiled_mpi()},
           {"mpi", library.version},
           {"mpi_library", library.file.empty() ? "unknown" : library.file},
           {"kokkos", observe::built_kokkos},
           {"zoltan", observe::built_zoltan},
           {"compiler", observe::built_compiler},
           {"system", observe::built_system},
           {"library", observe::built_library},
           {"build_type", observe::built_type},
           {"assertions", assertions ? "on" : "off"},
           {"sanitizers", observe::built_sanitizers}}};
}

std::string Configuration::to_string() const {
  std::string text;
  for (const auto& [name, value] : facts)
    text.append(text.empty() ? "" : "\n").append(name).append(": ").append(value);
  return text;
}

std::string Configuration::to_json() const {
  nlohmann::ordered_json object;
  for (const auto& [name, value] : facts) object[name] = value;
  return object.dump();
}

}  // namespace valet
