// SPDX-License-Identifier: BSD-3-Clause
#include "junction/transport.hpp"

#include "base/memory_reserve.hpp"

#include <algorithm>

namespace valet::junction {

Report Transport::wait(const Transfer& transfer) {
  const auto mine = std::ranges::find(entries_, &transfer,
                                      [](const Entry& entry) { return entry.transfer.get(); });
  for (auto entry = entries_.begin(); entry <= mine; ++entry) finish(*entry);
  const Entry ended = std::move(*mine);
  entries_.erase(mine);
  if (ended.failure) std::rethrow_exception(ended.failure);
  return ended.report;
}

void Transport::attempt(Entry& entry, const std::function<void()>& part) {
  const detail::MemoryReserve reserve;
  try {
    if (!broken_.empty()) throw Error(broken_code_, broken_);
    part();
    return;
  } catch (const Error& error) {
    entry.failure = std::current_exception();
    if (is_fatal(error.code())) broken_ = error.message();
  } catch (const std::exception& error) {
    entry.failure = std::current_exception();
    broken_ = error.what();
  }
  entry.stage = Stage::over;
}

}  // namespace valet::junction
