#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# What MPI is asked to do has another name in each MPI and each major version; the names are here
# only. All are environment variables: they also reach an mpirun that somebody else types.
case "${1:-}" in
  "" | -h | --help)
    cat <<'USAGE'
Usage: cmake/mpi_options.sh LAUNCHER WISH...
Prints the environment variables (NAME=value) that make MPI programs started by LAUNCHER, such as mpirun, do this:
  root             run as root
  oversubscribe    run with more ranks than cores
  yield            leave their core to others while they wait
  unbound          run on any core
  bound            run on one core each
  no-single-copy   send without copying directly between processes (CMA, KNEM, XPMEM)
  tcp              send by TCP only, also within a node
  threads          let several threads of a rank send and wait at a time
  shared-files     nothing else: MPI_SHARED_FILES is a regular expression of the names they use in /dev/shm
Exit code 1, and a sentence, if LAUNCHER or its version cannot do one of them.
USAGE
    if [ -n "${1:-}" ]; then exit 0; fi
    exit 2
    ;;
esac

version=$("$1" --version 2>&1)
open_mpi=$(printf '%s\n' "$version" | sed -n '1s/.*(Open[ A-Z]*) \([0-9]*\).*/\1/p')
mpich=$(printf '%s\n' "$version" | sed -n '1{/HYDRA/!q;};s/^ *Version: *\([0-9]*\).*/\1/p')
# The oldest and the newest versions whose names are known.
if [ -n "$open_mpi" ]; then
  mpi="Open MPI $((open_mpi < 4 ? 4 : open_mpi > 6 ? 6 : open_mpi))"
elif [ -n "$mpich" ]; then
  mpi="MPICH $((mpich < 4 ? 4 : mpich > 5 ? 5 : mpich))"
else
  echo "mpi_options.sh: $1 is not the launcher of Open MPI or of MPICH, whose options are known here" >&2
  exit 1
fi
shift

# UCX and libfabric copy directly too, and belong to both families. UCX warns of what is missing.
no_single_copy="UCX_TLS=^cma,knem,xpmem UCX_LOG_LEVEL=error FI_SHM_DISABLE_CMA=1"
set -f # values are not expanded to names of files
code=0
for wish in "$@"; do
  options=
  case "$mpi $wish" in
    "Open MPI "?" root") options="OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1" ;;
    "Open MPI 4 oversubscribe") options="OMPI_MCA_rmaps_base_oversubscribe=1" ;;
    "Open MPI 5 oversubscribe") options="PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe" ;;
    "Open MPI 6 oversubscribe") options="PRTE_MCA_mapby=:oversubscribe" ;;
    "Open MPI "?" yield") options="OMPI_MCA_mpi_yield_when_idle=1" ;;
    "Open MPI 4 unbound") options="OMPI_MCA_hwloc_base_binding_policy=none" ;;
    "Open MPI 5 unbound") options="PRTE_MCA_hwloc_default_binding_policy=none" ;;
    "Open MPI 6 unbound") options="PRTE_MCA_bindto=none" ;;
    "Open MPI 4 bound") options="OMPI_MCA_hwloc_base_binding_policy=core" ;;
    "Open MPI 5 bound") options="PRTE_MCA_hwloc_default_binding_policy=core" ;;
    "Open MPI 6 bound") options="PRTE_MCA_bindto=core" ;;
    "Open MPI 4 no-single-copy") options="$no_single_copy OMPI_MCA_btl_vader_single_copy_mechanism=none" ;;
    "Open MPI "?" no-single-copy") options="$no_single_copy OMPI_MCA_smsc=^cma,knem,xpmem" ;;
    "Open MPI 4 tcp") options="OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,tcp" ;;
    # The other way to find interfaces, netlink, does not see in 5.0 that a node reaches itself.
    # 6.0.0rc2 loses messages of several threads in shared memory; more rarely by TCP.
    "Open MPI "?" tcp" | "Open MPI 6 threads")
      options="OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,tcp OMPI_MCA_reachable=weighted"
      ;;
    *" threads") ;;
    "Open MPI 4 files-in-tmp") options="OMPI_MCA_btl_vader_backing_directory=/tmp UCX_POSIX_DIR=/tmp" ;;
    "Open MPI "?" files-in-tmp") options="OMPI_MCA_btl_sm_backing_directory=/tmp UCX_POSIX_DIR=/tmp" ;;
    "Open MPI 4 shared-files") options="MPI_SHARED_FILES=vader_segment.*" ;;
    "Open MPI "?" shared-files") options="MPI_SHARED_FILES=sm_segment.*" ;;
    "MPICH "?" root" | "MPICH "?" oversubscribe") ;; # always
    "MPICH 5 yield") options="MPIR_CVAR_CH4_PROGRESS_THROTTLE=1" ;;
    "MPICH "?" unbound") options="HYDRA_BINDING=none" ;;
    "MPICH "?" bound") options="HYDRA_BINDING=core" ;;
    # Where UCX is left TCP in place of cma, a job of MPICH 4.0.2 now and then never ends. Within a node alone.
    "MPICH "?" no-single-copy")
      options="UCX_TLS=self,posix,sysv ${no_single_copy#* } MPIR_CVAR_CH4_CMA_ENABLE=0 MPIR_CVAR_CH4_XPMEM_ENABLE=0"
      ;;
    "MPICH "?" tcp") options="UCX_TLS=self,tcp FI_PROVIDER=tcp MPIR_CVAR_NOLOCAL=1" ;;
    "MPICH "?" files-in-tmp") options="UCX_POSIX_DIR=/tmp" ;;
    "MPICH "?" shared-files") options="MPI_SHARED_FILES=(mpich_shar_tmp|ucx_shm_posix_).*" ;;
    *)
      echo "mpi_options.sh: $mpi has no option for '$wish'" >&2
      code=1
      ;;
  esac
  for option in $options; do echo "$option"; done
done
exit $code
