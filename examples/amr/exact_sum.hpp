// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// A sum of doubles without any rounding, so that it depends neither on the order nor on the ranks.

#include <mpi.h>

#include <array>
#include <cmath>
#include <cstdint>

namespace amr {

/// A fixed-point number as wide as the range of double (Kulisch's long accumulator), in digits of
/// 32 bits with room for carries. Finite values only.
class ExactSum {
 public:
  void add(double value) {
    int exponent = 0;
    const double fraction = std::frexp(value, &exponent);
    // 53 bits and their place above the least bit of the smallest double, 2^-1074.
    auto mantissa = static_cast<std::int64_t>(std::ldexp(fraction, 53));
    int place = exponent - 53 + 1074;
    if (place < 0) {
      mantissa >>= -place;  // subnormal: these bits are zero
      place = 0;
    }
    const std::int64_t sign = mantissa < 0 ? -1 : 1;
    const auto bits = static_cast<std::uint64_t>(sign * mantissa);
    const auto digit = static_cast<std::size_t>(place / digit_bits);
    const int shift = place % digit_bits;
    const std::uint64_t low = (bits & mask) << shift;
    const std::uint64_t high = (bits >> digit_bits) << shift;
    digits_[digit] += sign * static_cast<std::int64_t>(low & mask);
    digits_[digit + 1] += sign * static_cast<std::int64_t>((low >> digit_bits) + (high & mask));
    digits_[digit + 2] += sign * static_cast<std::int64_t>(high >> digit_bits);
    if (++pending_ == most_pending) carry();
  }

  /// The sum over all ranks, on all ranks. Collective.
  [[nodiscard]] ExactSum over_ranks(MPI_Comm communicator) const {
    ExactSum own = *this;
    own.carry();
    ExactSum sum;
    MPI_Allreduce(own.digits_.data(), sum.digits_.data(), static_cast<int>(digits), MPI_INT64_T,
                  MPI_SUM, communicator);
    sum.carry();
    return sum;
  }

  /// Whether the sums are equal to the last bit; both carried, as over_ranks() leaves them.
  [[nodiscard]] bool operator==(const ExactSum& other) const { return digits_ == other.digits_; }

  /// The sum rounded to a double; for printing.
  [[nodiscard]] double value() const {
    double sum = 0;
    for (std::size_t d = digits; d-- > 0;)
      sum += std::ldexp(static_cast<double>(digits_[d]), static_cast<int>(d) * digit_bits - 1074);
    return sum;
  }

 private:
  static constexpr int digit_bits = 32;
  static constexpr std::uint64_t mask = 0xFFFFFFFFU;
  static constexpr std::size_t digits = 2098 / digit_bits + 4;
  /// A digit grows by less than 2^34 for each value.
  static constexpr int most_pending = 1 << 28;

  /// Makes every digit but the last one 0 to 2^32 - 1: then equal sums have equal digits.
  void carry() {
    std::int64_t carried = 0;
    for (std::size_t d = 0; d + 1 < digits; ++d) {
      const std::int64_t digit = digits_[d] + carried;
      carried = digit >> digit_bits;
      digits_[d] = digit - carried * (std::int64_t{1} << digit_bits);
    }
    digits_[digits - 1] += carried;
    pending_ = 0;
  }

  std::array<std::int64_t, digits> digits_{};
  int pending_ = 0;
};

}  // namespace amr
