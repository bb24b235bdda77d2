// SPDX-License-Identifier: BSD-3-Clause
#include "base/diagnose.hpp"
#include "engine/exchange.hpp"
#include "schedule/methods.hpp"

namespace valet::engine {

std::unique_ptr<Exchange> make_exchange(const plan::State& state) {
  switch (state.options.method) {
#define VALET_MAKE(C, name) \
  case Method::name: return make_##name(state);
    VALET_METHODS(VALET_MAKE)
#undef VALET_MAKE
    case Method::automatic: break;  // planning has replaced it
  }
  refuse("unknown method");
}

}  // namespace valet::engine
