# SPDX-License-Identifier: BSD-3-Clause

# Collects the points of the papers' figures at small sizes, twice, and draws them.
set(collect "${PYTHON}" "${EXAMPLES}/papers.py" "${DIRECTORY}" --quick --ranks 2 --launch "${LAUNCH}" --program
            "${BENCH}")

function(run pattern)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT code EQUAL 0 OR NOT out MATCHES "${pattern}")
    message(FATAL_ERROR "${ARGN}: exit code ${code}, expected '${pattern}'\n${out}")
  endif()
endfunction()

function(expect_in_file path)
  file(READ "${path}" text)
  foreach(part IN LISTS ARGN)
    if(NOT text MATCHES "${part}")
      message(FATAL_ERROR "${path} has no '${part}':\n${text}")
    endif()
  endforeach()
endfunction()

file(REMOVE_RECURSE "${DIRECTORY}")
run("[1-9][0-9]* points measured, 0 kept, 0 failed" ${collect})
# Stopped, and one point lost: it goes on where it was.
file(REMOVE "${DIRECTORY}/madre_counted.json")
run("1 points measured, [1-9][0-9]* kept, 0 failed" ${collect})
expect_in_file("${DIRECTORY}/madre_counted.json" "valet-bench madre --blocks 25000 --processes 8,32")
run("papers.md" "${PYTHON}" "${EXAMPLES}/plot.py" papers "${DIRECTORY}")

set(pictures layout_figure3 layout_figure4 papers_madre papers_madre_stages papers_zhuang)
if(HAS_ZOLTAN)
  list(APPEND pictures papers_pinar papers_pinar_volume)
  expect_in_file("${DIRECTORY}/papers.md" "additional volume of parking")
endif()
foreach(picture IN LISTS pictures)
  file(READ "${DIRECTORY}/${picture}.png" signature LIMIT 8 HEX)
  file(SIZE "${DIRECTORY}/${picture}.png" size)
  if(NOT signature STREQUAL "89504e470d0a1a0a" OR size LESS 10000)
    message(FATAL_ERROR "${picture}.png is no picture: ${size} bytes")
  endif()
endforeach()
# Zhuang's Table 1 beside ours; commands; 2N-3 steps of cycles and 5 phases in MADRE's transpose.
expect_in_file("${DIRECTORY}/papers.md" "\n\\| 2 \\| 2 / [0-9.e-]+ \\| - / " "\n\\| 256 \\| 52.9 / - " "- `zhuang_1_ranks2`: `"
               "32 processes, CYCLIC[^:]*: 61 phases or steps" "32 processes, PHASED[^:]*: [45] phases or steps")

# A directory without points.
execute_process(COMMAND "${PYTHON}" "${EXAMPLES}/plot.py" papers "${DIRECTORY}/nowhere" RESULT_VARIABLE code
                ERROR_VARIABLE message)
if(code EQUAL 0 OR NOT message MATCHES "is missing")
  message(FATAL_ERROR "no points: exit code ${code}\n${message}")
endif()
# A failing program.
execute_process(COMMAND ${collect} --only madre_counted --launch false --repeat 2 RESULT_VARIABLE code
                OUTPUT_VARIABLE out ERROR_VARIABLE message)
if(code EQUAL 0 OR NOT message MATCHES "madre_counted failed: false -n 1")
  message(FATAL_ERROR "a failing program: exit code ${code}\n${out}${message}")
endif()
