# ccache, if it is installed and no other launcher is set. Its settings for precompiled headers are given here,
# because without them it would compile every source that uses them.
if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(TTC_CCACHE ccache)
  if(TTC_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${TTC_CCACHE})
    if(TTC_PRECOMPILED)
      target_compile_options(ttc_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>
                             "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
    endif()
  endif()
endif()
