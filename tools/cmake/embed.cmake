# Text files as constants of a target: ttc_embed(target page.css ...) defines, for each file,
#   namespace ttc::embedded { extern const std::string_view page_css; }
# which the user declares. Each file becomes a source of raw string literals at build time, again whenever the file changes.
# The same file is the generator: cmake -DIN=FILE -DOUT=FILE -DNAME=IDENTIFIER -P embed.cmake
set(TTC_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})

function(ttc_embed target)
  foreach(file ${ARGN})
    string(MAKE_C_IDENTIFIER ${file} name)
    set(in ${CMAKE_CURRENT_SOURCE_DIR}/${file})
    set(out ${CMAKE_CURRENT_BINARY_DIR}/embedded/${name}.cpp)
    add_custom_command(OUTPUT ${out} VERBATIM
                       COMMAND ${CMAKE_COMMAND} -DIN=${in} -DOUT=${out} -DNAME=${name} -P ${TTC_EMBED_SCRIPT}
                       DEPENDS ${in} ${TTC_EMBED_SCRIPT}
                       COMMENT "Embedding ${file}")
    target_sources(${target} PRIVATE ${out})
    # On its own, so that no batch of sources needs a generated one.
    set_source_files_properties(${out} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endforeach()
endfunction()

if(NOT CMAKE_SCRIPT_MODE_FILE)
  return()
endif()

# Compilers limit the length of one literal: pieces are of whole lines, so that no character is cut, and at most this long.
set(most 12000)
file(READ ${IN} text)
string(FIND "${text}" ")ttc\"" ends_literal)
if(NOT ends_literal EQUAL -1)
  message(FATAL_ERROR "${IN} holds )ttc\", which ends its string literal")
endif()
set(literals "")
string(LENGTH "${text}" left)
while(left GREATER 0)
  string(SUBSTRING "${text}" 0 ${most} piece)
  if(left GREATER most)
    string(FIND "${piece}" "\n" end REVERSE)
    math(EXPR end "${end} + 1")
    if(end EQUAL 0)
      message(FATAL_ERROR "${IN} holds a line of more than ${most} bytes")
    endif()
    string(SUBSTRING "${text}" 0 ${end} piece)
    string(SUBSTRING "${text}" ${end} -1 text)
    math(EXPR left "${left} - ${end}")
  else()
    set(left 0)
  endif()
  string(APPEND literals "\nR\"ttc(${piece})ttc\"")
endwhile()
if(NOT literals)
  set(literals " \"\"")
endif()
file(WRITE ${OUT} "// Generated from a file of the same name; edit that one.
#include <string_view>

namespace ttc::embedded {
extern const std::string_view ${NAME};
const std::string_view ${NAME} =${literals};
}  // namespace ttc::embedded
")
