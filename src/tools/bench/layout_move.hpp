// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "alltoallv.hpp"
#include "benchmark.hpp"
#include "scalapack.hpp"
#include <valet/redistribute.hpp>

#include <vector>

namespace valet::bench {

/// A matrix of doubles from one block-cyclic layout to another: redistribute() and
/// redistribute_in_place() beside ScaLAPACK's pdgemr2d and MPI_Alltoallv of the same bytes, packed.
/// Collective over MPI_COMM_WORLD.
class LayoutMove {
 public:
  /// @throws Error invalid_argument where a grid has more ranks than there are.
  LayoutMove(const BlockCyclic& from, const BlockCyclic& to, const LayoutOptions& options);

  Outcome run_alltoallv();
  [[nodiscard]] bool has_pdgemr2d() const { return pdgemr2d_ != nullptr; }
  Outcome run_pdgemr2d();
  Outcome run_out_of_place();
  Outcome run_in_place();
  /// The larger part of this rank, before or after.
  [[nodiscard]] std::size_t local_bytes() const { return array_.size() * sizeof(double); }

 private:
  [[nodiscard]] bool is_right(const std::vector<double>& part) const;

  GridLayout from_, to_;
  LayoutOptions options_;
  Pdgemr2d pdgemr2d_;
  Alltoallv peer_;
  std::vector<double> source_, target_, array_;
};

}  // namespace valet::bench
