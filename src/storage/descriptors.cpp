// SPDX-License-Identifier: BSD-3-Clause
#include "storage/descriptors.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

namespace valet::storage {
namespace {

/// The system's names of sockets without a file: a zero and five hexadecimal digits.
constexpr std::size_t name_digits = 5;
constexpr std::size_t address_bytes = offsetof(sockaddr_un, sun_path) + 1 + name_digits;

/// A message of one byte, and room for descriptors beside it.
struct Message {
  Message() { header.msg_iov = &part, header.msg_iovlen = 1; }
  void make_room(std::size_t descriptors) {
    header.msg_control = control.data();
    header.msg_controllen = CMSG_SPACE(descriptors * sizeof(int));
  }

  char byte = 0;
  iovec part{&byte, 1};
  msghdr header{};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(DescriptorBox::most * sizeof(int))> control{};
};

}  // namespace

FileDescriptor::FileDescriptor(FileDescriptor&& other) noexcept
    : number_(std::exchange(other.number_, -1)) {}

FileDescriptor& FileDescriptor::operator=(FileDescriptor other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

FileDescriptor::~FileDescriptor() {
  if (is_open()) close(number_);
}

/// Should this be some other file after all, then opening it must not wait.
FileDescriptor FileDescriptor::of_process(std::uint64_t process, std::uint64_t number,
                                          bool writes) {
  const std::string path = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(number);
  return FileDescriptor(
      open(path.c_str(), (writes ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
}

void Unmap::operator()(std::byte* memory) const noexcept { munmap(memory, bytes); }

DescriptorBox DescriptorBox::make() {
  DescriptorBox box;
#if defined(__linux__)
  box.socket_ = FileDescriptor(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  socklen_t bytes = sizeof name.sun_family;  // no more than that: the system chooses a name
  auto* const address = reinterpret_cast<sockaddr*>(&name);
  if (!box.socket_.is_open() || bind(box.socket_.number(), address, bytes) != 0) return {};
  bytes = sizeof name;
  if (getsockname(box.socket_.number(), address, &bytes) != 0 || bytes != address_bytes) return {};
  box.address_ =
      1 + std::strtoull(std::string(name.sun_path + 1, name_digits).c_str(), nullptr, 16);
#endif
  return box;
}

bool DescriptorBox::send(std::uint64_t address, std::span<const int> descriptors) {
  if (descriptors.size() > most) return false;
  const FileDescriptor out(socket(AF_UNIX, SOCK_DGRAM, 0));
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::snprintf(name.sun_path + 1, name_digits + 1, "%05llx",
                static_cast<unsigned long long>(address - 1));
  Message message;
  message.header.msg_name = &name;
  message.header.msg_namelen = address_bytes;
  message.make_room(descriptors.size());
  cmsghdr* const control = CMSG_FIRSTHDR(&message.header);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(descriptors.size_bytes());
  std::memcpy(CMSG_DATA(control), descriptors.data(), descriptors.size_bytes());
  return out.is_open() && sendmsg(out.number(), &message.header, MSG_DONTWAIT) == 1;
}

std::size_t DescriptorBox::receive(std::span<FileDescriptor> received) const {
  Message message;
  message.make_room(most);
  if (recvmsg(socket_.number(), &message.header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != 1) return 0;
  const cmsghdr* const control = CMSG_FIRSTHDR(&message.header);
  if (control == nullptr || control->cmsg_type != SCM_RIGHTS) return 0;
  std::array<int, most> numbers{};
  const std::size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  std::memcpy(numbers.data(), CMSG_DATA(control), count * sizeof(int));
  for (std::size_t k = 0; k < count; ++k) {
    FileDescriptor descriptor(numbers[k]);
    if (k < received.size()) received[k] = std::move(descriptor);
  }
  return std::min(count, received.size());
}

}  // namespace valet::storage
