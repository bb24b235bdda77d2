# SPDX-License-Identifier: BSD-3-Clause
"""Recipe for Spack. It contains no URL to fetch Valet from; use it with `spack dev-build` in a source
tree, as in src/docs/building.md. tests/packaging/check_spack.py compares it with CMake."""

try:
    from spack_repo.builtin.build_systems.cmake import CMakePackage
except ImportError:
    pass  # Before Spack 1.0 it was part of spack.package.

from spack.package import *


class Valet(CMakePackage):
    """Valet moves distributed blocks of data, such as particles, patches and mesh elements, to the ranks
    chosen by a load balancer, inside the memory that they already occupy."""

    license("BSD-3-Clause")

    version("0.1.0")

    variant("shared", default=True, description="Build shared libraries")
    variant("kokkos", default=False, description="Build the adapter for Kokkos Views")
    variant("zoltan", default=False, description="Build the adapter for Zoltan and the drop-in")
    variant("fortran", default=False, description="Build the Fortran modules")
    variant("tools", default=False, description="Build valet-bench and valet-plan")
    variant("tests", default=False, description="Build the tests")

    generator("ninja")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("cmake@3.22:", type="build")
    depends_on("nlohmann-json", type="build")
    depends_on("xxhash", type="build")
    depends_on("cli11@2.1:", type="build", when="+tools")
    depends_on("mpi")
    depends_on("kokkos", when="+kokkos")
    depends_on("zoltan+mpi", when="+zoltan")
    depends_on("googletest", type="build", when="+tests")
    depends_on("python@3.8:", type="build", when="+tests")

    def cmake_args(self):
        return [
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define_from_variant("VALET_KOKKOS", "kokkos"),
            self.define_from_variant("VALET_ZOLTAN", "zoltan"),
            self.define_from_variant("VALET_FORTRAN", "fortran"),
            self.define_from_variant("VALET_BUILD_TOOLS", "tools"),
            self.define_from_variant("VALET_BUILD_TESTS", "tests"),
            # Do not use packages that happen to be installed, and do not fail on warnings of a new compiler.
            self.define("VALET_BUILD_EXAMPLES", False),
            self.define("VALET_CBC", False),
            self.define("VALET_DOCS", False),
            self.define("VALET_P4EST", False),
            self.define("VALET_SCALAPACK", False),
            self.define("VALET_SMPI", False),
            self.define("VALET_WARNINGS_AS_ERRORS", False),
        ]
