# cmake --install BUILD --prefix PREFIX: programs, library, headers, packages for CMake and pkg-config, the Python package,
# documents. Everything in an installation finds the rest by its own place, so that a prefix can be moved.
# Components, which Debian packages are made of: programs, library, development, python.
include(CMakePackageConfigHelpers)

install(TARGETS ttcollect ttexport ttreport ttmon ttemu RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
install(FILES README.md CHANGELOG.md LICENSE docs/doctor.md docs/format-versions.md docs/glossary.md docs/library.md docs/run.md
  docs/selftest.md docs/sqlite.md
  DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT programs)
# Not with the system's modules: `ttcollect run` adds this directory to a workload's PYTHONPATH, and nothing else is in it.
install(DIRECTORY tools/python/ttcollect DESTINATION lib/ttcollect/python COMPONENT python
  PATTERN __pycache__ EXCLUDE)
install(FILES tools/mark/ttcollect_mark.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)

if(TTC_SHARED)
  install(TARGETS ttc_library EXPORT ttcollectTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development)
  install(FILES tools/reader/include/ttcollect/reader.h tools/reader/include/ttcollect/marker_stream.hpp
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ttcollect COMPONENT development)
  set(package ${CMAKE_INSTALL_LIBDIR}/cmake/ttcollect)
  install(EXPORT ttcollectTargets NAMESPACE ttcollect:: DESTINATION ${package} COMPONENT development)
  configure_package_config_file(tools/reader/ttcollectConfig.cmake.in ${CMAKE_BINARY_DIR}/package/ttcollectConfig.cmake
    INSTALL_DESTINATION ${package})
  write_basic_package_version_file(${CMAKE_BINARY_DIR}/package/ttcollectConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${CMAKE_BINARY_DIR}/package/ttcollectConfig.cmake ${CMAKE_BINARY_DIR}/package/ttcollectConfigVersion.cmake
    DESTINATION ${package} COMPONENT development)
  file(RELATIVE_PATH TTC_PC_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
  configure_file(tools/reader/ttcollect.pc.in ${CMAKE_BINARY_DIR}/package/ttcollect.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/package/ttcollect.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
  install(DIRECTORY tools/reader/examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT development)
endif()
