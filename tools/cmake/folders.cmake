# One target a folder. Headers are beside their sources and are included by their path from the root. Each target has an
# include directory of its own that holds a link to its folder, so that a header is visible only to targets that link the
# folder: the linker lines are the include rules of DESIGN.md ("Folders"), and nothing else compiles.
#
# EVERY_MARKER: what runs for every marker or every word. The preset that fuzzes compiles all else without optimisation,
# which takes half of the time; what does most of the work there is optimised.
# COLD: options, sentences and tables of a few lines, of which nothing runs for every marker. A user's build and the tested
# one compile them with -O1, in three quarters of the time of -O2. (clang takes precompiled headers of one level only.)

# Folders that a fuzz target drives. Coverage is a quarter of the time to compile, and it guides a fuzzer in these only:
# tests and all other folders of the preset that fuzzes are compiled without it. A new target's folders belong here.
set(ttc_fuzzed ttc_chip ttc_delay_plan ttc_toml ttc_firmware_markers ttc_shm ttc_capture ttc_clock ttc_clock_geometry ttc_loss ttc_pipeline ttc_device_log ttc_fleet_judge ttc_fleet_wire ttc_replay ttc_tracy
  ttc_report_draw ttc_report_host ttc_report_input ttc_report_metal_files ttc_report_ops ttc_report_programs ttc_report_text
  ttc_report_zones ttc_table_reader ttc_tables ttc_tracy_server)

# The flags that -fsanitize=fuzzer-no-link implies in clang 14 and later. The option itself would exclude the precompiled
# headers that targets without it share.
function(ttc_cover_for_fuzzing target)
  if(TTC_FUZZ)
    target_compile_options(${target} PRIVATE
      -fsanitize-coverage=inline-8bit-counters,pc-table,indirect-calls,trace-cmp,stack-depth
      -fno-builtin-bcmp -fno-builtin-memcmp -fno-builtin-strncmp -fno-builtin-strcmp -fno-builtin-strncasecmp
      -fno-builtin-strcasecmp -fno-builtin-strstr -fno-builtin-strcasestr -fno-builtin-memmem)
  endif()
endfunction()

function(ttc_for_every_marker name)
  if(TTC_FUZZ)
    target_compile_options(${name} PRIVATE -O1)
  endif()
  ttc_precompile_optimised(${name})
endfunction()

function(ttc_folder name)  # SOURCES file... [PUBLIC target...] [PRIVATE target...] [EVERY_MARKER | COLD]
  cmake_parse_arguments(PARSE_ARGV 1 folder "EVERY_MARKER;COLD" "" "SOURCES;PUBLIC;PRIVATE")
  add_library(${name} STATIC ${folder_SOURCES})
  file(RELATIVE_PATH path ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  set(visible ${CMAKE_BINARY_DIR}/include/${name})
  get_filename_component(parent ${visible}/${path} DIRECTORY)
  file(MAKE_DIRECTORY ${parent})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${visible}/${path} SYMBOLIC)
  target_include_directories(${name} PUBLIC ${visible})
  target_link_libraries(${name} PUBLIC ${folder_PUBLIC} PRIVATE ttc_flags ${folder_PRIVATE})
  if(folder_EVERY_MARKER)
    ttc_for_every_marker(${name})
  else()
    ttc_precompile(${name})
  endif()
  if(folder_COLD AND NOT TTC_FUZZ)
    target_compile_options(${name} PRIVATE $<$<AND:$<CXX_COMPILER_ID:GNU>,$<NOT:$<CONFIG:Debug>>>:-O1>)
  endif()
  if(name IN_LIST ttc_fuzzed)
    ttc_cover_for_fuzzing(${name})
  endif()
endfunction()

# A program: its main file, and what it links.
function(ttc_program name main)
  add_executable(${name} ${main})
  target_link_libraries(${name} PRIVATE ttc_flags ${ARGN})
  ttc_precompile(${name})
endfunction()
