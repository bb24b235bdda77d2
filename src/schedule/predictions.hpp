// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What Method::automatic knows of each method, for the table of methods. Pure.

#include <valet/method_choice.hpp>

namespace valet::schedule {

void predict_stream(const CostModel& model, const ExchangeShape& shape, Prediction& prediction);
void predict_direct(const CostModel& model, const ExchangeShape& shape, Prediction& prediction);
void predict_phased(const CostModel& model, const ExchangeShape& shape, Prediction& prediction);
void predict_cyclic(const CostModel& model, const ExchangeShape& shape, Prediction& prediction);

/// Where the budget holds a good part of the arrivals PHASED has few phases, of messages that are
/// known beforehand.
[[nodiscard]] bool has_many_phases(const ExchangeShape& shape);

}  // namespace valet::schedule
