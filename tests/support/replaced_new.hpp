// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Replaces all forms of operator new and delete of the whole process, shared libraries included.
/// Included by the one source that defines what they do.

#include <cstddef>
#include <new>

namespace replaced {

/// @param alignment  alignof(std::max_align_t) where the form names none.
/// @throws std::bad_alloc.
void* allocate(std::size_t size, std::size_t alignment);
void* allocate_or_null(std::size_t size, std::size_t alignment) noexcept;
/// @param memory  May be null.
void release(void* memory, std::size_t alignment) noexcept;

}  // namespace replaced

// NOLINTBEGIN(misc-new-delete-overloads)
void* operator new(std::size_t size) { return replaced::allocate(size, alignof(std::max_align_t)); }
void* operator new[](std::size_t size) {
  return replaced::allocate(size, alignof(std::max_align_t));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return replaced::allocate_or_null(size, alignof(std::max_align_t));
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return replaced::allocate_or_null(size, alignof(std::max_align_t));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return replaced::allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return replaced::allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return replaced::allocate_or_null(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return replaced::allocate_or_null(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  replaced::release(memory, alignof(std::max_align_t));
}
void operator delete[](void* memory) noexcept {
  replaced::release(memory, alignof(std::max_align_t));
}
void operator delete(void* memory, std::size_t) noexcept {
  replaced::release(memory, alignof(std::max_align_t));
}
void operator delete[](void* memory, std::size_t) noexcept {
  replaced::release(memory, alignof(std::max_align_t));
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  replaced::release(memory, alignof(std::max_align_t));
}
void operator delete[](void* memory, const std::nothrow_t&) noexcept {
  replaced::release(memory, alignof(std::max_align_t));
}
void operator delete(void* memory, std::align_val_t alignment) noexcept {
  replaced::release(memory, static_cast<std::size_t>(alignment));
}
void operator delete[](void* memory, std::align_val_t alignment) noexcept {
  replaced::release(memory, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory, std::size_t, std::align_val_t alignment) noexcept {
  replaced::release(memory, static_cast<std::size_t>(alignment));
}
void operator delete[](void* memory, std::size_t, std::align_val_t alignment) noexcept {
  replaced::release(memory, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  replaced::release(memory, static_cast<std::size_t>(alignment));
}
void operator delete[](void* memory, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  replaced::release(memory, static_cast<std::size_t>(alignment));
}
// NOLINTEND(misc-new-delete-overloads)
