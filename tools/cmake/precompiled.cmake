# What nearly every source includes, read once. Off in the debug preset, where every source has to include what it needs,
# and for clang-tidy. A compiler takes it only for sources without macros of their own.
option(TTC_PRECOMPILED "Precompile the headers that nearly every source includes" OFF)
set(TTC_PRECOMPILED_HEADERS <algorithm> <array> <atomic> <chrono> <cstdint> <cstdio> <cstring> <deque> <filesystem>
  <fstream> <functional> <map> <memory> <mutex> <optional> <random> <set> <span> <sstream> <stdexcept> <string>
  <string_view> <thread> <unordered_map> <vector> <nlohmann/json.hpp>)
# Two sets: one for all, and one more for folders that define options, where CLI11 is most of the work.
function(ttc_precompiled_set name)  # headers...
  if(NOT EXISTS ${CMAKE_BINARY_DIR}/precompiled.cpp)
    file(WRITE ${CMAKE_BINARY_DIR}/precompiled.cpp "")
  endif()
  add_library(${name} STATIC ${CMAKE_BINARY_DIR}/precompiled.cpp)
  target_link_libraries(${name} PRIVATE ttc_flags nlohmann_json::nlohmann_json CLI11::CLI11)
  target_precompile_headers(${name} PRIVATE ${ARGN})
endfunction()
if(TTC_PRECOMPILED)
  ttc_precompiled_set(ttc_precompiled ${TTC_PRECOMPILED_HEADERS})
  ttc_precompiled_set(ttc_precompiled_options ${TTC_PRECOMPILED_HEADERS} <CLI/CLI.hpp>)
endif()

function(ttc_precompile target)  # what the target links...
  if(NOT TTC_PRECOMPILED)
    return()
  endif()
  if("CLI11::CLI11" IN_LIST ARGN)
    target_precompile_headers(${target} REUSE_FROM ttc_precompiled_options)
  else()
    target_precompile_headers(${target} REUSE_FROM ttc_precompiled)
  endif()
endfunction()
