// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// A device of Kokkos without a device: an execution space that runs its kernels on the host, with
/// a memory space of its own and one that it shares with the host. The memory of both is protected
/// except while a kernel or a copy of Kokkos runs, so an access by the host, or by MPI, ends the
/// test.

#include "fake_device.hpp"

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <stdexcept>

namespace valet::test {

/// What the fake GPU has done.
struct GpuCounts {
  std::uint64_t kernels = 0, copies_to_device = 0, copies_to_host = 0;
  std::size_t most_bytes_copied = 0;  ///< by a copy of Kokkos
  std::uint64_t failing_kernel = 0;   ///< the one with this number throws; 0: none
  std::uint64_t failing_copy = 0;     ///< to the device, likewise
};

/// Its memory, which Views are cut from while this lives; one at a time.
class GpuMemory {
 public:
  explicit GpuMemory(std::size_t bytes) : pages_(bytes), bytes_(bytes) {
    current() = this;
    counts() = {};
  }
  GpuMemory(const GpuMemory&) = delete;
  GpuMemory& operator=(const GpuMemory&) = delete;
  ~GpuMemory() { current() = nullptr; }

  template <class View>
  [[nodiscard]] View view(std::size_t slots) {
    using Value = typename View::value_type;
    auto* const data = reinterpret_cast<Value*>(pages_.data() + used_);
    const View made(data, slots);
    used_ += (made.span() * sizeof(Value) + 63) / 64 * 64;
    if (used_ > bytes_) throw std::bad_alloc();
    return made;
  }
  [[nodiscard]] const DevicePages& pages() const { return pages_; }

  static GpuMemory*& current() {
    static GpuMemory* memory = nullptr;
    return memory;
  }
  static GpuCounts& counts() {
    static GpuCounts counted;
    return counted;
  }

 private:
  DevicePages pages_;
  std::size_t bytes_;
  std::size_t used_ = 0;
};

/// Runs something as a kernel or a copy of Kokkos.
template <class Action>
void on_gpu(Action&& action) {
  const DevicePages::Kernel kernel(GpuMemory::current()->pages());
  action();
}

class FakeGpu;

/// As CudaSpace: the host does not reach it.
class FakeGpuSpace {
 public:
  using memory_space = FakeGpuSpace;
  using execution_space = FakeGpu;
  using device_type = Kokkos::Device<execution_space, memory_space>;
  using size_type = std::size_t;
  static constexpr const char* name() { return "FakeGpu"; }
};

/// As CudaUVMSpace: the host reaches it, which moves pages.
class FakeSharedSpace {
 public:
  using memory_space = FakeSharedSpace;
  using execution_space = FakeGpu;
  using device_type = Kokkos::Device<execution_space, memory_space>;
  using size_type = std::size_t;
  static constexpr const char* name() { return "FakeShared"; }
};

class FakeGpu : public Kokkos::Serial {
 public:
  using execution_space = FakeGpu;
  using memory_space = FakeGpuSpace;
  using device_type = Kokkos::Device<execution_space, memory_space>;
};

using Unmanaged = Kokkos::MemoryTraits<Kokkos::Unmanaged>;
template <class Data, class Layout = Kokkos::LayoutLeft>
using GpuView = Kokkos::View<Data, Layout, FakeGpuSpace::device_type, Unmanaged>;
template <class Data, class Layout = Kokkos::LayoutLeft>
using SharedView = Kokkos::View<Data, Layout, FakeSharedSpace::device_type, Unmanaged>;

/// A DualView that was modified on the host and on the device: Kokkos would end the program where
/// it is built to look at that, as it always does since version 4.
template <class Dual>
void mark_both_sides(const Dual& dual) {
  struct Marks : Dual {
    static void set(const Dual& dual) {
      const auto& marks = dual.*(&Marks::modified_flags);
      marks(0) = 1;
      marks(1) = 2;
    }
  };
  Marks::set(dual);
}

}  // namespace valet::test

namespace Kokkos::Tools::Experimental {
template <>
struct DeviceTypeTraits<valet::test::FakeGpu> {
  static constexpr DeviceType id = DeviceType::Serial;
  static int device_id(const valet::test::FakeGpu&) { return 0; }
};
}  // namespace Kokkos::Tools::Experimental

