# Compiler, linker and cache settings, set once for every target.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(STEPSLACK_CCACHE ccache)
if(STEPSLACK_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${STEPSLACK_CCACHE})
endif()

find_program(STEPSLACK_LLD ld.lld)
if(STEPSLACK_LLD)
  add_link_options(-fuse-ld=lld)
endif()

# One flag set for our own code; third-party headers come in as SYSTEM.
# GCC 12 reports small strings moved out of a Result as uninitialized and concatenation
# as overlapping (its bugs 105562 and 105651), so those two warnings are off. Designated
# initialisers leave members at the defaults that the struct states.
add_library(stepslack_flags INTERFACE)
target_compile_options(stepslack_flags INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Werror -Wno-missing-field-initializers
  "$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized;-Wno-restrict>"
  -fno-omit-frame-pointer)

set(STEPSLACK_SANITIZE "" CACHE STRING "Sanitizers, e.g. address,undefined or thread")
if(STEPSLACK_SANITIZE)
  add_compile_options(-fsanitize=${STEPSLACK_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${STEPSLACK_SANITIZE})
endif()

# Coverage of the parsers themselves guides the fuzzer, not only of its entry function.
if(STEPSLACK_FUZZERS)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
