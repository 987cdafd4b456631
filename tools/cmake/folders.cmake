# One target a folder. Headers stand beside their sources and are included by their path from the root. Each target has an
# include directory of its own that holds a link to its folder, so that a header is visible only to targets that link the
# folder: the linker lines are the include rules of DESIGN.md ("Folders"), and nothing else compiles.
function(ttc_folder name)  # SOURCES file... [PUBLIC target...] [PRIVATE target...]
  cmake_parse_arguments(PARSE_ARGV 1 folder "" "" "SOURCES;PUBLIC;PRIVATE")
  add_library(${name} STATIC ${folder_SOURCES})
  file(RELATIVE_PATH path ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  set(visible ${CMAKE_BINARY_DIR}/include/${name})
  get_filename_component(parent ${visible}/${path} DIRECTORY)
  file(MAKE_DIRECTORY ${parent})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${visible}/${path} SYMBOLIC)
  target_include_directories(${name} PUBLIC ${visible})
  target_link_libraries(${name} PUBLIC ${folder_PUBLIC} PRIVATE ttc_flags ${folder_PRIVATE})
  ttc_precompile(${name} ${folder_PUBLIC} ${folder_PRIVATE})
endfunction()

# A program: its main file, and what it links.
function(ttc_program name main)
  add_executable(${name} ${main})
  target_link_libraries(${name} PRIVATE ttc_flags ${ARGN})
  ttc_precompile(${name} CLI11::CLI11)
endfunction()
