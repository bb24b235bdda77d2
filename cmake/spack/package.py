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
    variant("trilinos", default=False, description="Take Zoltan and Kokkos from Trilinos")
    variant("fortran", default=False, description="Build the Fortran modules")
    variant("tools", default=False, description="Build valet-bench and valet-plan")
    variant("tests", default=False, description="Build the tests")

    generator("ninja")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    # Also for the stand-alone test, which builds a client.
    depends_on("cmake@3.22:", type=("build", "test"))
    depends_on("ninja", type=("build", "test"))
    depends_on("nlohmann-json", type="build")
    depends_on("xxhash", type="build")
    depends_on("cli11@2.1:", type="build", when="+tools")
    depends_on("mpi")
    depends_on("kokkos@3.4:", when="+kokkos~trilinos")
    depends_on("zoltan@3.901: +mpi", when="+zoltan~trilinos")
    # Trilinos chooses the version of Kokkos; 17 has Kokkos 5 and is compiled as C++20, as Valet is.
    depends_on("trilinos@13:17", when="+trilinos")
    depends_on("trilinos +kokkos", when="+kokkos+trilinos")
    depends_on("trilinos +mpi +zoltan", when="+zoltan+trilinos")
    depends_on("googletest", type="build", when="+tests")
    depends_on("python@3.8:", type="build", when="+tests")

    conflicts("+trilinos", when="~kokkos~zoltan", msg="Trilinos is for Kokkos and Zoltan")

    test_requires_compiler = True

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
            self.define("VALET_PETSC", False),
            self.define("VALET_SCALAPACK", False),
            self.define("VALET_SMPI", False),
            self.define("VALET_WARNINGS_AS_ERRORS", False),
        ]

    def test_first_example(self):
        """build the first of the installed examples and run it on 2 ranks"""
        source = join_path(self.prefix.share, "doc", "valet", "examples", "first")
        cmake = Executable(self.spec["cmake"].prefix.bin.cmake)
        cmake(
            "-G", "Ninja", "-S", source, "-B", "first",
            f"-DCMAKE_PREFIX_PATH={self.prefix}",
            f"-DMPI_CXX_COMPILER={self.spec['mpi'].mpicxx}",
        )
        cmake("--build", "first", "--target", "01_arrays")
        mpirun = Executable(self.spec["mpi"].prefix.bin.mpirun)
        # Containers run as root, which Open MPI refuses unless both are set.
        mpirun.add_default_env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        mpirun.add_default_env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        output = mpirun("-n", "2", join_path("first", "01_arrays"), output=str.split, error=str.split)
        assert "200 particles are on their ranks" in output
