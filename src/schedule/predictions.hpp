// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What Method::automatic knows of each method, for the table of methods. Pure.

#include <valet/method_choice.hpp>

namespace valet::schedule {

// The exchange of STREAM, PHASED and CYCLIC is the same; the last two pay for turns and agreement.
void predict_stream(const CostModel& model, const ExchangeShape& shape, Prediction& prediction);
void predict_direct(const CostModel& model, const ExchangeShape& shape, Prediction& prediction);
void predict_phased(const CostModel& model, const ExchangeShape& shape, Prediction& prediction);
void predict_cyclic(const CostModel& model, const ExchangeShape& shape, Prediction& prediction);

}  // namespace valet::schedule