namespace Kokkos::Impl {

struct Reached {
  enum : bool { assignable = false, accessible = true, deepcopy = true };
};
template <>
struct MemorySpaceAccess<valet::test::FakeGpuSpace, HostSpace> : Reached {};
template <>
struct MemorySpaceAccess<valet::test::FakeGpuSpace, valet::test::FakeSharedSpace> : Reached {};
template <>
struct MemorySpaceAccess<HostSpace, valet::test::FakeSharedSpace> : Reached {};
template <>
struct MemorySpaceAccess<HostSpace, valet::test::FakeGpuSpace> {
  enum : bool { assignable = false, accessible = false, deepcopy = true };
};

template <class Functor, class... Traits>
class ParallelFor<Functor, RangePolicy<Traits...>, valet::test::FakeGpu> {
 public:
  using Policy = RangePolicy<Traits...>;
  ParallelFor(const Functor& functor, const Policy& policy) : functor_(functor), policy_(policy) {}
  void execute() const {
    valet::test::GpuCounts& counts = valet::test::GpuMemory::counts();
    if (++counts.kernels == counts.failing_kernel)
      throw std::runtime_error("the GPU fell off the bus");
    valet::test::on_gpu([&] {
      for (auto k = policy_.begin(); k < policy_.end(); ++k) functor_(k);
    });
  }

 private:
  Functor functor_;
  Policy policy_;
};

/// A sum, which is the one reduction that is asked for.
template <class Functor, class Policy>
void sum_on_gpu(const Functor& functor, const Policy& policy, std::uint64_t* result) {
  valet::test::GpuCounts& counts = valet::test::GpuMemory::counts();
  if (++counts.kernels == counts.failing_kernel)
    throw std::runtime_error("the GPU fell off the bus");
  *result = 0;
  valet::test::on_gpu([&] {
    for (auto k = policy.begin(); k < policy.end(); ++k) functor(k, *result);
  });
}

#if KOKKOS_VERSION >= 40200
template <class Functor, class Reducer, class... Traits>
class ParallelReduce<CombinedFunctorReducer<Functor, Reducer>, RangePolicy<Traits...>,
                     valet::test::FakeGpu> {
 public:
  using Policy = RangePolicy<Traits...>;
  template <class Result>
  ParallelReduce(const CombinedFunctorReducer<Functor, Reducer>& both, const Policy& policy,
                 const Result& result)
      : functor_(both.get_functor()), policy_(policy), result_(result.data()) {}
  void execute() const { sum_on_gpu(functor_, policy_, result_); }

 private:
  Functor functor_;
  Policy policy_;
  std::uint64_t* result_;
};
#else
template <class Functor, class... Traits>
class ParallelReduce<Functor, RangePolicy<Traits...>, InvalidType, valet::test::FakeGpu> {
 public:
  using Policy = RangePolicy<Traits...>;
  template <class Result>
  ParallelReduce(const Functor& functor, const Policy& policy, const Result& result)
      : functor_(functor), policy_(policy), result_(result.data()) {}
  void execute() const { sum_on_gpu(functor_, policy_, result_); }

 private:
  Functor functor_;
  Policy policy_;
  std::uint64_t* result_;
};
#endif

/// Kokkos compiles copies by kernels beside those by memcpy; no copy of a test needs one.
template <class Functor, class... Traits>
class ParallelFor<Functor, MDRangePolicy<Traits...>, valet::test::FakeGpu> {
 public:
  ParallelFor(const Functor&, const MDRangePolicy<Traits...>&) {}
  void execute() const { throw std::logic_error("the fake GPU has no such kernels"); }
};

template <class Execution>
struct DeepCopy<valet::test::FakeGpuSpace, HostSpace, Execution> {
  DeepCopy(void* to, const void* from, std::size_t bytes) {
    valet::test::GpuCounts& counts = valet::test::GpuMemory::counts();
    if (++counts.copies_to_device == counts.failing_copy)
      throw std::runtime_error("the GPU fell off the bus");
    counts.most_bytes_copied = std::max(counts.most_bytes_copied, bytes);
    valet::test::on_gpu([&] { std::memcpy(to, from, bytes); });
  }
  DeepCopy(const Execution&, void* to, const void* from, std::size_t bytes)
      : DeepCopy(to, from, bytes) {}
};
template <class Execution>
struct DeepCopy<HostSpace, valet::test::FakeGpuSpace, Execution> {
  DeepCopy(void* to, const void* from, std::size_t bytes) {
    valet::test::GpuCounts& counts = valet::test::GpuMemory::counts();
    ++counts.copies_to_host;
    counts.most_bytes_copied = std::max(counts.most_bytes_copied, bytes);
    valet::test::on_gpu([&] { std::memcpy(to, from, bytes); });
  }
  DeepCopy(const Execution&, void* to, const void* from, std::size_t bytes)
      : DeepCopy(to, from, bytes) {}
};

}  // namespace Kokkos::Impl
