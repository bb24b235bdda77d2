// SPDX-License-Identifier: BSD-3-Clause
#include "engine/cyclic/cyclic.hpp"
#include "engine/direct.hpp"
#include "engine/exchange.hpp"
#include "engine/ordered/ordered_exchange.hpp"
#include "engine/phased/phased.hpp"
#include "engine/stream/stream.hpp"
#include "schedule/methods.hpp"

namespace valet::engine {

std::unique_ptr<Exchange> make_exchange(const ExchangeContext& context, const plan::Flows& flows) {
  if (flows.in_order() && context.options.method == Method::stream)
    return std::make_unique<OrderedExchange>(context, flows);
  switch (context.options.method) {
#define VALET_MAKE(C, name, Type) \
  case Method::name: return std::make_unique<Type>(context, flows);
    VALET_METHODS(VALET_MAKE)
#undef VALET_MAKE
    case Method::automatic: break;  // planning has replaced it
  }
  throw Error(ErrorCode::invalid_argument, "unknown method");
}

}  // namespace valet::engine
