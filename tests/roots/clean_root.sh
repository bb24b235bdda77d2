# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash

# Sourced by tests/roots/run.sh and tests/cross/run.sh: a Debian in a folder, entered like a machine.

# Prints why this system cannot have one; fails if there is a reason.
valet_why_no_root() {
  ((EUID == 0)) || { echo "it needs root"; return; }
  command -v debootstrap >/dev/null || { echo "debootstrap is not installed"; return; }
  unshare --mount --pid --fork mount -t tmpfs none /mnt 2>/dev/null || { echo "this system refuses to mount"; return; }
  return 1
}

# valet_make_root <release> <folder> [<mirror>]: with the packages that every Debian has. Without a mirror, the
# one from which this system takes its packages.
valet_make_root() {
  local mirror=${3:-} script=/usr/share/debootstrap/scripts/$1
  if [[ -z "$mirror" ]]; then
    # shellcheck disable=SC2016  # expanded by apt-get
    mirror=$(apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' 'Created-By: Packages' |
      sed -n '/security/d; s/^Debian //p' | head -n 1)
    [[ -n "$mirror" ]] || { echo "This system does not name a mirror of Debian." >&2; return 1; }
  fi
  # A release that this debootstrap does not know is made as unstable is.
  [[ -e "$script" ]] || script=/usr/share/debootstrap/scripts/sid
  rm -rf --one-file-system "$2" "$2.new"
  debootstrap --variant=minbase "$1" "$2.new" "$mirror" "$script" || return
  # Commands are typed by somebody who answers yes. The mirror may be a snapshot.
  cat >"$2.new/etc/apt/apt.conf.d/90valet" <<'APT'
APT::Get::Assume-Yes "true";
Binary::apt-get::APT::Keep-Downloaded-Packages "true";
Acquire::Check-Valid-Until "false";
APT
  mv "$2.new" "$2"
}

# valet_in_root <folder> <directory here> <directory there> <command> [<name=value>...]: runs the command with
# mounts, among them that directory, and processes of its own, which end with it, and without the variables of
# this environment. Name servers and a proxy are this machine's.
valet_in_root() {
  local root=$1 here=$2 there=$3 command=$4
  shift 4
  mkdir -p "$root/$there"
  cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
  # pivot_root, because a system refuses user namespaces, which some tests need, inside of chroot.
  # shellcheck disable=SC2016  # expanded by the inner shell
  unshare --mount --pid --fork --kill-child bash -c '
    mount --bind "$1" "$1" && cd "$1" && mount -t proc proc proc && mount -t sysfs -o ro sysfs sys &&
      mount --rbind /dev dev && mount -t tmpfs -o mode=1777 shm dev/shm && mount --bind "$2" "./$3" &&
      pivot_root . . && umount -l . && cd / &&
      exec env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive ${http_proxy:+http_proxy="$http_proxy"} "${@:5}" bash -c "$4"
  ' bash "$root" "$here" "$there" "$command" "$@" </dev/null
}
