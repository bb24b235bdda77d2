// SPDX-License-Identifier: BSD-3-Clause
#include "engine/cyclic/cyclic.hpp"
#include "engine/direct.hpp"
#include "engine/exchange.hpp"
#include "engine/ordered/ordered_exchange.hpp"
#include "engine/phased/phased.hpp"
#include "engine/stream/stream.hpp"
#include "schedule/methods.hpp"

namespace valet::engine {

template <class Index>
std::unique_ptr<Exchange<Index>> make_exchange(const ExchangeContext& context,
                                               const plan::Flows<Index>& flows) {
  if (flows.in_order() && context.options.method == Method::stream)
    return std::make_unique<OrderedExchange<Index>>(context, flows);
  switch (context.options.method) {
#define VALET_MAKE(C, name, Type) \
  case Method::name: return std::make_unique<Type<Index>>(context, flows);  // NOLINT: a type
    VALET_METHODS(VALET_MAKE)
#undef VALET_MAKE
    case Method::automatic: break;  // planning has replaced it
  }
  throw Error(ErrorCode::invalid_argument, "unknown method");
}

template std::unique_ptr<Exchange<std::uint32_t>> make_exchange(const ExchangeContext&,
                                                                const plan::Flows<std::uint32_t>&);
template std::unique_ptr<Exchange<std::uint64_t>> make_exchange(const ExchangeContext&,
                                                                const plan::Flows<std::uint64_t>&);

}  // namespace valet::engine
