# What nearly every source includes, read once. Off in the debug preset, where every source has to include what it needs,
# and for clang-tidy. A compiler takes it only for sources without macros of their own.
option(TTC_PRECOMPILED "Precompile the headers that nearly every source includes" OFF)
set(TTC_PRECOMPILED_HEADERS <algorithm> <array> <atomic> <chrono> <cstdint> <cstdio> <cstring> <deque> <filesystem>
  <fstream> <functional> <map> <memory> <mutex> <optional> <random> <set> <span> <sstream> <stdexcept> <string>
  <string_view> <thread> <unordered_map> <vector> <nlohmann/json.hpp>)
if(TTC_PRECOMPILED)
  if(NOT EXISTS ${CMAKE_BINARY_DIR}/precompiled.cpp)
    file(WRITE ${CMAKE_BINARY_DIR}/precompiled.cpp "")
  endif()
  add_library(ttc_precompiled STATIC ${CMAKE_BINARY_DIR}/precompiled.cpp)
  target_link_libraries(ttc_precompiled PRIVATE ttc_flags nlohmann_json::nlohmann_json)
  target_precompile_headers(ttc_precompiled PRIVATE ${TTC_PRECOMPILED_HEADERS})
endif()

function(ttc_precompile target)
  if(TTC_PRECOMPILED)
    target_precompile_headers(${target} REUSE_FROM ttc_precompiled)
  endif()
endfunction()
