# stepslack_module(NAME
#   HEADERS ...       public headers under include/stepslack/NAME/
#   SOURCES ...       everything that is compiled
#   USES ...          modules this one may include (public arrows of docs/modules.svg)
#   PRIVATE ...       third-party targets, not visible to users of the module
#   TESTS ...         unit and property tests, one executable per module
#   SHARED_TESTS ...  tests on the reference data of ../shared; they skip when it is absent
#   FUZZ ...          libFuzzer targets, one executable per file; replayed by CTest)
#
# A module exports only its own include/ folder, so a file cannot include what its
# module does not list: the arrows of docs/architecture.md are enforced by the build.
include(GoogleTest)
set_property(GLOBAL PROPERTY STEPSLACK_MODULE_EDGES "")
set_property(GLOBAL PROPERTY STEPSLACK_MODULES "")

function(stepslack_module name)
  cmake_parse_arguments(M "" "" "HEADERS;SOURCES;USES;PRIVATE;TESTS;SHARED_TESTS;FUZZ"
                        ${ARGN})
  if(M_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "stepslack_module(${name}): unknown ${M_UNPARSED_ARGUMENTS}")
  endif()
  set(target stepslack_${name})
  add_library(${target} STATIC ${M_SOURCES} ${M_HEADERS})
  target_include_directories(${target}
    PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/include
    PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/src)
  target_link_libraries(${target} PUBLIC fmt::fmt PRIVATE stepslack_flags ${M_PRIVATE})
  foreach(used ${M_USES})
    if(NOT TARGET stepslack_${used})
      message(FATAL_ERROR "module ${name} uses ${used}, which is not below it")
    endif()
    target_link_libraries(${target} PUBLIC stepslack_${used})
    set_property(GLOBAL APPEND PROPERTY STEPSLACK_MODULE_EDGES "${name}>${used}")
  endforeach()
  set_property(GLOBAL APPEND PROPERTY STEPSLACK_MODULES ${name})

  if(M_TESTS)
    stepslack_test(${name}_test SOURCES ${M_TESTS} LINK ${target})
  endif()
  if(M_SHARED_TESTS)
    stepslack_test(${name}_shared_test SOURCES ${M_SHARED_TESTS} LINK ${target}
                   LABELS shared)
  endif()
  foreach(file ${M_FUZZ})
    stepslack_fuzz(${file} ${target})
  endforeach()
endfunction()

function(stepslack_test name)
  cmake_parse_arguments(T "" "" "SOURCES;LINK;LABELS" ${ARGN})
  add_executable(${name} ${T_SOURCES})
  target_link_libraries(${name} PRIVATE ${T_LINK} stepslack_flags GTest::gtest_main
                        GTest::gmock rapidcheck stdc++)
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/src)
  # Tests are compiled often and run briefly: optimising them costs more than it gives.
  target_compile_options(${name} PRIVATE -O1)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY
                        ${CMAKE_BINARY_DIR}/tests)
  # An empty property value would vanish and shift the rest; a list would be split.
  set(labels)
  if(T_LABELS)
    set(labels LABELS ${T_LABELS})
  endif()
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 300 ${labels}
    ENVIRONMENT STEPSLACK_SOURCE=${CMAKE_SOURCE_DIR})
endfunction()

# A fuzz target is compiled twice at most: with libFuzzer when asked, and always with a
# replay main, so that every test run replays the committed corpus (corpus/<target>/).
function(stepslack_fuzz file link)
  get_filename_component(base ${file} NAME_WE)
  add_executable(${base}_replay ${file} ${CMAKE_SOURCE_DIR}/tests/fuzz_replay_main.cc)
  target_link_libraries(${base}_replay PRIVATE ${link} stepslack_flags)
  target_include_directories(${base}_replay PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/src)
  set_target_properties(${base}_replay PROPERTIES RUNTIME_OUTPUT_DIRECTORY
                        ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME fuzz_replay.${base} COMMAND ${base}_replay
           ${CMAKE_SOURCE_DIR}/tests/corpus/${base})
  if(STEPSLACK_FUZZERS)
    add_executable(${base} ${file})
    target_link_libraries(${base} PRIVATE ${link} stepslack_flags)
    target_include_directories(${base} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/src)
    target_compile_options(${base} PRIVATE -fsanitize=fuzzer)
    target_link_options(${base} PRIVATE -fsanitize=fuzzer)
  endif()
endfunction()

# Writes the module arrows as Graphviz text, for docs/modules.svg and the CI cycle check.
function(stepslack_write_module_graph)
  get_property(edges GLOBAL PROPERTY STEPSLACK_MODULE_EDGES)
  get_property(modules GLOBAL PROPERTY STEPSLACK_MODULES)
  set(text "digraph modules {\n")
  foreach(module ${modules})
    string(APPEND text "  ${module};\n")
  endforeach()
  foreach(edge ${edges})
    string(REPLACE ">" " -> " arrow ${edge})
    string(APPEND text "  ${arrow};\n")
  endforeach()
  string(APPEND text "}\n")
  file(WRITE ${CMAKE_BINARY_DIR}/modules.dot "${text}")
endfunction()
