// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "mpi/channel.hpp"
#include <valet/export.hpp>
#include <valet/storage_backend.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace valet::mpi {

/// Either every rank returns or every rank throws. Collective; one reduction when no rank failed.
///
/// @param mine    What this rank found wrong, if anything [local]. Of several failing ranks the
///                lowest one's finding is thrown, prefixed with that rank, on all ranks.
/// @param maxima  In: values of this rank. Out: their maxima over the ranks, in the same reduction.
/// @throws Error with the same code and text on all ranks.
VALET_EXPORT void agree(const Channel& channel, const std::optional<Diagnostic>& mine,
                        std::span<std::int64_t> maxima = {});

/// Gives entry r of `values` to rank r; `from` gets theirs. P entries each. Collective.
void exchange_all(const Channel& channel, std::span<const std::uint64_t> values,
                  std::span<std::uint64_t> from);

/// Brings the same number of bytes of every rank to all ranks, in rank order. Collective.
void gather_everywhere(const Channel& channel, std::span<const std::byte> own,
                       std::span<std::byte> all);

/// The largest value of the ranks below this one; the least possible one on rank 0. Collective.
std::int64_t maximum_of_lower(const Channel& channel, std::int64_t value);

/// The sum of the values of the ranks below this one. Collective.
std::uint64_t sum_of_lower(const Channel& channel, std::uint64_t value);

/// Reductions over the ranks of `channel`, elementwise and in place. Collective.
VALET_EXPORT void sum(const Channel& channel, std::span<std::uint64_t> values);
VALET_EXPORT void maximum(const Channel& channel, std::span<std::uint64_t> values);
VALET_EXPORT void maximum(const Channel& channel, std::span<double> values);

}  // namespace valet::mpi
