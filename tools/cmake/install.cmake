# cmake --install BUILD --prefix PREFIX: programs, library, headers, packages for CMake and pkg-config, the Python package,
# documents. Everything in an installation finds the rest by its own place, so that a prefix can be moved.
# Components: programs, license, library, development (what finds the library), headers, python. Debian's packages
# (packaging/debian.cmake) are made of some of them, and put others where Debian has them.
include(CMakePackageConfigHelpers)

install(TARGETS ttdelay RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
install(TARGETS ${TTC_PROGRAMS} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
install(FILES README.md CHANGELOG.md collector/capture/FORMAT.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT programs)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT programs)
install(DIRECTORY tools/python/notebooks DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT programs PATTERN .ipynb_checkpoints EXCLUDE)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT license)
# Not with the system's modules: `ttcollect run` adds this directory to a workload's PYTHONPATH, and nothing else is in it.
install(DIRECTORY tools/python/ttcollect DESTINATION lib/ttcollect/python COMPONENT python
  PATTERN __pycache__ EXCLUDE)
install(FILES tools/mark/ttcollect_mark.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT headers)

# The library, and what others find it by, in `libdir`: of a plain installation and, second, of Debian's packages.
function(ttc_install_library libdir libraries development export)  # components; further arguments of install()
  install(TARGETS ttc_library EXPORT ${export}
    LIBRARY DESTINATION ${libdir} COMPONENT ${libraries} NAMELINK_COMPONENT ${development} ${ARGN})
  set(package ${libdir}/cmake/ttcollect)
  set(made ${CMAKE_BINARY_DIR}/package/${libraries})
  install(EXPORT ${export} FILE ttcollectTargets.cmake NAMESPACE ttcollect:: DESTINATION ${package} COMPONENT ${development} ${ARGN})
  configure_package_config_file(tools/reader/ttcollectConfig.cmake.in ${made}/ttcollectConfig.cmake INSTALL_DESTINATION ${package})
  write_basic_package_version_file(${made}/ttcollectConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${made}/ttcollectConfig.cmake ${made}/ttcollectConfigVersion.cmake
    DESTINATION ${package} COMPONENT ${development} ${ARGN})
  file(RELATIVE_PATH TTC_PC_PREFIX /prefix/${libdir}/pkgconfig /prefix)
  set(TTC_PC_LIBDIR ${libdir})
  configure_file(tools/reader/ttcollect.pc.in ${made}/ttcollect.pc @ONLY)
  install(FILES ${made}/ttcollect.pc DESTINATION ${libdir}/pkgconfig COMPONENT ${development} ${ARGN})
endfunction()

if(TTC_SHARED)
  ttc_install_library(${CMAKE_INSTALL_LIBDIR} library development ttcollectTargets)
  install(FILES tools/reader/include/ttcollect/reader.h tools/reader/include/ttcollect/marker_stream.hpp
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ttcollect COMPONENT headers)
  install(DIRECTORY tools/reader/examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT headers)
endif()
