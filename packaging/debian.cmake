# cpack --config BUILD/CPackConfig.cmake (tools/package): packages for Debian 12.
#   ttcollect           programs, man pages, completions, documents, the service ttcollect@.service with a user of its own
#   libttcollect0       the library
#   libttcollect-dev    headers, examples, what CMake and pkg-config find the library by
#   python3-ttcollect   the Python package
# What differs from a plain installation is of components debian_*, which `cmake --install` leaves out.
find_program(TTC_DPKG dpkg-deb)
if(NOT TTC_SHARED OR NOT TTC_DPKG)
  return()
endif()
set(TTC_MAINTAINER "ttcollect maintainers <maintainers@ttcollect.invalid>" CACHE STRING "Name and address in Debian's packages")

set(debian ${CMAKE_CURRENT_LIST_DIR}/debian)
set(made ${CMAKE_BINARY_DIR}/package/debian)
set(multiarch lib/${CMAKE_CXX_LIBRARY_ARCHITECTURE})
ttc_install_library(${multiarch} debian_library debian_development ttcollectDebianTargets EXCLUDE_FROM_ALL)
install(FILES packaging/systemd/ttcollect@.service DESTINATION /lib/systemd/system COMPONENT debian_programs EXCLUDE_FROM_ALL)
# Python's own place; and the directory that `ttcollect run` adds to a workload's PYTHONPATH, which holds nothing else.
install(DIRECTORY tools/python/ttcollect DESTINATION lib/python3/dist-packages COMPONENT debian_python EXCLUDE_FROM_ALL
  PATTERN __pycache__ EXCLUDE)
file(MAKE_DIRECTORY ${made})
file(CREATE_LINK ../../python3/dist-packages/ttcollect ${made}/ttcollect SYMBOLIC)
install(FILES ${made}/ttcollect DESTINATION lib/ttcollect/python COMPONENT debian_python EXCLUDE_FROM_ALL)

# A version that is none of a release sorts before it.
set(version ${PROJECT_VERSION})
if(NOT TTC_RELEASED)
  string(TIMESTAMP day "%Y%m%d" UTC)
  set(version ${PROJECT_VERSION}~${day})
endif()
set(TTC_DEBIAN_VERSION ${version})
if(TTC_COMMIT_TIME)
  set(ENV{SOURCE_DATE_EPOCH} ${TTC_COMMIT_TIME})
endif()
string(TIMESTAMP TTC_DEBIAN_DATE "%a, %d %b %Y %H:%M:%S +0000" UTC)
unset(ENV{SOURCE_DATE_EPOCH})
foreach(package ttcollect libttcollect0 libttcollect-dev python3-ttcollect)
  configure_file(${debian}/changelog.in ${made}/changelog @ONLY)
  execute_process(COMMAND gzip -9n -c ${made}/changelog OUTPUT_FILE ${made}/changelog.gz)
  string(REGEX REPLACE "^lib.*-dev$" "debian_development" component ${package})
  string(REGEX REPLACE "^lib.*" "debian_library" component ${component})
  string(REGEX REPLACE "^python.*" "debian_python" component ${component})
  string(REGEX REPLACE "^ttcollect$" "debian_programs" component ${component})
  install(FILES ${made}/changelog.gz ${debian}/copyright DESTINATION share/doc/${package} COMPONENT ${component} EXCLUDE_FROM_ALL)
endforeach()

install(FILES ${debian}/libttcollect0.lintian-overrides DESTINATION share/lintian/overrides RENAME libttcollect0
  COMPONENT debian_library EXCLUDE_FROM_ALL)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME ttcollect)
set(CPACK_PACKAGE_CONTACT ${TTC_MAINTAINER})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL programs debian_programs debian_library headers debian_development debian_python)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_VERSION ${version})
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)

set(CPACK_DEBIAN_PROGRAMS_PACKAGE_NAME ttcollect)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_DEPENDS adduser)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_RECOMMENDS "python3-ttcollect, fonts-dejavu-core")
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_CONTROL_EXTRA ${debian}/postinst ${debian}/prerm ${debian}/postrm)
set(CPACK_DEBIAN_PROGRAMS_DESCRIPTION "device-trace collector for Tenstorrent accelerators
Attaches to a card beside a running tt-metal workload, drains kernel start
and end markers of every core into shared memory and capture files, and
exports them as tables, reports and timelines, with an account of anything
lost. A systemd service keeps a flight recorder of each card.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libttcollect0)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_MULTIARCH same)
file(WRITE ${made}/shlibs "libttcollect 0 libttcollect0 (>= ${version})\n")
file(WRITE ${made}/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${made}/shlibs ${made}/triggers)
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "reader of ttcollect's device traces - shared library
Reads live runs and captures of ttcollect as tables of plain records:
markers, zones, programs, losses, clock, telemetry and the host's zones.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libttcollect-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libttcollect0 (= ${version})")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "reader of ttcollect's device traces - development files
Headers for C and C++, examples, and files for CMake and pkg-config. Also
the header by which workloads set marks.")
set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-ttcollect)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3:any, python3-numpy, libttcollect0 (>= ${version})")
set(CPACK_DEBIAN_PYTHON_PACKAGE_RECOMMENDS python3-pandas)
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA ${debian}/python/postinst ${debian}/python/prerm)
set(CPACK_DEBIAN_PYTHON_DESCRIPTION "reader of ttcollect's device traces - Python 3
Live runs and captures of ttcollect as numpy arrays and pandas frames, and
marks and steps of workloads on the timeline.")
include(CPack)
foreach(component programs debian_programs)
  cpack_add_component(${component} GROUP programs)
endforeach()
foreach(component headers debian_development)
  cpack_add_component(${component} GROUP development)
endforeach()
cpack_add_component(debian_library GROUP library)
cpack_add_component(debian_python GROUP python)
