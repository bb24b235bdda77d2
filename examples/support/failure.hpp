// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What ends an example on all ranks alike.

#include <stdexcept>

namespace example {

/// Something that cannot be done.
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What the user asked for cannot be done.
class BadInput : public Failure {
 public:
  using Failure::Failure;
};

/// The system refused memory to some rank.
class OutOfMemory : public Failure {
 public:
  using Failure::Failure;
};

/// A result that is wrong: the one thing that must never happen.
class Lost : public Failure {
 public:
  using Failure::Failure;
};

}  // namespace example
