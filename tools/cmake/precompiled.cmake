# What nearly every source includes, read once. Off in the debug preset, where every source has to include what it needs,
# and for clang-tidy. A compiler takes it only for sources without macros of their own.
option(TTC_PRECOMPILED "Precompile the headers that nearly every source includes" OFF)
set(TTC_PRECOMPILED_HEADERS <algorithm> <array> <atomic> <chrono> <cstdint> <cstdio> <cstring> <deque> <filesystem>
  <fstream> <functional> <map> <memory> <mutex> <optional> <random> <set> <span> <sstream> <stdexcept> <string>
  <string_view> <thread> <unordered_map> <vector> <nlohmann/json.hpp>)

# Those of sources compiled with the flags of the build and, besides, with these.
function(ttc_precompiled name)
  if(NOT EXISTS ${CMAKE_BINARY_DIR}/precompiled.cpp)
    file(WRITE ${CMAKE_BINARY_DIR}/precompiled.cpp "")
  endif()
  add_library(${name} STATIC ${CMAKE_BINARY_DIR}/precompiled.cpp)
  target_link_libraries(${name} PRIVATE ttc_flags nlohmann_json::nlohmann_json)
  target_compile_options(${name} PRIVATE ${ARGN})
  target_precompile_headers(${name} PRIVATE ${TTC_PRECOMPILED_HEADERS})
endfunction()

# clang takes them only for sources of the same optimisation.
if(TTC_PRECOMPILED)
  ttc_precompiled(ttc_precompiled)
  if(TTC_FUZZ)
    ttc_precompiled(ttc_precompiled_optimised -O1)
  endif()
endif()

function(ttc_precompile target)
  if(TTC_PRECOMPILED)
    target_precompile_headers(${target} REUSE_FROM ttc_precompiled)
  endif()
endfunction()

# Of a target that is compiled with -O1 also in the preset that fuzzes.
function(ttc_precompile_optimised target)
  if(TTC_PRECOMPILED AND TTC_FUZZ)
    target_precompile_headers(${target} REUSE_FROM ttc_precompiled_optimised)
  else()
    ttc_precompile(${target})
  endif()
endfunction()
