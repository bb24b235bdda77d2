# SPDX-License-Identifier: BSD-3-Clause

# cmake -DBUILD_DIR= -DCONFIG= -DTARGET= -DMESSAGE= -P: fails unless building TARGET fails and prints
# MESSAGE. CTest alone would check only the message.
execute_process(
  COMMAND "${CMAKE_COMMAND}" --build "${BUILD_DIR}" --config "${CONFIG}" --target "${TARGET}"
  RESULT_VARIABLE result
  OUTPUT_VARIABLE output
  ERROR_VARIABLE output)
if(result EQUAL 0)
  message(FATAL_ERROR "${TARGET} compiles, but must not.")
endif()
if(NOT output MATCHES "${MESSAGE}")
  message(FATAL_ERROR "${TARGET} fails to compile, but not with '${MESSAGE}':\n${output}")
endif()
