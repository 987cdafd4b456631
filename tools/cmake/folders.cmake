# One target a folder. Headers stand beside their sources and are included by their path from the root. Each target has an
# include directory of its own that holds a link to its folder, so that a header is visible only to targets that link the
# folder: the linker lines are the include rules of DESIGN.md ("Folders"), and nothing else compiles.
#
# EVERY_MARKER: what runs for every marker or every word. The preset that fuzzes compiles all else without optimisation,
# which takes half of the time; what does most of the work there is optimised.
function(ttc_for_every_marker name)
  if(TTC_FUZZ)
    target_compile_options(${name} PRIVATE -O1)
  endif()
  ttc_precompile_optimised(${name})
endfunction()

function(ttc_folder name)  # SOURCES file... [PUBLIC target...] [PRIVATE target...] [EVERY_MARKER]
  cmake_parse_arguments(PARSE_ARGV 1 folder "EVERY_MARKER" "" "SOURCES;PUBLIC;PRIVATE")
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
endfunction()

# A program: its main file, and what it links.
function(ttc_program name main)
  add_executable(${name} ${main})
  target_link_libraries(${name} PRIVATE ttc_flags ${ARGN})
  ttc_precompile(${name})
endfunction()
